import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  allow,
  defineAgent,
  deny,
  readBeforeWrite,
  requires,
  type SessionEvent,
  type ToolPolicy,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, counters, report, run, runOverWire, tokensOf } from '../support/session.ts';
import { deaf, guarded, search } from '../support/tools.ts';

const batch = (...calls: { tool: string; input?: unknown }[]) => ({ calls: [{ name: 'batch', input: { calls } }] });
const withBatch = { builtIns: { batch: true, progressReport: true } };

describe('batch', () => {
  it('T-2 C-1: each inner call is answered, the model gets all answers in one result, and the wrapper is not progress', async () => {
    const { result, requests } = await runOverWire({
      script: [
        batch(
          { tool: 'search', input: { q: 'a' } },
          { tool: 'nope' },
          { tool: 'search', input: { q: 1 } },
          { tool: 'batch', input: { calls: [] } },
          { tool: 'final_report', input: { content: 'x' } },
          { tool: 'progress_report', input: { message: 'x' } },
        ),
        report(),
      ],
      definition: { ...withBatch, tools: { search } },
    });
    const calls = callsIn(result);
    expect(calls.map(({ name, slug, executed }) => [name, slug, executed])).toEqual([
      ['batch', null, false],
      ['search', null, true],
      ['nope', 'unknown_tool', false],
      ['search', 'invalid_tool_input', false],
      ['batch', 'tool_not_permitted', false],
      ['final_report', 'tool_not_permitted', false],
      ['progress_report', 'tool_not_permitted', false],
      ['final_report', null, false],
    ]);
    const answers = requests[1]?.body.messages.filter((message) => message.role === 'tool');
    expect(answers).toHaveLength(1);
    expect(String(answers?.[0]?.content)).toMatch(/^\[0\] search: succeeded\n.*\n\n\[1\] nope: failed\n/);
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: {
          requested: 8,
          answered: 8,
          executed: 1,
          succeeded: 1,
          acknowledged: 2,
          rejected: { unknown_tool: 1, invalid_tool_input: 1, tool_not_permitted: 3 },
        },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
  });

  it('T-2 B-5: a batch that executes nothing fails the attempt, and on the last turn none of its calls are permitted', async () => {
    const { result } = await runOverWire({
      script: [batch({ tool: 'nope' }), batch({ tool: 'search', input: { q: 'a' } }), {}],
      definition: { ...withBatch, tools: { search }, limits: { maxTurns: 1, maxRetries: 2 } },
    });
    expect(result.turns[0]?.attempts.map(({ slugs }) => slugs)).toEqual([
      ['tool_not_permitted', 'unknown_tool'],
      ['tool_not_permitted'],
    ]);
    expect(result.counters.toolCalls.executed).toBe(0);
  });

  it('C-1: limits, approvals and timeouts apply inside a batch, and an invalid batch is answered', async () => {
    const { result } = await runOverWire({
      script: [
        batch({ tool: 'guarded', input: { path: '/' } }, { tool: 'deaf' }, { tool: 'search', input: { q: 'a' } }),
        {
          calls: [
            { name: 'batch', input: { calls: [] } },
            { name: 'batch', input: '{"calls": [' },
            { name: 'batch', input: { calls: [{ tool: 'search', arguments: { q: 'a' } }] } },
          ],
        },
        report(),
      ],
      definition: {
        ...withBatch,
        tools: { search, guarded, deaf },
        limits: { maxToolCallsPerTurn: 2, toolTimeoutMs: 50 },
      },
      during: (event, session) => {
        if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
      },
    });
    expect(callsIn(result).map(({ name, slug }) => [name, slug])).toEqual([
      ['batch', null],
      ['guarded', null],
      ['deaf', 'tool_timeout'],
      ['search', 'tool_limit'],
      ['batch', 'invalid_tool_input'],
      ['batch', 'malformed_tool_call'],
      ['batch', 'invalid_tool_input'],
      ['final_report', null],
    ]);
  });

  it('C-1: an abort answers every call in a batch', async () => {
    const { result } = await runOverWire({
      script: [batch({ tool: 'deaf' }, { tool: 'deaf' })],
      definition: { ...withBatch, tools: { deaf } },
      during: (event, session) => {
        if (event.type === 'tool.started' && event.index === 2) session.abort();
      },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, 'aborted', 'aborted']);
  });
});

describe('policies', () => {
  const file = { inputSchema: z.object({ path: z.string() }), execute: ({ path }: { path: string }) => path };
  const tools = { read_file: file, write_file: file };
  const call = (name: string, path: string) => ({ calls: [{ name, input: { path } }] });

  it('all policies must allow a call; a denied call is answered with the reason and not executed', async () => {
    const { result } = await runOverWire({
      script: [
        call('write_file', 'a'),
        call('read_file', 'b'),
        call('write_file', 'a'),
        call('read_file', 'a'),
        call('write_file', 'a'),
        report(),
      ],
      definition: {
        tools,
        toolPolicies: [requires('write_file', { after: ['read_file'] }), readBeforeWrite()],
      },
    });
    expect(callsIn(result).map(({ name, slug, executed }) => [name, slug, executed])).toEqual([
      ['write_file', 'tool_not_permitted', false],
      ['read_file', null, true],
      ['write_file', 'tool_not_permitted', false],
      ['read_file', null, true],
      ['write_file', null, true],
      ['final_report', null, false],
    ]);
    expect(callsIn(result)[0]?.result.message).toContain('only after read_file');
    expect(callsIn(result)[2]?.result.message).toContain('of the same path');
    expect(result.counters.toolCalls.rejected).toEqual({ tool_not_permitted: 2 });
  });

  it('receive the parsed input with defaults, unaffected by tools that mutate it', async () => {
    const open = {
      inputSchema: z.object({ path: z.string().trim().default('/') }),
      execute: (input: { path: string }) => {
        input.path = 'another';
        return 'done';
      },
    };
    const root: ToolPolicy = ({ input }) => (input.path === '/' ? deny('not the root') : allow);
    const { result } = await runOverWire({
      script: [
        { calls: [{ name: 'read_file', input: {} }] },
        { calls: [{ name: 'read_file', input: { path: ' / ' } }] },
        call('read_file', 'a'),
        call('write_file', 'another'),
        report(),
      ],
      definition: { tools: { read_file: open, write_file: file }, toolPolicies: [root, readBeforeWrite()] },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([
      'tool_not_permitted',
      'tool_not_permitted',
      null,
      'tool_not_permitted',
      null,
    ]);
  });

  it('readBeforeWrite denies a write whose input lacks the path field', async () => {
    const loose = { inputSchema: z.object({ file: z.string() }), execute: () => 'done' };
    const { result } = await runOverWire({
      script: [
        { calls: [{ name: 'read_file', input: { file: 'a' } }] },
        { calls: [{ name: 'write_file', input: { file: 'b' } }] },
        report(),
      ],
      definition: { tools: { read_file: loose, write_file: loose }, toolPolicies: [readBeforeWrite()] },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, 'tool_not_permitted', null]);
  });

  it('S-1: a slow policy or approval check denies the call without blaming its input', async () => {
    const slow = () => new Promise<never>((_, reject) => setTimeout(reject, 500, new Error('too late')));
    const slowly: ToolPolicy = () => new Promise((resolve) => setTimeout(resolve, 30, allow));
    const { result } = await runOverWire({
      script: [call('read_file', 'a'), call('asked', 'a'), report()],
      definition: {
        tools: { ...tools, asked: { ...file, needsApproval: slow } },
        toolPolicies: [slowly, slowly, slowly].map(
          (policy): ToolPolicy =>
            (asked, history) =>
              asked.name === 'read_file' ? policy(asked, history) : allow,
        ),
        limits: { toolTimeoutMs: 100 },
      },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual(['tool_not_permitted', 'tool_not_permitted', null]);
    expect(callsIn(result)[0]?.result.message).toContain('it did not decide in time');
    expect(callsIn(result)[1]?.result.message).toContain('the check did not finish in time');
  });

  it('a policy that throws denies the call, and calls in the same reply are not in the history yet', async () => {
    const broken = () => {
      throw new Error('boom');
    };
    const { result } = await runOverWire({
      script: [{ calls: [...call('read_file', 'a').calls, ...call('write_file', 'a').calls] }, report()],
      definition: { tools, toolPolicies: [(asked) => (asked.name === 'read_file' ? { allow: true } : broken())] },
    });
    expect(callsIn(result)[1]?.result.message).toContain('A policy failed on this call');
    const strict = await runOverWire({
      script: [{ calls: [...call('read_file', 'a').calls, ...call('write_file', 'a').calls] }, report()],
      definition: { tools, toolPolicies: [readBeforeWrite()] },
    });
    expect(callsIn(strict.result).map(({ slug }) => slug)).toEqual([null, 'tool_not_permitted', null]);
  });
});

it.each<[string, () => unknown]>([
  ['gives no verdict', () => false],
  ['denies without a reason', () => ({ allow: false })],
  ['hangs', () => new Promise(() => undefined)],
])('a policy that %s denies the call', async (_how, policy) => {
  const { result } = await runOverWire({
    script: [{ calls: [{ name: 'search', input: { q: 'x' } }] }, report()],
    definition: { tools: { search }, toolPolicies: [policy as never], limits: { toolTimeoutMs: 200 } },
  });
  expect(callsIn(result)[0]).toMatchObject({ executed: false, slug: 'tool_not_permitted' });
});

describe('large results', () => {
  it('a cut result can be read in pages, to the last byte', async () => {
    const text = Array.from({ length: 3_000 }, (_, index) => `line ${index} äöü€😀`).join('\n');
    const read: string[] = [];
    const model = rehearsalModel(({ index, prompt }) => {
      const last = prompt.at(-1);
      const part = last?.role === 'tool' ? last.content[0] : undefined;
      const seen = part?.type === 'tool-result' && part.output.type === 'text' ? part.output.value : '';
      if (index === 0) return { calls: [{ name: 'large' }] };
      const id = /id (r[\d_]+)/.exec(seen)?.[1] ?? 'r1_1_0';
      const [, page = '0', of = '1'] = /^\[page (\d+) of (\d+)/.exec(seen) ?? [];
      if (page !== '0') read.push(seen.slice(seen.indexOf('\n') + 1));
      if (page === of) return report();
      return { calls: [{ name: 'read_result', input: { id, page: Number(page) + 1 } }] };
    });
    const agent = defineAgent({
      name: 'reader',
      models: [model],
      tools: { large: () => text },
      resultStore: true,
      limits: { toolResultBytes: 8_192, maxTurns: 40 },
    });
    const { result } = await run({ agent });
    expect(result.success).toBe(true);
    expect(read.join('')).toBe(text);
    for (const { output } of callsIn(result)) {
      expect(Buffer.byteLength(output.type === 'text' ? output.value : '')).toBeLessThanOrEqual(8_192);
    }
  });

  it('reading an unknown result fails', async () => {
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'read_result', input: { id: 'r9' } }] }, report()],
      definition: { builtIns: { readResult: true } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: 'tool_exec_failed' });
  });
});

describe('sub-agents', () => {
  const task = { prompt: 'Sum it up.', reason: 'It is long.' };
  const child = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
    defineAgent({ name: 'summarizer', models: [rehearsalModel(replies)], ...over });
  const ask = { calls: [{ name: 'summarizer', input: task }] };

  it('B-7: each call is a separate session with its own log, events and counters', async () => {
    const { result, events, lines } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: child([{}, report('In short.')]) } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: null, output: { value: 'In short.' } });
    const { subAgents, tree } = result.counters;
    expect(subAgents.summarizer).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        notices: 1,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
        slugs: { empty_response: 1 },
      }),
    );
    expect(tree).toMatchObject({ sessions: 2, requests: 4, toolCalls: 3 });
    const below = events.filter((event) => event.path.length > 0);
    expect(below.map((event) => event.path)).toEqual(below.map(() => ['summarizer']));
    expect(below.some((event) => event.type === 'session.succeeded')).toBe(true);
    const [warning] = lines.filter((line) => line.level === 40);
    expect(warning).toMatchObject({
      agent: 'summarizer',
      parentSessionId: 'session-under-test',
      slugs: ['empty_response'],
    });
  });

  it('B-7: a child that fails gives a failed result with its slugs and report', async () => {
    const { result, errors } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: child([{}], { limits: { maxRetries: 2 } }) } },
    });
    const [call] = callsIn(result);
    expect(call).toMatchObject({ executed: true, slug: 'tool_exec_failed' });
    expect(call?.result.value).toMatchObject({ slugs: ['retries_exhausted', 'empty_response'] });
    expect(JSON.stringify(call?.output)).toContain('no report was accepted');
    expect(result.success).toBe(true);
    expect(errors).toHaveLength(1);
  });

  it.each([
    ['shaped like a failed result', { success: false, value: null, message: 'nothing to do' }],
    ['null', null],
  ])('F-6: an accepted report is a success even if it is %s', async (_, content) => {
    const reported = { calls: [{ name: 'final_report', input: { content } }] };
    const schema = z.union([z.null(), z.object({ success: z.boolean(), value: z.null(), message: z.string() })]);
    const { result } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: child([reported], { report: { format: 'json', schema } }) } },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: null, result: { success: true, value: content } });
  });

  it('B-3 S-1: a child that reaches its bound fails by the bound, not by a budget of the same size', async () => {
    const { result } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: child([{}], { limits: { maxTurns: 2, maxRetries: 1 } }) } },
    });
    expect(callsIn(result)[0]?.result.value).toMatchObject({ slugs: ['retries_exhausted', 'empty_response'] });
  });

  it('B-7: agents call each other down to maxDepth and no deeper', async () => {
    const deepest = child([ask, report('as deep as it goes')], { agents: { summarizer: child([report()]) } });
    const middle = child([ask, report('middle')], { agents: { summarizer: deepest } });
    const { result, events } = await runOverWire({
      script: [ask, report()],
      definition: { agents: { summarizer: middle }, limits: { maxDepth: 3 } },
    });
    expect(result.counters.tree.sessions).toBe(3);
    const refused = events.filter((event) => event.type === 'tool.answered' && event.slug === 'depth_exceeded');
    expect(refused.map((event) => event.path)).toEqual([['summarizer', 'summarizer']]);
  });

  it('B-7: a tree sends at most maxTreeRequests requests, siblings included, and the parent can still report', async () => {
    const endless = (): ReturnType<typeof child> =>
      child([{ calls: [{ name: 'look' }] }], { tools: { look: () => 'more' }, limits: { maxTurns: 50 } });
    const { result } = await runOverWire({
      script: [
        {
          calls: [
            { name: 'one', input: task },
            { name: 'two', input: task },
            { name: 'three', input: task },
          ],
        },
        report('what there is'),
      ],
      definition: {
        agents: { one: endless(), two: endless(), three: endless() },
        limits: { maxTreeRequests: 12 },
      },
    });
    expect(result.counters.tree.requests).toBeLessThanOrEqual(12);
    expect(result.report).toMatchObject({ content: 'what there is', accepted: true });
    const slugs = callsIn(result).map(({ slug }) => slug);
    expect(slugs.filter((slug) => slug === 'tool_exec_failed').length).toBeGreaterThan(0);
  });

  it('B-4 B-7: tokens that a sub-agent uses count against the budget of its parent', async () => {
    const { result } = await runOverWire({
      script: [ask, ask, report('enough')],
      definition: { agents: { summarizer: child([report('short')]) } },
      options: { budget: { tokens: 40 } },
    });
    expect(result.counters.collapses).toBe(1);
    expect(result.counters.tree.tokens.input + result.counters.tree.tokens.output).toBeGreaterThanOrEqual(40);
    expect(result.success).toBe(true);
  });

  it('D-2: an abort propagates to the sub-agent, and the session waits for it to end', async () => {
    const { result, events } = await runOverWire({
      script: [ask],
      definition: { agents: { summarizer: child([{ hangs: true }]) } },
      during: (event, session) => {
        if (event.type === 'attempt.started' && event.path.length === 1) session.abort('enough');
      },
    });
    expect(callsIn(result)[0]?.slug).toBe('aborted');
    expect(result.counters.subAgents.summarizer?.slugs).toEqual({ aborted: 1 });
    expect(typesBelow(events)).toContain('session.aborted');
  });

  it('B-4: a stop propagates to the child, which reports early, and the parent receives the report', async () => {
    const { result, events } = await runOverWire({
      script: [ask, report('all that there is')],
      definition: {
        agents: {
          summarizer: child([{ calls: [{ name: 'look' }] }, report('so far')], { tools: { look: () => 'x' } }),
        },
      },
      during: (event, session) => {
        if (event.type === 'tool.started' && event.path.length === 1) session.stop();
      },
    });
    expect(typesBelow(events)).toContain('session.stopping');
    expect(callsIn(result)[0]?.output).toEqual({ type: 'text', value: 'so far' });
    expect(result.turns.at(-1)?.isLastTurn).toBe(true);
    expect(result.success).toBe(true);
  });

  it('the parent session approves a call of its sub-agent', async () => {
    const { result } = await runOverWire({
      script: [ask, report()],
      definition: {
        agents: {
          summarizer: child([{ calls: [{ name: 'guarded', input: { path: '/' } }] }, report('done')], {
            tools: { guarded },
          }),
        },
      },
      during: (event, session) => {
        if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
      },
    });
    expect(result.counters.subAgents.summarizer?.toolCalls.executed).toBe(1);
  });
});

describe('parallel sub-agents', () => {
  const task = { prompt: 'x', reason: 'y' };
  const child = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
    defineAgent({ name: 'child', models: [rehearsalModel(replies)], ...over });

  it('an approval by an id that two calls share reaches neither, and a sessionId picks one', async () => {
    const guardedChild = () =>
      child([{ calls: [{ name: 'guarded', input: { path: '/' }, id: '' }] }, report('done')], { tools: { guarded } });
    const asked: { sessionId: string; path: readonly string[] }[] = [];
    const { result } = await runOverWire({
      script: [
        {
          calls: [
            { name: 'harmless', input: task },
            { name: 'dangerous', input: task },
          ],
        },
        report(),
      ],
      definition: { agents: { harmless: guardedChild(), dangerous: guardedChild() } },
      during: (event, session) => {
        if (event.type !== 'tool.approvalRequested') return;
        asked.push(event);
        if (asked.length < 2) return;
        expect(session.approve(event.callId, { approved: true })).toBe(false);
        for (const { sessionId, path } of asked) {
          expect(session.approve(event.callId, { approved: path[0] === 'harmless', sessionId })).toBe(true);
        }
      },
    });
    expect(result.counters.subAgents.harmless?.toolCalls.executed).toBe(1);
    expect(result.counters.subAgents.dangerous?.toolCalls.executed).toBe(0);
  });

  it('a call that starts no session uses no budget', async () => {
    const call = (prompt: string) => ({ calls: [{ name: 'child', input: { prompt, reason: 'y' } }] });
    const { result } = await runOverWire({
      script: [call(' '), call('go'), report()],
      definition: { agents: { child: child([report('in time')]) }, limits: { maxTreeRequests: 10 } },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual(['invalid_tool_input', null, null]);
  });

  it('a stop reaches sub-agents that start after it', async () => {
    const busy = child([{ calls: [{ name: 'look' }] }, report('stopped early')], {
      tools: { look: () => 'more' },
      limits: { maxTurns: 30 },
    });
    const { result } = await runOverWire({
      script: [{ calls: [{ name: 'child', input: task }] }, report()],
      definition: { agents: { child: busy } },
      during: (event, session) => {
        if (event.type === 'attempt.started' && event.path.length === 0 && event.turn === 1) session.stop();
      },
    });
    expect(result.counters.subAgents.child?.requests).toBeLessThanOrEqual(2);
  });
});

const typesBelow = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => (event.path.length > 0 ? [event.type] : []));
