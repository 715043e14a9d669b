import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  type AcceptedReport,
  type AgentDefinition,
  defineAgent,
  type Journal,
  type LocalTool,
  restTool,
  type resumeSession,
  runSession,
  type Session,
  type SessionEvent,
  type SessionOptions,
  type SyntheticReport,
  startSession,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const models = [rehearsalModel([])];
const schema = z.object({ shelf: z.string() });

describe('the types', () => {
  it('F-5: an agent that is defined in the call has the type of its own report', () => {
    const check = async () => {
      const text = await runSession(defineAgent({ name: 'a', models }), { prompt: 'Go.' });
      if (text.success) expectTypeOf(text.report.content).toEqualTypeOf<string>();
      const json = startSession(defineAgent({ name: 'a', models, report: { format: 'json', schema } }), {
        prompt: 'Go.',
      });
      expectTypeOf((await json.result).report.content).toEqualTypeOf<{ shelf: string } | string>();
    };
    expectTypeOf(check).returns.resolves.toBeVoid();
  });

  it('F-5: the content of a report has the type of its schema once the session has succeeded', () => {
    const agent = defineAgent({ name: 'typed', models, report: { format: 'json', schema } });
    const check = async () => {
      const result = await runSession(agent, { prompt: 'Go.' });
      expectTypeOf(result.report.content).toEqualTypeOf<{ shelf: string } | string>();
      if (result.success) {
        expectTypeOf(result.report).toEqualTypeOf<AcceptedReport<{ shelf: string }>>();
        expectTypeOf(result.report.content).toEqualTypeOf<{ shelf: string }>();
        expectTypeOf(result.status).toEqualTypeOf<'succeeded'>();
        expectTypeOf(result.failure).toEqualTypeOf<undefined>();
      } else {
        expectTypeOf(result.report).toEqualTypeOf<SyntheticReport>();
        expectTypeOf(result.failure.slugs).toExtend<readonly string[]>();
        expectTypeOf(result.status).toEqualTypeOf<'failed' | 'aborted' | 'suspended'>();
      }
    };
    expectTypeOf(check).returns.resolves.toBeVoid();
  });

  it('an agent that is derived from the definition of another keeps its types', () => {
    const contextSchema = z.object({ user: z.string() });
    const agent = defineAgent({ name: 'typed', models, contextSchema, report: { format: 'json', schema } });
    const derived = defineAgent({ ...agent.definition, name: 'derived' });
    type Given = Parameters<typeof runSession<{ shelf: string }, { user: string }>>;
    expectTypeOf(derived).toExtend<Given[0]>();
    expectTypeOf(derived.definition.contextSchema).toEqualTypeOf(agent.definition.contextSchema);
    const check = async () => {
      const result = await runSession(derived, { prompt: 'Go.', context: { user: 'ada' } });
      if (result.success) expectTypeOf(result.report.content).toEqualTypeOf<{ shelf: string }>();
    };
    expectTypeOf(check).returns.resolves.toBeVoid();
  });

  it('the functions of a REST tool get the input that its schema says', () => {
    const input = z.object({ id: z.string(), size: z.number() });
    const tool = restTool({
      method: 'POST',
      url: 'https://shop.example/{id}',
      input,
      headers: (given) => {
        expectTypeOf(given).toEqualTypeOf<{ id: string; size: number }>();
        return { 'x-id': given.id };
      },
      body: ({ size }) => ({ size: size + 1 }),
    });
    expectTypeOf(tool).toExtend<LocalTool>();
    restTool({
      method: 'GET',
      url: 'https://shop.example',
      input: { type: 'object' },
      headers: ({ id }) => ({ id: String(id) }),
    });
  });

  it('F-5: a report is JSON, also where its schema makes something else of it', async () => {
    const rich = z.object({
      day: z.string().transform((text) => new Date(text)),
      size: z.string().transform((text) => BigInt(text)),
      tags: z.array(z.string()).transform((tags) => new Set(tags)),
      days: z.array(z.string()).transform((days) => new Map(days.map((day) => [day, new Date(day)]))),
      bytes: z.string().transform((text) => new TextEncoder().encode(text)),
      tree: z.json(),
      kind: z.enum(['a', 'b']),
      id: z.string().brand<'Id'>(),
      pair: z.tuple([z.string(), z.number()]).nullable(),
      note: z.string().optional(),
      rest: z.unknown(),
    });
    const content = {
      day: '2020-01-01',
      size: '7',
      tags: ['x', 'x'],
      kind: 'a',
      id: 'i',
      days: ['2020-01-01'],
      bytes: 'x',
      tree: [{ a: [1] }],
      pair: ['x', 1],
      rest: 1,
    };
    const script = [{ calls: [{ name: 'final_report', input: { content } }] }];
    const agent = defineAgent({
      name: 'a',
      models: [rehearsalModel(script)],
      report: { format: 'json', schema: rich },
    });
    const result = await runSession(agent, { prompt: 'Go.', logger: false });
    if (!result.success) throw new Error(String(result.report.content));
    const { day, size, tags, days, bytes, tree, kind, id, pair, note, rest } = result.report.content;
    expectTypeOf([day, size]).toEqualTypeOf<string[]>();
    expectTypeOf(tags).toEqualTypeOf<string[]>();
    expectTypeOf(days).toEqualTypeOf<[string, string][]>();
    expectTypeOf(bytes).toEqualTypeOf<string>();
    expectTypeOf(tree).toEqualTypeOf<z.infer<ReturnType<typeof z.json>>>();
    expectTypeOf(kind).toEqualTypeOf<'a' | 'b'>();
    expectTypeOf(id).toEqualTypeOf<z.infer<typeof rich>['id']>();
    expectTypeOf(pair).toEqualTypeOf<[string, number] | null>();
    expectTypeOf(note).toEqualTypeOf<string | undefined>();
    expectTypeOf(rest).toEqualTypeOf<unknown>();
    const expected = {
      ...content,
      ...{ day: '2020-01-01T00:00:00.000Z', tags: ['x'], days: [['2020-01-01', '2020-01-01T00:00:00.000Z']] },
      bytes: expect.any(String),
    };
    expect(result.report.content).toEqual(expected);
  });

  it('F-5: a text report is a string, whatever the outcome', () => {
    const agent = defineAgent({ name: 'plain', models });
    expectTypeOf(startSession<string, unknown>).returns.toEqualTypeOf<Session<string>>();
    const check = async () => (await runSession(agent, { prompt: 'Go.' })).report.content;
    expectTypeOf(check).returns.resolves.toBeString();
  });

  it('S-6: events are told apart by their type', () => {
    type Delta = Extract<SessionEvent, { type: 'model.delta' }>;
    expectTypeOf<Delta['delta']>().toBeString();
    expectTypeOf<Extract<SessionEvent, { type: 'attempt.failed' }>['slugs']>().toExtend<readonly string[]>();
  });

  it('a definition with a mistake does not compile', () => {
    expectTypeOf<{ name: string; model: (typeof models)[0] }>().not.toExtend<AgentDefinition>();
    expectTypeOf<{ name: string; models: typeof models }>().toExtend<AgentDefinition>();
    expectTypeOf<{ prompt: number }>().not.toExtend<SessionOptions>();
    expectTypeOf<{ prompt: string }>().toExtend<SessionOptions>();
  });

  it('an agent with a context requires one', () => {
    type Options = Parameters<typeof startSession<string, { userId: string }>>[1];
    type Resumed = Parameters<typeof resumeSession<string, { userId: string }>>[1];
    expectTypeOf<{ prompt: string; context: { userId: string } }>().toExtend<Options>();
    expectTypeOf<{ prompt: string; context: { userId: number } }>().not.toExtend<Options>();
    expectTypeOf<{ prompt: string }>().not.toExtend<Options>();
    expectTypeOf<{ journal: Journal; sessionId: string }>().not.toExtend<Resumed>();
    expectTypeOf<{ prompt: string }>().toExtend<Parameters<typeof startSession<string, unknown>>[1]>();
  });
});
