import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { tool } from 'ai';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type SessionEvent, startSession, type TurnChanges } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const inputSchema = z.object({});
const tools = {
  look: tool({ inputSchema, execute: () => 'seen '.repeat(20) }),
  touch: tool({ inputSchema, execute: () => 'felt '.repeat(500) }),
};
const replies = {
  empty: {},
  chat: { text: 'I shall see. '.repeat(30) },
  look: { calls: [{ name: 'look', input: {} }] },
  touch: { text: 'Touching.', calls: [{ name: 'touch', input: {} }] },
  both: {
    calls: [
      { name: 'look', input: {} },
      { name: 'touch', input: '{' },
    ],
  },
  transfer: { calls: [{ name: 'transfer_to_other', input: {} }] },
  bad: { calls: [{ name: 'final_report', input: {} }] },
  busy: { throws: Object.assign(new Error('busy'), { statusCode: 503 }) },
};
const changes: fc.Arbitrary<TurnChanges> = fc.record(
  {
    activeTools: fc.uniqueArray(fc.constantFrom('look', 'touch')),
    offer: fc.constant('planned' as const),
    instructions: fc.constantFrom('Be brief.', 'Be kind.'),
    models: fc.uniqueArray(fc.constantFrom('r:a', 'r:b'), { minLength: 1 }),
  },
  { requiredKeys: [] },
);
const scenario = fc.record({
  limits: fc.record({
    maxTurns: fc.integer({ min: 2, max: 8 }),
    maxRetries: fc.integer({ min: 1, max: 3 }),
    contextWindow: fc.constantFrom(null, 2_000, 4_000),
  }),
  targets: fc.integer({ min: 1, max: 2 }),
  steps: fc.array(fc.constantFrom(...(Object.keys(replies) as (keyof typeof replies)[])), {
    minLength: 1,
    maxLength: 16,
  }),
  compact: fc.option(
    fc.record({ at: fc.constant(0.5), keep: fc.integer({ min: 1, max: 2 }), by: fc.constant('drop' as const) }),
  ),
  plans: fc.array(changes, { maxLength: 6 }),
  steersAt: fc.integer({ min: 1, max: 40 }),
});

type Sent = { target: string; call: LanguageModelV4CallOptions };

/** Returns the bytes of a request on a wire, piece by piece: the tools, the instructions, and each block but the notice. */
async function piecesOf(wire: 'openai' | 'anthropic', { call }: Sent): Promise<string[]> {
  let body = '';
  const fetch = (_: unknown, init?: RequestInit) => {
    body = String(init?.body);
    return Promise.reject(new Error('seen'));
  };
  const options = { baseURL: 'http://127.0.0.1', apiKey: 'k', fetch };
  const model: LanguageModelV4 = wire === 'openai' ? createOpenAI(options).chat('m') : createAnthropic(options)('m');
  await Promise.resolve(model.doGenerate(call)).catch(() => {});
  const {
    tools: offered = [],
    system = [],
    messages,
  } = JSON.parse(JSON.stringify(JSON.parse(body), (name, value) => (name === 'cache_control' ? undefined : value)));
  const blocks = messages.flatMap(({ content, ...rest }: { content: unknown }) =>
    Array.isArray(content) ? content.map((block) => ({ ...rest, block })) : { ...rest, content },
  );
  const isPassing = (text: string) => text.includes('"system notice: ') || text.includes('"Go on."');
  return [offered, system, ...blocks].map((piece) => JSON.stringify(piece)).filter((text) => !isPassing(text));
}

it('B-5 B-5d: each request extends the one before, byte for byte, or its break is counted with a cause', async () => {
  const causes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(scenario, async ({ limits, targets, steps, plans, steersAt, compact }) => {
      const sent: Sent[] = [];
      const models = ['a', 'b'].slice(0, targets).map((modelId) =>
        rehearsalModel(
          ({ options: call }) => {
            sent.push({ target: modelId, call });
            return replies[steps[(sent.length - 1) % steps.length] ?? 'empty'];
          },
          { provider: 'r', modelId },
        ),
      );
      const prepareTurn = ({ turn }: { turn: number }) => {
        const { models: order, ...plan } = plans[turn - 1] ?? {};
        return order === undefined || targets === 1 ? plan : { ...plan, models: order };
      };
      const other = defineAgent({ name: 'other', models, instructions: 'You are the other.', tools });
      const agent = defineAgent({
        name: 'one',
        models,
        tools,
        limits,
        prepareTurn,
        handoffs: { other },
        ...(compact && { compact }),
      });
      const events: SessionEvent[] = [];
      const onEvent = (event: SessionEvent) => void events.push(event);
      const prompt = 'Look around, and touch what you see.';
      const session = startSession(agent, { prompt, logger: false, onEvent });
      let seen = 0;
      for await (const _ of session.events) if (++seen === steersAt) session.steer('Go left.');
      const { counters } = await session.result;
      const broken = events.filter((event) => event.type === 'prefix.broken');
      for (const wire of ['openai', 'anthropic'] as const) {
        const pieces = await Promise.all(sent.map((request) => piecesOf(wire, request)));
        const breaks = pieces.map((own, index) => {
          const before = pieces[index - 1] ?? [];
          const isSameTarget = sent[index]?.target === (sent[index - 1] ?? sent[index])?.target;
          return isSameTarget && before.every((piece, at) => own[at] === piece) ? [] : [index];
        });
        const attempts = events.filter((event) => event.type === 'attempt.started');
        const told = attempts.flatMap(({ turn, attempt }, index) =>
          broken.some((one) => one.turn === turn && one.attempt === attempt) ? [index] : [],
        );
        expect({ wire, breaks: breaks.flat(), broken }).toEqual({ wire, breaks: told, broken });
      }
      const counted = Object.values(counters.cachePrefixBreaks).reduce((sum, count) => sum + count, 0);
      expect(counted).toBe(broken.length);
      for (const { cause } of broken) causes.add(cause);
    }),
    { numRuns: 60 },
  );
  expect([...causes]).toEqual(expect.arrayContaining(['plan', 'target']));
});
