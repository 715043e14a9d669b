import { type LanguageModelV4StreamPart, type ProviderV4, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import type { ModelReference } from '../../src/model/targets.ts';
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

/** A model as providers made them for older versions of the AI SDK. */
function olderModel(specificationVersion: 'v2' | 'v3') {
  const model = rehearsalModel([report()]);
  const asBefore = (part: LanguageModelV4StreamPart) => {
    if (part.type !== 'finish' || specificationVersion === 'v3') return part;
    const { finishReason, usage } = part;
    const flat = { inputTokens: usage.inputTokens.total, outputTokens: usage.outputTokens.total };
    return { ...part, finishReason: finishReason.unified, usage: flat };
  };
  const doStream: typeof model.doStream = async (options) => {
    const { stream } = await model.doStream(options);
    const transform = (part: LanguageModelV4StreamPart, controller: TransformStreamDefaultController) =>
      controller.enqueue(asBefore(part));
    return { stream: stream.pipeThrough(new TransformStream({ transform })) };
  };
  return { ...model, specificationVersion, doStream } as unknown as Exclude<ModelReference, string>;
}

describe.each(['v2', 'v3'] as const)('a model of the specification %s is adapted', (version) => {
  const whole = counters({
    turns: 1,
    attempts: 1,
    toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
    reports: { attempted: 1 },
    tokens: tokensOf(1),
    costUsd: null,
  });

  it('P-4: given as a model', async () => {
    const { result } = await run({ agent: defineAgent({ name: 'older', models: [olderModel(version)] }) });
    expect(result.counters).toEqual(whole);
  });

  it("P-4: named, and made by the user's provider", async () => {
    const provider = { languageModel: () => olderModel(version) } as unknown as ProviderV4;
    const definition = { name: 'older', models: ['mine:old'], providers: { mine: provider } };
    const { result } = await run({ agent: defineAgent(definition) });
    expect(result.counters).toEqual(whole);
  });
});
