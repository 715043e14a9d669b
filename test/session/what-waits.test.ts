import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/host/clock.ts';
import {
  type Agent,
  type AgentDefinition,
  answerSession,
  approveSession,
  defineAgent,
  type Journal,
  PawlError,
  pendingApprovals,
  type ResumePass,
  resumeAll,
  type Session,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { askingAgent } from '../support/asking-agent.ts';
import { journalWith } from '../support/dying-journal.ts';
import { report } from '../support/session.ts';

const logger = false as const;
const inputSchema = z.object({ bill: z.string() });
const calling = (name: string) =>
  rehearsalModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? report() : { calls: [{ name, input: { bill: 'rent' } }] },
  );

/** An agent whose tool waits for a person; or, as `pick`, for a client. */
function asking(over: Partial<AgentDefinition> = {}, name = 'pay') {
  const paid: unknown[] = [];
  const pay = tool({ inputSchema, needsApproval: true, execute: (input) => void paid.push(input) });
  const pick = tool({ inputSchema });
  const agent = defineAgent({ name: 'clerk', models: [calling(name)], tools: { pay, pick }, ...over });
  return { agent, paid };
}

/** Leaves a session where it waits. */
async function leftWaiting(agent: Agent, journal: Journal, sessionId: string, more: object = {}): Promise<void> {
  const session: Session = startSession(agent, { prompt: 'Go.', journal, sessionId, logger, ...more });
  for await (const { type } of session.events)
    if (type === 'tool.approvalRequested' || type === 'tool.handedOut') break;
  while ((await journal.list({ sessionId }))[0]?.waiting.length !== 1) await new Promise(setImmediate);
  await session.suspend();
}

describe('D-4d: a process that starts leaves alone what waits for people', () => {
  it('until a decision was left for it', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent, paid } = asking();
    await leftWaiting(agent, journal, 's');
    const [row] = await journal.list({});
    expect(await resumeAll([agent], { journal, logger })).toMatchObject({ sessions: [], refused: [], waiting: ['s'] });
    expect(await journal.list({})).toEqual([row]);
    expect(await approveSession(journal, 's', row?.waiting[0] ?? '', { approved: true })).toBe(true);
    const { sessions, waiting } = await resumeAll([agent], { journal, logger });
    expect([(await sessions[0]?.result)?.success, waiting, paid]).toEqual([true, [], [{ bill: 'rent' }]]);
    await journal.close();
  });

  it.each(['pay', 'pick'])('or its time is over: %s', async (name) => {
    const journal = sqliteJournal(':memory:');
    const { agent } = asking({ limits: { approvalTimeoutMs: 60_000, clientToolTimeoutMs: 60_000 } }, name);
    await leftWaiting(agent, journal, 's');
    expect(await resumeAll([agent], { journal, logger })).toMatchObject({ sessions: [], waiting: ['s'] });
    // A minute later.
    const clock = { ...systemClock, now: () => systemClock.now() + 60_001 };
    const { sessions } = await resumeAll([agent], { journal, logger, clock });
    expect((await sessions[0]?.result)?.turns[0]?.attempts[0]?.calls[0]?.slug).toBe(
      name === 'pay' ? 'approval_timeout' : 'tool_timeout',
    );
    await journal.close();
  });

  it('a client’s answer is something to do, too; and so is what ran when the process died', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent } = asking({}, 'pick');
    await leftWaiting(agent, journal, 's');
    const [row] = await journal.list({});
    await answerSession(journal, 's', row?.waiting[0] ?? '', 'picked');
    const hanging = defineAgent({ name: 'hanging', models: [rehearsalModel([{ hangs: true }])] });
    const session = startSession(hanging, { prompt: 'Go.', journal, sessionId: 'h', logger });
    await session.suspend({ graceMs: 0 });
    const again = defineAgent({ name: 'hanging', models: [rehearsalModel(() => report())] });
    const { sessions } = await resumeAll([agent, again], { journal, logger });
    expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(['h', 's']);
    for (const { result } of sessions) expect((await result).success).toBe(true);
    await journal.close();
  });

  it('what a sub-agent waits for is waited for in the whole tree', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent: below, paid } = asking();
    const above = askingAgent('below', below);
    await leftWaiting(above, journal, 's', { metadata: { of: 'ada' } });
    expect(await resumeAll([above], { journal, logger })).toMatchObject({ sessions: [], waiting: ['s'] });
    const [one, ...others] = await pendingApprovals(journal, { metadata: { of: 'ada' } });
    expect(others).toEqual([]);
    expect(one).toMatchObject({ sessionId: 's', agent: 'clerk', tool: 'pay', input: { bill: 'rent' } });
    expect(one?.madeBy).toMatch(/^s\//);
    expect(Date.now() - (one?.since ?? 0)).toBeLessThan(60_000);
    expect(await pendingApprovals(journal, { metadata: { of: 'bob' } })).toEqual([]);
    const { callId = '', input, madeBy = '' } = one ?? {};
    await approveSession(journal, 's', callId, { approved: true, input, sessionId: madeBy });
    const { sessions } = await resumeAll([above], { journal, logger });
    expect([(await sessions[0]?.result)?.success, paid.length]).toEqual([true, 1]);
    expect(await pendingApprovals(journal)).toEqual([]);
    await journal.close();
  });
});

describe('D-4e: a watch resumes without anybody’s call', () => {
  it('what was decided meanwhile, until it is closed', async () => {
    const journal = sqliteJournal(':memory:', { leaseMs: 100 });
    const { agent } = asking();
    await leftWaiting(agent, journal, 's');
    await leftWaiting(agent, journal, 'later');
    const passes: ResumePass[] = [];
    const seen = Promise.withResolvers<void>();
    const { close, waiting } = await resumeAll([agent], {
      journal,
      logger,
      watch: (pass) => {
        if ('error' in pass) throw pass.error;
        passes.push(pass);
        seen.resolve();
      },
    });
    expect(waiting.toSorted()).toEqual(['later', 's']);
    const decide = async (sessionId: string) => {
      const [row] = await journal.list({ sessionId });
      await approveSession(journal, sessionId, row?.waiting[0] ?? '', { approved: true });
    };
    await decide('s');
    await seen.promise;
    const [session] = passes[0]?.sessions ?? [];
    expect([passes.length, session?.sessionId, (await session?.result)?.success]).toEqual([1, 's', true]);
    close();
    await decide('later');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await journal.list({ sessionId: 'later' }))[0]?.status).toBe('suspended');
    await journal.close();
  });

  it('what a journal that was away had suspended', async () => {
    const kept = sqliteJournal(':memory:', { leaseMs: 100 });
    const state = { isAway: false };
    const unlessAway = <T>(act: () => Promise<T>): Promise<T> =>
      state.isAway ? Promise.reject(new Error('The server is away.')) : act();
    const journal = journalWith(kept, {
      append: (...given) => unlessAway(() => kept.append(...given)),
      renew: (...given) => unlessAway(() => kept.renew(...given)),
      list: (...given) => unlessAway(() => kept.list(...given)),
    });
    let asks = 0;
    const model = rehearsalModel(() => {
      asks += 1;
      state.isAway = asks === 1;
      return report();
    });
    const agent = defineAgent({ name: 'clerk', models: [model] });
    const errors: unknown[] = [];
    const resumed = Promise.withResolvers<Session>();
    const { close } = await resumeAll([agent], {
      journal,
      logger,
      watch: (pass) => {
        if ('error' in pass) {
          errors.push(pass.error);
          state.isAway = false;
        } else for (const one of pass.sessions) resumed.resolve(one);
      },
    });
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger });
    expect(await session.result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    const again = await resumed.promise;
    expect([again.sessionId, (await again.result).success, errors.length > 0]).toEqual(['s', true, true]);
    close();
    await kept.close();
  });

  it('what was refused for a passing reason, and tells of each reason once', async () => {
    const journal = sqliteJournal(':memory:', { leaseMs: 60 });
    const { agent } = asking({}, 'pick');
    for (const id of ['passing', 'lasting']) await leftWaiting(agent, journal, id);
    for (const id of ['passing', 'lasting']) {
      const [row] = await journal.list({ sessionId: id });
      await answerSession(journal, id, row?.waiting[0] ?? '', 'picked');
    }
    const state = { isDown: true };
    const refused: string[] = [];
    const resumed = Promise.withResolvers<Session>();
    const now = defineAgent({ ...agent.definition });
    const { close, refused: first } = await resumeAll([now], {
      journal,
      logger,
      context: ({ sessionId }) => {
        if (sessionId === 'passing' && state.isDown) throw new Error('no database');
        if (sessionId === 'lasting') throw new PawlError('agent_changed', 'It is another one.');
      },
      watch: (pass) => {
        if ('error' in pass) return;
        refused.push(...pass.refused.map(({ sessionId }) => sessionId));
        for (const session of pass.sessions) resumed.resolve(session);
      },
    });
    expect(first.map(({ sessionId }) => sessionId).toSorted()).toEqual(['lasting', 'passing']);
    await new Promise((resolve) => setTimeout(resolve, 150));
    state.isDown = false;
    expect((await (await resumed.promise).result).success).toBe(true);
    close();
    expect(refused).toEqual([]);
    await journal.close();
  });

  it('but not what this process has suspended meanwhile', async () => {
    const journal = sqliteJournal(':memory:', { leaseMs: 60 });
    const hanging = defineAgent({ name: 'hanging', models: [rehearsalModel([{ hangs: true }])] });
    const passes: unknown[] = [];
    const { close } = await resumeAll([hanging], { journal, logger, watch: (pass) => void passes.push(pass) });
    const session = startSession(hanging, { prompt: 'Go.', journal, sessionId: 's', logger });
    await session.suspend({ graceMs: 0 });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect([passes, (await journal.list({}))[0]?.status]).toEqual([[], 'suspended']);
    close();
    await journal.close();
  });
});
