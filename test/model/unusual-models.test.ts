import { UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, report, run, runOverWire, tokensOf } from '../support/session.ts';

describe('a model that cannot stream is asked for a whole response', () => {
  const refusing = (error: unknown) => () => Promise.reject(error);
  it.each<[string, object]>([
    ['has no doStream', { doStream: undefined }],
    ['says so as the AI SDK does', { doStream: refusing(new UnsupportedFunctionalityError({ functionality: 's' })) }],
    ['says so in its own words', { doStream: refusing(new Error('Streaming is not supported by this model.')) }],
  ])('P-4: one that %s', async (_how, over) => {
    const model = Object.assign(rehearsalModel([report()]), over);
    const { result } = await run({ agent: defineAgent({ name: 'whole', models: [model] }) });
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 1,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(1),
        costUsd: null,
      }),
    );
  });
});

it('C-6: a lone surrogate of the model goes back as valid Unicode, and a valid pair unchanged', async () => {
  const torn = 'half \ud83d and whole 😀';
  const { requests } = await runOverWire({
    script: [{ text: torn, calls: [{ name: 'echo', input: { text: torn } }] }, report()],
    definition: { tools: { echo: (input: unknown) => ({ input }) }, instructions: torn },
  });
  const sent = JSON.stringify(requests[1]?.body);
  expect(sent).not.toMatch(/\\ud[89a-f]/i);
  expect(sent.split('half \ufffd and whole 😀')).toHaveLength(1 + 4);
});
