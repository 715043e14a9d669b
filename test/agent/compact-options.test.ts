import { expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { wireModel } from '../support/session.ts';

it('T-9: a definition names what is wrong with its `compact`', () => {
  const define = (compact: object) => () =>
    defineAgent({ name: 'one', models: [wireModel('openai', 'http://127.0.0.1:9')], compact });
  expect(define({ at: 1 })).toThrow('`compact.at` must be a number from 0.1 to 0.9; got 1.');
  expect(define({ keep: 0 })).toThrow('`compact.keep` must be an integer of at least 1; got 0.');
  expect(define({ by: 'magic' })).toThrow('`compact.by` must be summary, drop or a function; got "magic".');
  expect(define({ model: 'unknown' })).toThrow('`compact.model` must be `provider:model`');
  expect(define({ when: 3 })).toThrow('when');
  expect(define({ model: { model: wireModel('openai', 'http://127.0.0.1:9'), contextWindow: 0 } })).toThrow(
    '`compact.model.contextWindow` must be',
  );
});
