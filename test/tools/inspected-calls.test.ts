import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callFacts, type Message, type ReplyCall, userMessage } from '../../machines/index.ts';
import { batchTool } from '../../src/tools/built-in/batch.ts';
import { progressReportTool } from '../../src/tools/built-in/progress.ts';
import type { CatalogOptions } from '../../src/tools/catalog.ts';
import { type CatalogTool, functionTool } from '../../src/tools/catalog-tool.ts';
import { type LocalTool, localTool } from '../../src/tools/local.ts';
import { catalogOf, namesOf, type Told } from '../support/catalog.ts';

const { signal } = new AbortController();
const inputSchema = z.object({ at: z.number().default(5) });
const look = (more: object = {}) => localTool('look', { inputSchema, execute: () => 1, ...more } as LocalTool);
const textTool = () => {
  const given = { type: 'provider', id: 'openai.custom', args: {}, inputSchema: z.string(), execute: () => 1 };
  return localTool('sql', given as unknown as LocalTool);
};
const reportTool = (judgeReport: NonNullable<CatalogTool['judgeReport']>): CatalogTool => ({
  ...look(),
  name: 'final_report',
  kind: 'report',
  offered: functionTool('final_report', 'Reports.', {}),
  judgeReport,
});

const callOf = (name: string, input = '{"at":1}', callId = 'c'): ReplyCall => ({
  type: 'tool-call',
  callId,
  name,
  input,
  providerExecuted: false,
});

const messages: Message[] = [userMessage('Look.')];
const conversation: Told = { messages, plan: null };

const shown = (tools: CatalogTool[], more: Partial<CatalogOptions> = {}) => catalogOf(tools, { conversation, ...more });

beforeEach(() => {
  conversation.messages = messages;
  conversation.plan = null;
});

describe('C-5: the facts about a call', () => {
  const whole = { ...callFacts('c', 'look', 'real'), wholeInput: true };

  it('a valid call, with what its input says', async () => {
    const catalog = await shown([look()]);
    expect(await catalog.inspect(callOf('look'), null, signal)).toEqual(whole);
    expect(await catalog.inspect(callOf('look', ''), 2, signal)).toEqual({ ...whole, wholeInput: false, within: 2 });
    expect(await catalog.inspect(callOf('look', '{"at":"x"}'), null, signal)).toEqual({
      ...whole,
      input: 'invalid',
      detail: expect.stringContaining('at'),
    });
    // Another number would be another resource.
    for (const digits of ['9007199254740993', '-12345678901234567890', '1e400'])
      expect(await catalog.inspect(callOf('look', `{"at":5,"id":${digits}}`), null, signal)).toMatchObject({
        input: 'invalid',
        detail: `${digits} is more than a number holds exactly`,
      });
    for (const exact of ['9007199254740991', '"9007199254740993"', '0.12345678901234567890', '1e300'])
      expect(await catalog.inspect(callOf('look', `{"at":5,"id":${exact}}`), null, signal)).not.toMatchObject({
        detail: expect.stringContaining('holds exactly'),
      });
    expect(await catalog.inspect(callOf('look', '[1]'), null, signal)).toEqual({
      ...whole,
      wholeInput: false,
      input: 'malformed',
      detail: 'the input is an array, not an object',
    });
  });

  it('an unknown call is told which tools there are', async () => {
    const unknown = { ...callFacts('c', 'lok', 'unknown'), wholeInput: true };
    const catalog = await shown([look(), textTool()]);
    expect(await catalog.inspect(callOf('lok'), null, signal)).toEqual({
      ...unknown,
      detail: 'The tools are: look, sql.',
    });
    conversation.plan = { tools: [], offered: [] };
    expect(await catalog.inspect(callOf('lok'), null, signal)).toEqual({ ...unknown, detail: 'The tools are: none.' });
    expect(catalog.get('look')?.name).toBe('look');
    expect(namesOf(catalog.all())).toEqual(['look', 'sql']);
  });

  it('a tool that takes a text has a text as its input', async () => {
    const asked: unknown[] = [];
    const judge = async (call: { input: unknown }) => {
      asked.push(call.input);
      return null;
    };
    const catalog = await shown([textTool(), look()], { policies: () => ({ judge }) as never });
    const facts = await catalog.inspect(callOf('sql', '"select 1"'), null, signal);
    expect(facts).toEqual({ ...callFacts('c', 'sql', 'real'), wholeInput: true });
    await catalog.inspect(callOf('look', '{}'), null, signal);
    expect(asked).toEqual([{ text: 'select 1' }, { at: 5 }]);
    expect(['sql', 'look', 'unknown'].map((name) => catalog.takesText(name))).toEqual([true, false, false]);
  });

  it('what Pawl’s own tools are for, and that they are not for a batch', async () => {
    const catalog = await shown([progressReportTool('progress_report'), batchTool('batch'), look()]);
    const progress = callOf('progress_report', '{"message":"Half."}');
    expect(await catalog.inspect(progress, null, signal)).toMatchObject({ tool: 'progress', detail: 'Half.' });
    expect(await catalog.inspect(progress, 0, signal)).toMatchObject({
      tool: 'real',
      refusal: {
        slug: 'tool_not_permitted',
        reason: 'progress_report is not permitted inside a batch: call it by itself.',
      },
    });
    const input = '{"calls":[{"tool":"look","input":{"at":1}},{"tool":"look"}]}';
    const batch = await catalog.inspect(callOf('batch', input), null, signal);
    expect(batch).toEqual({ ...callFacts('c', 'batch', 'batch'), wholeInput: true });
    expect(catalog.inside(batch, input)).toEqual([callOf('look', '{"at":1}', 'c/0'), callOf('look', '{}', 'c/1')]);
    expect(catalog.inside({ ...batch, input: 'invalid' }, input)).toEqual([]);
    expect(catalog.inside({ ...batch, tool: 'real' }, input)).toEqual([]);
  });

  it('a tool that this session refuses, whatever the input', async () => {
    const refusal = { slug: 'depth_exceeded', reason: 'too deep' } as const;
    const catalog = await shown([{ ...look({ needsApproval: true }), refusal }]);
    expect(await catalog.inspect(callOf('look'), null, signal)).toEqual({ ...whole, refusal });
  });

  it('F-2: a report with a number that would lose digits is not judged, but a text may hold any digits', async () => {
    const catalog = await shown([reportTool(() => Promise.reject(new Error('judged'))), textTool(), look()]);
    const reasons = '9007199254740993 is more than a number holds exactly';
    const facts = async (name: string, input: string) => catalog.inspect(callOf(name, input), null, signal);
    expect(await facts('final_report', '{"content":9007199254740993}')).toMatchObject({
      input: 'invalid',
      report: { valid: false, slug: 'final_report_schema_fail', reasons },
    });
    expect(await facts('look', '{"at":9007199254740993}')).toMatchObject({ input: 'invalid', report: null });
    expect(await facts('sql', '"9007199254740993"')).toEqual({ ...whole, name: 'sql' });
  });

  it('a report is judged by its format, and then by the check', async () => {
    const judged: unknown[] = [];
    const judgeReport: CatalogTool['judgeReport'] = async (input, { timeoutMs }) => {
      judged.push(input, timeoutMs);
      return { valid: true, content: 'x' };
    };
    const report = async () => ({ valid: false, slug: 'check_failed', reasons: 'no' }) as const;
    const catalog = await shown([reportTool(judgeReport)], { checks: { report } });
    expect(await catalog.inspect(callOf('final_report'), null, signal)).toMatchObject({
      tool: 'report',
      report: { valid: false, slug: 'check_failed', reasons: 'no' },
    });
    expect(judged).toEqual([{ at: 1 }, 1_000]);
  });
});

describe('C-5: checks that fail or hang', () => {
  const failed = (reason: string) => ({ slug: 'check_failed', reason });
  const fails = () => {
    throw new Error('no database');
  };
  const never = () => new Promise<never>(() => {});

  it.each<[string, Partial<CatalogTool>, string]>([
    ['a schema throws', { validate: fails }, 'The input check failed: no database'],
    ['a schema rejects', { validate: async () => fails() }, 'The input check failed: no database'],
    ['a schema hangs', { validate: never }, 'The input check failed: the input check did not finish in time'],
    [
      'the question of approval throws',
      { needsApproval: fails },
      'Cannot tell whether the call needs approval: no database',
    ],
    [
      'the question of approval rejects',
      { needsApproval: async () => fails() },
      'Cannot tell whether the call needs approval: no database',
    ],
    [
      'the question of approval hangs',
      { needsApproval: never },
      'Cannot tell whether the call needs approval: the check did not finish in time',
    ],
  ])('%s: the call is refused', async (_what, broken, reason) => {
    const catalog = await shown([{ ...look(), ...broken }], { checkTimeoutMs: 400 });
    const facts = await catalog.inspect(callOf('look'), null, signal);
    expect(facts.refusal).toEqual(failed(reason));
    expect(facts).toMatchObject({ callId: 'c', wholeInput: true, needsApproval: false });
  });

  it('a schema that is not ready in time stops the tool list, by the name of its tool', async () => {
    const cause = { offered: new Promise<never>(() => {}) };
    await expect(shown([{ ...look(), ...cause }], { checkTimeoutMs: 10 })).rejects.toMatchObject({
      message: 'tools.look cannot be offered: its schema was not ready within 10 ms',
      cause: expect.any(Error),
    });
  });
});

describe('C-5: policies and approval see the input as it was checked', () => {
  it('a policy denies it; otherwise the tool says whether a person must', async () => {
    const given: unknown[] = [];
    const tool: CatalogTool = {
      ...look(),
      needsApproval: (input, { callId, context, messages: read }) => {
        given.push(input, callId, context, read());
        return true;
      },
    };
    const denial = { slug: 'policy_denied', reason: 'no' } as const;
    let answer: typeof denial | null = denial;
    let revalidated: unknown;
    const policies = {
      judge: async (_: unknown, valid: (past: object) => unknown) => {
        revalidated = [await valid({ name: 'look', input: { at: 'x' } }), valid({ name: 'gone', input: {} })];
        return answer;
      },
    };
    const context = () => 'ours';
    const catalog = await shown([tool], { policies: () => policies as never, context });
    expect(await catalog.inspect(callOf('look', '{}'), null, signal)).toMatchObject({
      refusal: denial,
      needsApproval: false,
    });
    expect(given).toEqual([]);
    expect(revalidated).toEqual([expect.objectContaining({ valid: false }), undefined]);
    answer = null;
    expect(await catalog.inspect(callOf('look', '{}'), null, signal)).toMatchObject({
      refusal: null,
      needsApproval: true,
    });
    expect(given).toEqual([{ at: 5 }, 'c', 'ours', messages]);
  });

  it('the tool gets the same input, once; in another process it is checked again', async () => {
    let checks = 0;
    const tool: CatalogTool = {
      ...look(),
      validate: (input) => {
        checks += 1;
        return { valid: true, value: { ...input, check: checks } };
      },
    };
    const catalog = await shown([tool]);
    await catalog.inspect(callOf('look'), null, signal);
    const sent = { at: 1 };
    const checked = () => catalog.checkedInput(tool, 'c', () => sent, signal);
    expect(await checked()).toEqual({ valid: true, value: { at: 1, check: 1 } });
    expect(await checked()).toEqual({ valid: true, value: { at: 1, check: 2 } });
    const broken = { ...tool, validate: () => Promise.reject(new Error('no database')) };
    expect(await catalog.checkedInput(broken, 'd', () => sent, signal)).toEqual({
      valid: false,
      slug: 'check_failed',
      reasons: 'no database',
    });
    const changing: CatalogTool = {
      ...tool,
      validate: (input) => {
        input.at = 2;
        return { valid: true, value: input };
      },
    };
    await catalog.checkedInput(changing, 'd', () => sent, signal);
    expect(sent).toEqual({ at: 1 });
  });

  it('T-8: only the first call that may hand the conversation over does so', async () => {
    const catalog = await shown([{ ...look(), handsTo: 'writer' }, textTool()]);
    const call = (callId: string, more: object = {}) => ({ ...callFacts(callId, 'look', 'real' as const), ...more });
    const refused = { slug: 'policy_denied', reason: 'no' } as const;
    const other = callFacts('e', 'sql', 'real');
    const calls = [call('a', { input: 'invalid' }), call('b', { refusal: refused }), call('c'), other, call('d')];
    expect(catalog.together(calls).map(({ refusal }) => refusal?.slug ?? null)).toEqual([
      null,
      'policy_denied',
      null,
      null,
      'tool_not_permitted',
    ]);
    expect(catalog.together(calls).at(-1)?.refusal?.reason).toBe(
      'Another call in this reply already hands the conversation over.',
    );
  });
});
