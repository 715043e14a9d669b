import { beforeEach, describe, expect, it } from 'vitest';
import type { RunState } from '../../machines/index.ts';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import type { BacklogItem } from '../../src/workflow/backlog/backlog.ts';
import type { RunSessions } from '../../src/workflow/run/agents.ts';
import type { WorkflowAgents } from '../../src/workflow/run/parts.ts';
import { behind, Queue } from '../../src/workflow/run/queue.ts';
import type { RunFolder } from '../../src/workflow/run/run-folder.ts';
import { diedIn } from '../graph/levels/workflow.ts';
import { report } from '../support/session.ts';
import { temporaryFolder } from '../support/temporary.ts';

const agentOf = (replies: Parameters<typeof rehearsalModel>[0], own = {}) =>
  defineAgent({ name: 'scanner', models: [rehearsalModel(replies)], ...own });

let folder: string;
let sessions: RunSessions;
beforeEach(() => {
  folder = temporaryFolder();
  sessions = {
    folder,
    place: { root: folder, backlog: folder },
    signal: new AbortController().signal,
    logger: false,
    options: {},
    grant: async () => ({ budget: {}, end: () => {} }),
  } as unknown as RunSessions;
});

describe('W-1: the order of a run', () => {
  const items = (...ids: string[]) =>
    ids.map((id) => ({ id, priority: 'P2', kind: 'bug', title: id, createdAt: null }) as BacklogItem);
  const state: RunState = diedIn('scanning');
  const queueOf = (scan: WorkflowAgents['scan']) => {
    const notes: string[] = [];
    const parts = {
      agents: { process: agentOf([]), ...(scan !== undefined && { scan }) },
      sessions,
      home: sessions.place,
    };
    const queue = new Queue(parts as never, { of: () => folder } as unknown as RunFolder, (note) => notes.push(note));
    const ordered = async (...ids: string[]) => {
      const found = await queue.ordered(items(...ids), state);
      return 'failed' in found ? found.failed.verdict : found.map(({ id }) => id);
    };
    return { ordered, notes };
  };
  const kept = 'The scan agent returned no usable order, so the default order was kept: ';

  it('is the usual one without a scan agent', async () => {
    const { ordered, notes } = queueOf(undefined);
    expect([await ordered('b', 'a'), notes]).toEqual([['b', 'a'], []]);
  });

  it('is asked for once, until an item is new; what was left out follows', async () => {
    let asked = 0;
    const { ordered, notes } = queueOf((given) => {
      asked += 1;
      return asked === 1 ? ['c', 'c', 'unknown', 'a'] : given.map(({ id }) => id).reverse();
    });
    expect(await ordered('a', 'b', 'c')).toEqual(['c', 'a', 'b']);
    expect([await ordered('a', 'b'), asked]).toEqual([['a', 'b'], 1]);
    expect([await ordered('b', 'd'), asked]).toEqual([['d', 'b'], 2]);
    expect(notes).toEqual([]);
  });

  it.each<[string, WorkflowAgents['scan'], string]>([
    ['no list', (() => 'a, b') as never, 'undefined'],
    ['a list of unknown ids', () => ['x'], '["x"]'],
    ['an error', () => Promise.reject(new Error('broken')), 'broken'],
  ])('%s is noted, and the usual order is kept', async (_, scan, why) => {
    const { ordered, notes } = queueOf(scan);
    expect([await ordered('b', 'a'), notes]).toEqual([['b', 'a'], [kept + why]]);
  });

  it('is that of an object, which may be the whole of a text', async () => {
    expect(await queueOf((() => ({ order: ['a'] })) as never).ordered('b', 'a')).toEqual(['a', 'b']);
    expect(await queueOf(agentOf([report({ order: ['a', 'b'] })])).ordered('b', 'a')).toEqual(['a', 'b']);
    const text = { report: { format: 'text' as const } };
    const written = queueOf(agentOf([report('{ "order": ["a", "b"] }')], text));
    expect(await written.ordered('b', 'a')).toEqual(['a', 'b']);
    const prose = queueOf(agentOf([report('So: { "order": ["a", "b"] }')], text));
    expect([await prose.ordered('b', 'a'), prose.notes.length]).toEqual([['b', 'a'], 1]);
  });

  it('an agent that cannot be invoked is lost; one that fails is noted', async () => {
    expect(await queueOf({ name: 'x', load: () => null as never }).ordered('b', 'a')).toBe('unavailable');
    const failing = queueOf(agentOf([{}], { limits: { maxTurns: 1, maxRetries: 1 } }));
    expect(await failing.ordered('b', 'a')).toEqual(['b', 'a']);
    expect(failing.notes).toEqual([expect.stringContaining(`${kept}retries_exhausted`)]);
  });

  it('is not asked for after an abort', async () => {
    sessions.signal = AbortSignal.abort();
    for (const scan of [() => ['a'], agentOf([report()])]) {
      const { ordered, notes } = queueOf(scan);
      expect([await ordered('b', 'a'), notes]).toEqual([['b', 'a'], []]);
    }
  });

  it('what failed in an earlier run comes last, in its own order', () => {
    const tries = new Map([
      ['a', 1],
      ['c', 2],
    ]);
    expect(behind(items('a', 'b', 'c', 'd'), tries).map(({ id }) => id)).toEqual(['b', 'd', 'a', 'c']);
  });
});
