import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { tool } from 'ai';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent } from '../../src/index.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import type { BacklogItem } from '../../src/workflow/backlog/backlog.ts';
import {
  askAgent,
  type RunSessions,
  resultOrAborted,
  type WorkFunction,
  wasAborted,
  workOnItem,
} from '../../src/workflow/run/agents.ts';
import type { WorkflowAgents } from '../../src/workflow/run/parts.ts';
import { report } from '../support/session.ts';
import { temporaryFolder } from '../support/temporary.ts';

const touch = tool({ inputSchema: z.object({}), execute: () => 'touched' });
const agentOf = (replies: Parameters<typeof rehearsalModel>[0], own: Partial<AgentDefinition> = {}) =>
  defineAgent({ name: 'worker', models: [rehearsalModel(replies)], tools: { touch }, ...own });
const item = { id: 'BUG-001', folder: 'bugs/BUG-001', title: 'Mend it' } as BacklogItem;

let folder: string;
let warnings: string[];
let ended: unknown[];
let sessions: RunSessions;
beforeEach(() => {
  folder = temporaryFolder();
  warnings = [];
  ended = [];
  sessions = {
    folder,
    place: { root: folder, backlog: folder },
    signal: new AbortController().signal,
    logger: false,
    options: { clock: manualClock(), random: () => 0.5 },
    onSessionEvent: undefined,
    approve: () => ({ approved: true }),
    grant: async () => ({ budget: {}, end: (result) => void ended.push(result?.counters.turns ?? null) }),
    warn: (message) => warnings.push(message),
  } as RunSessions;
});
const task = (own: object = {}) => ({
  phase: 'processing' as const,
  item,
  folder: join(folder, item.folder),
  root: folder,
  prompt: 'Mend it.',
  signal: sessions.signal,
  ...own,
});
const worked = async (agent: WorkflowAgents['process']) => {
  const outcomes: unknown[] = [];
  const outcome = await workOnItem(agent, task(), sessions, (one) => outcomes.push(one));
  return { outcome, outcomes };
};
const nothing = { agent: 'worker', slugs: [], lookedFor: [] };

describe('W-1: a function that works on an item', () => {
  it.each<[string, WorkFunction, object]>([
    [
      'succeeds',
      () => ({ status: 'succeeded', message: 'done' }),
      { verdict: 'succeeded', slugs: [], message: 'done' },
    ],
    [
      'fails',
      async () => ({ status: 'failed', slugs: ['text_only', 'no slug' as never] }),
      { verdict: 'failed', slugs: ['text_only'], message: '' },
    ],
    ['is blocked', () => ({ status: 'blocked' }), { verdict: 'blocked' }],
    [
      'is unavailable',
      () => ({ status: 'unavailable', lookedFor: ['here', 7 as never] }),
      { verdict: 'unavailable', lookedFor: ['here', '7'] },
    ],
    [
      'returns lists that are none',
      () => ({ status: 'failed', slugs: 'x', lookedFor: 'y' }) as never,
      { verdict: 'failed', slugs: [], lookedFor: [] },
    ],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
      { verdict: 'failed', slugs: ['internal_error'], message: 'broken' },
    ],
    [
      'returns nothing',
      () => undefined as never,
      {
        slugs: ['internal_error'],
        message: expect.stringContaining(
          "must return { status: 'succeeded', 'failed', 'blocked' or 'unavailable' }; got ",
        ),
      },
    ],
    ['returns another status', () => ({ status: 'done' }) as never, { verdict: 'failed', slugs: ['internal_error'] }],
  ])('it %s', async (_, run, expected) => {
    const named = Object.defineProperty(run, 'name', { value: 'worker' });
    const { outcome, outcomes } = await worked(named);
    expect(outcome).toEqual({ ...nothing, requests: 0, verdict: 'failed', message: expect.any(String), ...expected });
    expect(outcomes).toEqual([outcome]);
  });

  it('without a name has that of its phase, and its message is cut and without credentials', async () => {
    const { outcome } = await worked(
      Object.defineProperty(
        () => ({ status: 'failed' as const, message: `access token: abc ${'x'.repeat(9_000)}` }),
        'name',
        { value: '' },
      ),
    );
    expect(outcome.agent).toBe('processing');
    expect(outcome.message).not.toContain('abc');
    expect(outcome.message.length).toBeLessThan(4_100);
  });

  it('is not waited for after an abort', async () => {
    const controller = new AbortController();
    sessions.signal = controller.signal;
    const working = worked(() => {
      controller.abort();
      return new Promise<never>(() => {});
    });
    expect((await working).outcome).toMatchObject({ verdict: 'aborted', slugs: ['aborted'], message: 'aborted' });
    expect(await resultOrAborted(controller.signal, () => 'begun')).toBe(wasAborted);
    expect(await resultOrAborted(new AbortController().signal, () => 'begun')).toBe('begun');
  });
});

describe('W-1: an agent that works on an item', () => {
  const logs = () => readdirSync(folder).filter((name) => name.endsWith('.jsonl'));

  it('its report is its verdict, its session has a log, and the outcome is told first', async () => {
    const { outcome, outcomes } = await worked(agentOf([report({ status: 'succeeded', message: 'All done.' })]));
    expect(outcome).toEqual({ ...nothing, verdict: 'succeeded', requests: 1, message: 'All done.' });
    expect([outcomes, ended, warnings, logs()]).toEqual([[outcome], [1], [], ['BUG-001-processing.jsonl']]);
    const events = readFileSync(join(folder, 'BUG-001-processing.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type);
    expect([events[0], events.at(-1)]).toEqual(['session.started', 'session.result']);
  });

  it('a session that fails is a failure with its slugs; without a living model, the agent is unavailable', async () => {
    const { outcome } = await worked(agentOf([{}], { limits: { maxRetries: 1, maxTurns: 1 } }));
    expect(outcome).toMatchObject({
      verdict: 'failed',
      requests: 1,
      slugs: expect.arrayContaining(['empty_response']),
    });
    expect(outcome.message).toMatch(/^retries_exhausted, max_turns_exhausted, empty_response\n\nThe session failed/);
    const refused = Object.assign(new Error('no such key'), { statusCode: 401 });
    const { outcome: lost } = await worked(agentOf([{ throws: refused }]));
    expect(lost).toMatchObject({ verdict: 'unavailable', slugs: expect.arrayContaining(['no_targets']) });
  });

  it('an aborted session is no failure', async () => {
    const controller = new AbortController();
    sessions.signal = controller.signal;
    const model = rehearsalModel(() => {
      controller.abort();
      return { hangs: true };
    });
    const { outcome } = await worked(defineAgent({ name: 'worker', models: [model], tools: { touch } }));
    expect(outcome).toEqual({ ...nothing, verdict: 'aborted', slugs: ['aborted'], message: 'aborted', requests: 1 });
    expect((await worked(agentOf([report()]))).outcome).toMatchObject({ verdict: 'aborted', requests: 0 });
  });

  it('one that is loaded gets the place; what is no agent is unavailable, with where it was looked for', async () => {
    const places: unknown[] = [];
    const load = (place: unknown) => {
      places.push(place);
      return agentOf([report({ status: 'succeeded', message: 'ok' })]);
    };
    expect((await worked({ name: 'named', load })).outcome).toMatchObject({ verdict: 'succeeded', agent: 'worker' });
    expect(places).toEqual([sessions.place]);
    const lookedFor = ['a.md', 'b.md'];
    expect((await worked({ name: 'named', lookedFor, load: () => 7 as never })).outcome).toEqual({
      ...{ agent: 'named', verdict: 'unavailable', slugs: [], requests: 0, lookedFor },
      message: 'named must load as an agent; got 7',
    });
    const broken = { name: 'named', load: () => Promise.reject(new Error('gone')) };
    expect((await worked(broken)).outcome).toMatchObject({ verdict: 'unavailable', message: 'gone', lookedFor: [] });
  });

  it('one without tools is warned of', async () => {
    await worked(agentOf([report({ status: 'succeeded', message: 'ok' })], { tools: {} }));
    expect(warnings).toEqual(['The agent worker has no tools, so it can only report.']);
  });

  it('is not started once the budget is spent', async () => {
    sessions.grant = async () => ({ spent: '10 requests' });
    const { outcome, outcomes } = await worked(agentOf([report()]));
    expect(outcome).toMatchObject({
      verdict: 'unstarted',
      slugs: ['budget_exhausted'],
      message: 'The budget of the run is spent (10 requests), so worker was not started.',
    });
    expect([outcomes, ended]).toEqual([[], []]);
  });

  it('a log that cannot be begun is critical', async () => {
    sessions.folder = join(folder, 'missing');
    expect((await worked(agentOf([report()]))).outcome).toMatchObject({
      verdict: 'critical',
      message: expect.stringContaining('ENOENT'),
    });
  });

  it('its events and its metadata name the run, the role and the item', async () => {
    const seen: unknown[] = [];
    sessions.onSessionEvent = ({ type }, { metadata }) => void seen.push([type, metadata]);
    await worked(agentOf([report({ status: 'succeeded', message: 'ok' })]));
    expect(seen[0]).toEqual(['session.started', { run: basename(folder), role: 'processing', item: 'BUG-001' }]);
    seen.length = 0;
    await askAgent(agentOf([report()]), 'summary', 'Say it.', sessions);
    expect(seen[0]).toEqual(['session.started', { run: basename(folder), role: 'summary' }]);
  });

  it.each<[string, RunSessions['approve'], boolean, string | null]>([
    ['approved', () => ({ approved: true }), true, null],
    ['denied with a reason', async () => ({ approved: false, reason: 'not now' }), false, 'not now'],
    ['undecided', () => undefined as never, false, 'no decision was made'],
    ['decided by what is only truthy', () => ({ approved: 'yes' }) as never, false, null],
    ['broken', () => Promise.reject(new Error('no one there')), false, 'no one there'],
  ])('a call that needs approval is %s', async (_, approve, isApproved, reason) => {
    const guarded = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 'ran' });
    const decided: unknown[] = [];
    Object.assign(sessions, {
      approve,
      onSessionEvent: (event: { type: string; reason?: string | null }) => {
        if (event.type === 'tool.approved' || event.type === 'tool.denied') decided.push([event.type, event.reason]);
      },
    });
    const replies = [{ calls: [{ name: 'guarded', input: {} }] }, report({ status: 'succeeded', message: 'ok' })];
    await worked(agentOf(replies, { tools: { guarded } }));
    expect(decided).toEqual([[isApproved ? 'tool.approved' : 'tool.denied', reason]]);
  });

  it('an agent that only reports returns its report, or why there is none', async () => {
    const speak = (agent: Parameters<typeof askAgent>[0]) => askAgent(agent, 'summary', 'Say it.', sessions);
    const json = { format: 'json' as const, schema: z.object({ a: z.number() }) };
    expect(await speak(agentOf([report({ a: 1 })], { report: json }))).toEqual({ report: { a: 1 } });
    expect(await speak(agentOf([report('Words.')]))).toEqual({ report: 'Words.' });
    expect(await speak(agentOf([{}], { limits: { maxTurns: 1, maxRetries: 1 } }))).toMatchObject({
      failed: { verdict: 'failed' },
    });
    expect(await speak({ name: 'x', load: () => null as never })).toMatchObject({ failed: { verdict: 'unavailable' } });
    sessions.signal = AbortSignal.abort();
    expect(await speak(agentOf([report()]))).toMatchObject({ failed: { verdict: 'aborted' } });
  });
});
