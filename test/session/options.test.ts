import { describe, expect, it } from 'vitest';

import { defineAgent, PawlError, startSession } from '../../src/index.ts';

import { manualClock, rehearsalModel } from '../../src/testing/index.ts';

import { report } from '../support/session.ts';

const rehearsed = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
  defineAgent({ name: 'hard', models: [rehearsalModel(replies)], ...over });

describe('invalid options', () => {
  const agent = rehearsed([report()]);
  it.each<[unknown, string]>([
    [{ prompt: 'x', maxTurns: 1 }, 'Unknown option `maxTurns`.'],
    [undefined, '`options` is required: an object with `prompt` or `messages`.'],
    [['Go.'], '`options` must be an object with `prompt` or `messages`; got ["Go."]'],
    [{ messages: 'abc' }, '`messages` must be an array of messages; got "abc".'],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'cat.png' } }] },
        ],
      },
      '`messages[0]` must be an AI SDK user, assistant or tool message (put system text in the agent',
    ],
    [
      {
        messages: [
          {
            role: 'tool',
            content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'b', output: { type: 'json', value: 1n } }],
          },
        ],
      },
      'BigInt',
    ],
  ])('%s is refused', (options, message) => {
    expect(() => startSession(agent, options as never)).toThrow(PawlError);
    expect(() => startSession(agent, options as never)).toThrow(message);
  });

  it('a value that is not an agent is refused', () => {
    expect(() => startSession({} as never, { prompt: 'x' })).toThrow(
      '`agent` must be an agent made by defineAgent; got {}.',
    );
  });

  it('an invalid approval decision is refused', async () => {
    const session = startSession(agent, { prompt: 'x', clock: manualClock() });
    expect(() => session.approve('a', { approved: 'false' as never })).toThrow(
      '`decision.approved` must be a boolean; got "false".',
    );
    await session.result;
  });
});
