import { describe, expect, it } from 'vitest';
import type { Allowance } from '../../machines/index.ts';
import { defineAgent, type SessionResult } from '../../src/index.ts';
import { Grants } from '../../src/session/sub-agents/grants.ts';
import { subAgentInput } from '../../src/session/sub-agents/sub-agent-call.ts';
import { SubAgents } from '../../src/session/sub-agents/sub-agents.ts';
import type { Child, SubSession } from '../../src/session/sub-agents/sub-session.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import type { ToolRun } from '../../src/tools/catalog-tool.ts';

const helper = defineAgent({ name: 'sums', models: [rehearsalModel([])], limits: { maxTurns: 2, maxRetries: 2 } });
const grant: Allowance = { requests: 4, tokens: null, costUsd: null };

/** A sub-agent's session that ends as it is told, and notes what is asked of it. */
function session() {
  const asked: string[] = [];
  const { promise, resolve } = Promise.withResolvers<SessionResult>();
  const stub = {
    result: promise,
    stop: () => void asked.push('stop'),
    goOn: () => void asked.push('goOn'),
    tree: () => [stub],
  };
  const ends = ({ success = true, costUsd = null as number | null, slugs = ['max_turns_exhausted', 'stopped'] } = {}) =>
    resolve({
      success,
      status: success ? 'succeeded' : 'failed',
      slugs,
      report: { content: 'the sum' },
      counters: { tree: { requests: 3, tokens: { input: 20, output: 5 }, costUsd } },
    } as unknown as SessionResult);
  return { stub: stub as unknown as SubSession, asked, ends };
}

function subAgents({
  depth = 1,
  maxDepth = 3,
  requests = 10,
  start = undefined as (() => SubSession) | undefined,
} = {}) {
  const grants = new Grants({ requests, tokens: null, costUsd: null }, () => ({ requests: 0, tokens: 0, costUsd: 0 }));
  const started: (Omit<Child, 'session'> & { prompt: string; session: ReturnType<typeof session> })[] = [];
  const ended: unknown[] = [];
  const all = new SubAgents({
    sharesBudget: false,
    depth,
    maxDepth,
    grants,
    start: (_agent, task) => {
      const own = session();
      started.push({ ...task, session: own });
      return start?.() ?? own.stub;
    },
    ended: (...what) => void ended.push(what.slice(0, 2)),
  });
  const spent: unknown[] = [];
  const call = (callId: string, signal = new AbortController().signal) => {
    const run = { callId, signal, account: (more: unknown) => spent.push(more) } as unknown as ToolRun;
    return all.tool('helper', helper).execute({ prompt: 'Sum.', reason: 'Long.' }, run) as Promise<unknown>;
  };
  /** How many requests another sub-agent could be granted now. */
  const left = async () => {
    const most = await grants.takeGrant(1_000, new AbortController().signal);
    if (most !== null) grants.giveBack(most);
    return most?.requests;
  };
  const child = (callId: string) => {
    const own = session();
    return { ...own, child: { name: 'helper', callId, grant, session: own.stub, abort: new AbortController() } };
  };
  return { all, started, ended, spent, call, left, child };
}

/** Grants are shared out after a turn of the event loop. */
async function begun(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
}

describe('B-7: sub-agents as tools', () => {
  it('describe themselves, limit themselves, continue after a crash, and are refused below the deepest level', () => {
    const { all } = subAgents({ depth: 2 });
    const { name, timeoutMs, afterCrash, refusal } = all.tool('helper', helper);
    expect({ name, timeoutMs, afterCrash, refusal }).toEqual({
      ...{ name: 'helper', timeoutMs: null, afterCrash: 'continue', refusal: undefined },
    });
    expect(subAgents({ depth: 3 }).all.tool('helper', helper).refusal).toEqual({
      slug: 'depth_exceeded',
      reason: 'Sub-agent depth limit: 2. Do it yourself.',
    });
  });

  it('are offered with their description, or with what they do', async () => {
    const { all } = subAgents();
    const described = defineAgent({ name: 'b', models: [rehearsalModel([])], description: 'Counts.' });
    expect(await all.tool('helper', helper).offered).toMatchObject({
      description: 'Gives a task to the agent sums and returns its report.',
    });
    expect(await all.tool('helper', described).offered).toMatchObject({ description: 'Counts.' });
  });

  it('take a task and why it is given, neither of them blank', async () => {
    const { all } = subAgents();
    const { inputSchema } = (await all.tool('helper', helper).offered) as { inputSchema: { properties: object } };
    expect(inputSchema.properties).toMatchObject({
      prompt: { description: 'The task, with everything needed to do it: the sub-agent sees nothing else.' },
      reason: { description: 'Why you delegate the task, in one sentence.' },
    });
    expect(subAgentInput().parse({ prompt: ' Sum. ', reason: ' Long. ' })).toEqual({ prompt: 'Sum.', reason: 'Long.' });
    for (const blank of [{ prompt: ' ' }, { reason: ' ' }])
      expect(subAgentInput().safeParse({ prompt: 'Sum.', reason: 'Long.', ...blank }).success).toBe(false);
  });

  it('give their report, account for what they cost, and give the rest of their grant back', async () => {
    const { started, ended, spent, call, left } = subAgents();
    const [one, two] = [call('c1'), call('c2')];
    await begun();
    expect(started.map(({ name, callId, grant, prompt }) => [name, callId, grant.requests, prompt])).toEqual([
      ['helper', 'c1', 4, 'Sum.'],
      ['helper', 'c2', 4, 'Sum.'],
    ]);
    started[0]?.session.ends();
    started[1]?.session.ends({ costUsd: 0.5 });
    expect([await one, await two]).toEqual(['the sum', 'the sum']);
    expect(spent).toEqual([
      { requests: 3, tokens: 25, costUsd: 0 },
      { requests: 3, tokens: 25, costUsd: 0.5 },
    ]);
    expect(ended).toEqual([
      ['helper', 'c1'],
      ['helper', 'c2'],
    ]);
    expect(await left()).toBe(9);
  });

  it('fail with all reasons, and with what they reported', async () => {
    const { started, call, spent } = subAgents();
    const failing = call('c1');
    await begun();
    started[0]?.session.ends({ success: false });
    await expect(failing).rejects.toMatchObject({
      message: 'The agent sums failed: max_turns_exhausted, stopped.',
      value: { slugs: ['max_turns_exhausted', 'stopped'], report: 'the sum' },
    });
    expect(spent).toHaveLength(1);
  });

  it('give their grant back if they cannot begin', async () => {
    const { call, left } = subAgents({
      start: () => {
        throw new Error('no such agent');
      },
    });
    await expect(call('c1')).rejects.toThrow('no such agent');
    expect(await left()).toBe(9);
  });

  it('do not begin when the budget is spent', async () => {
    const { started, call } = subAgents({ requests: 1 });
    await expect(call('c1')).rejects.toThrow('The shared budget is spent');
    expect(started).toEqual([]);
  });

  it('D-2: are aborted with the reason of their call', async () => {
    const { started, call } = subAgents();
    const controller = new AbortController();
    void call('c1', controller.signal);
    await begun();
    expect(started[0]?.abort.signal.aborted).toBe(false);
    controller.abort('enough');
    expect(started[0]?.abort.signal.reason).toBe('enough');
  });

  it('D-2: are stopped, those included that begin later', async () => {
    const { all, started, call } = subAgents();
    void call('c1');
    await begun();
    expect(started[0]?.session.asked).toEqual([]);
    all.stop();
    void call('c2');
    await begun();
    expect(started.map(({ session }) => session.asked)).toEqual([['stop'], ['stop']]);
    expect(all.tree()).toHaveLength(2);
  });

  it('end when the tools close, those included that begin in the same step', async () => {
    const { all, started, ended, call } = subAgents();
    void call('c1');
    await begun();
    const closing = all.close();
    await begun();
    expect(String(started[0]?.abort.signal.reason)).toBe('Error: its call was aborted');
    started[0]?.session.ends();
    await closing;
    // It ran already, so it does not go on as after a crash.
    expect([ended, all.tree(), started[0]?.session.asked]).toEqual([[['helper', 'c1']], [], []]);
  });
});

describe('D-4: sub-agents after a crash', () => {
  it('continue when their call is performed again, keep their grant until they end, and do not start twice', async () => {
    const { all, started, call, left, child } = subAgents();
    const { child: restored, asked, ends, stub } = child('c1');
    all.restore(restored);
    expect([all.tree(), await left()]).toEqual([[stub], 5]);
    const calling = call('c1');
    await begun();
    expect([asked, started]).toEqual([['goOn'], []]);
    ends();
    expect(await calling).toBe('the sum');
    expect(await left()).toBe(9);
  });

  it('are stopped as they go on, if the session is stopping', async () => {
    const { all, call, child } = subAgents();
    const { child: restored, asked } = child('c1');
    all.restore(restored);
    all.stop();
    expect(asked).toEqual([]);
    void call('c1');
    await begun();
    expect(asked).toEqual(['goOn', 'stop']);
  });

  it('D-2: hear an abort of their call that came before', async () => {
    const { all, call, child } = subAgents();
    const { child: restored, ends } = child('c1');
    all.restore(restored);
    const calling = call('c1', AbortSignal.abort('over'));
    await begun();
    expect(restored.abort.signal.reason).toBe('over');
    ends();
    await calling;
  });

  it('that had ended give their result without going on, and their grant is back', async () => {
    const { all, call, left, child, ended } = subAgents();
    const { child: restored, asked, ends } = child('c1');
    all.restore(restored);
    all.restoreEnd('c1');
    all.restoreEnd('c1');
    all.restoreEnd('unknown');
    ends();
    expect([await left(), all.tree()]).toEqual([9, []]);
    expect(await call('c1')).toBe('the sum');
    expect([asked, ended]).toEqual([[], []]);
  });

  it('that ran elsewhere give the result with which they ended', async () => {
    const { all, started, call, child } = subAgents();
    const { ends, stub } = child('c1');
    ends({ success: false, slugs: ['aborted'] });
    all.away.end('c1', await stub.result);
    await expect(call('c1')).rejects.toThrow('The agent sums failed: aborted.');
    expect(started).toEqual([]);
  });

  it('that run elsewhere are waited for at the end, even if they have no result', async () => {
    const { all, child } = subAgents();
    const { ends, stub } = child('c1');
    ends();
    const order: string[] = [];
    for (const callId of ['c1', 'c2', 'c3']) all.away.begin(callId);
    const closed = all.close().then(() => order.push('closed'));
    all.away.end('c1', await stub.result);
    all.away.end('c3', null);
    await new Promise(setImmediate);
    order.push('the last ends');
    all.away.end('c2', null);
    await closed;
    await all.close();
    expect(order).toEqual(['the last ends', 'closed']);
  });

  it('end when the tools close, if their call was answered', async () => {
    const { all, child, ended } = subAgents();
    const { child: restored, asked, ends } = child('c1');
    all.restore(restored);
    const closing = all.close();
    await begun();
    expect([asked, restored.abort.signal.aborted]).toEqual([['goOn'], true]);
    ends();
    await closing;
    expect(ended).toEqual([['helper', 'c1']]);
  });
});
