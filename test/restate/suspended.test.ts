import { tool } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent, type Session, type SessionResult, startSession } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema } from '../support/journaled.ts';
import { type OnRestate, onRestate } from '../support/on-restate.ts';
import { restateBinary } from '../support/restate.ts';
import { report } from '../support/session.ts';

/** The engine ends an attempt that has waited this long, and begins another when there is something to do. */
const inactivity = {
  RESTATE_WORKER__INVOKER__INACTIVITY_TIMEOUT: '300ms',
  // The service sets its own, so that no step begins again.
  RESTATE_WORKER__INVOKER__ABORT_TIMEOUT: '300ms',
};

const charged: string[] = [];
const charge = tool({ inputSchema, needsApproval: true, execute: () => void charged.push('charged') });
const limits = { maxTurns: 3, maxRetries: 2 };
/** Makes this call, then reports. */
const calling = (call: { name: string; input: object }) =>
  rehearsalModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? report('Done.') : { calls: [call] }));
const helper = defineAgent({
  ...{ name: 'helping', models: [calling({ name: 'charge', input: {} })] },
  ...{ tools: { charge }, limits },
});
const help = { name: 'helper', input: { prompt: 'Charge.', reason: 'Long.' } };
const above = defineAgent({ name: 'above', models: [calling(help)], agents: { helper }, limits });

const work = Promise.withResolvers<void>();
const worker = defineAgent({
  ...{ name: 'working', models: [calling({ name: 'work', input: {} })], limits },
  tools: { work: tool({ inputSchema, execute: () => work.promise }) },
});
const aboveWorker = defineAgent({ ...above.definition, name: 'above-worker', agents: { helper: worker } });

const message = {
  approve: (callId: string) => ({ type: 'approve', callId, approved: true, reason: null, sessionId: null }),
  stop: () => ({ type: 'session.stop' }),
  abort: () => ({ type: 'session.abort', reason: 'enough' }),
};

const inMemory = {
  approve: (session: Session, callId: string) => session.approve(callId, { approved: true }),
  stop: (session: Session) => session.stop(),
  abort: (session: Session) => session.abort('enough'),
};

/** What must not depend on where a session ran. */
const told = ({ status, slugs, counters }: SessionResult) => ({
  ...{ status, slugs },
  counters: JSON.parse(JSON.stringify(counters, (key, value) => (key === 'durationMs' ? 0 : value))),
});

describe.skipIf(restateBinary === null)('D-1, D-3: a session that Restate suspends while it waits', () => {
  let service: OnRestate;
  beforeAll(async () => {
    service = await onRestate([helper, above, aboveWorker], inactivity);
  });
  afterAll(() => service?.stop());

  /** The states of a session's invocations. */
  async function states(id: string) {
    const rows = await service.rows(`select status from sys_invocation where target_service_key like '${id}%'`);
    return rows.map(({ status }) => String(status)).toSorted();
  }

  /** Starts a session. Resolves when Restate has suspended it and its sub-agent, with the call that waits. */
  async function waiting(id: string, agent: string, sessions: number) {
    const result = service.ran(id, agent, 'Go.');
    await expect.poll(() => states(id)).toEqual(Array(sessions).fill('suspended'));
    const asked = service.events.find((one) => one.sessionId.startsWith(id) && one.type === 'tool.approvalRequested');
    return { result, callId: asked !== undefined && 'callId' in asked ? String(asked.callId) : '' };
  }

  const cases = (['approve', 'stop', 'abort'] as const).flatMap((command) => [
    { command, agent: helper, sessions: 1, whose: 'its own call' },
    { command, agent: above, sessions: 2, whose: 'a call of its sub-agent' },
  ]);
  it.each(cases)('$command, when $whose waits: it ends as in memory', async ({ command, agent, sessions }) => {
    charged.length = 0;
    const id = `${command}-${agent.name}`;
    const { result, callId } = await waiting(id, agent.name, sessions);
    await service.ask(`${id}/message`, message[command](callId));
    const suspended = await result;
    assertInvariants(suspended);
    expect(charged).toEqual(command === 'approve' ? ['charged'] : []);
    const session = startSession(agent, { prompt: 'Go.', logger: false });
    for await (const event of session.events)
      if (event.type === 'tool.approvalRequested') inMemory[command](session, event.callId);
    expect(told(suspended)).toEqual(told(await session.result));
    expect(suspended.counters.tree.sessions).toBe(sessions);
  });

  it('a cancelled invocation aborts the session and its sub-agent', async () => {
    const { result } = await waiting('cancelled', 'above', 2);
    const [row] = await service.rows("select id from sys_invocation where target_service_key = 'cancelled'");
    await service.server.admin('PATCH', `/invocations/${row?.id}/cancel`);
    const { status, counters } = await result;
    expect([status, counters.tree.sessions, counters.subAgents.helper?.slugs]).toEqual(['aborted', 2, { aborted: 1 }]);
  });

  it('D-2: itself, while its sub-agent works, and takes its result', async () => {
    const result = service.ran('working', 'above-worker', 'Go.');
    await expect.poll(() => states('working')).toEqual(['running', 'suspended']);
    work.resolve();
    assertInvariants(await result);
    expect((await result).counters.tools.helper).toMatchObject({ calls: 1, failed: 0 });
  });
});
