import { tool } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema } from '../support/journaled.ts';
import { type OnRestate, onRestate } from '../support/on-restate.ts';
import { restateBinary } from '../support/restate.ts';
import { restateLives } from '../support/restate-lives.ts';
import { report } from '../support/session.ts';

if (restateBinary === null) process.stderr.write('No Restate server for this platform: its tests are skipped.\n');

describe.skipIf(restateBinary === null)('D-1, D-3, D-4: sessions on Restate', () => {
  let service: OnRestate;
  const charged: string[] = [];
  /** Calls the tool that the task names, then reports. */
  const model = rehearsalModel(({ prompt }) => {
    const task = JSON.stringify(prompt.find(({ role }) => role === 'user'));
    if (prompt.some(({ role }) => role === 'tool')) return report('Done.');
    if (task.includes('fail')) return {};
    const name = ['charge', 'hold', 'flood', 'locate'].find((one) => task.includes(one));
    return name === undefined ? report('Done.') : { calls: [{ name }] };
  });
  const hold = tool({
    inputSchema,
    execute: (_, { abortSignal }) =>
      new Promise<string>((_resolve, reject) => {
        abortSignal?.addEventListener('abort', () => reject(abortSignal.reason));
      }),
  });
  const agent = defineAgent({
    name: 'lent',
    models: [model],
    tools: {
      charge: tool({ inputSchema, needsApproval: true, execute: () => void charged.push('charged') }),
      hold,
      locate: tool({ inputSchema }),
      flood: tool({ inputSchema, execute: () => 'x'.repeat(40 * 2 ** 20) }),
    },
    limits: { maxTurns: 3, maxRetries: 2, keptResultBytes: 2 ** 30 },
  });
  const limits = { approvalTimeoutMs: 300, clientToolTimeoutMs: 300 };
  const impatient = defineAgent({ ...agent.definition, name: 'impatient', limits });

  const queue = { inFlight: 0, most: 0 };
  const narrow = rehearsalModel(async ({ prompt }) => {
    queue.inFlight += 1;
    queue.most = Math.max(queue.most, queue.inFlight);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    queue.inFlight -= 1;
    return prompt.some(({ role }) => role === 'tool') ? report('Done.') : { calls: [{ name: 'charge' }] };
  });
  const gate = { name: 'account', journal: new MemoryJournal() };
  const gated = defineAgent({
    name: 'gated',
    models: [{ model: narrow, limits: { concurrency: 2 }, gate }],
    tools: { charge: tool({ inputSchema, execute: () => 'charged' }) },
  });

  beforeAll(async () => {
    service = await onRestate([agent, impatient, gated]);
  });
  afterAll(() => service?.stop());

  it('a session runs, and its result equals that in memory', async () => {
    const result = await service.ran('plain', 'lent', 'Go.');
    assertInvariants(result);
    expect(result).toMatchObject({ sessionId: 'plain', success: true, report: { content: 'Done.' } });
    expect(result.counters).toMatchObject({ requests: 1, attempts: 1, turns: 1 });
  });

  it('P-7g: asks the gate that processes share before each request', async () => {
    const ids = ['gate-1', 'gate-2', 'gate-3', 'gate-4', 'gate-5'];
    const all = await Promise.all(ids.map((id) => service.ran(id, 'gated', 'Go.')));
    for (const result of all) assertInvariants(result);
    expect(all.map(({ status, counters }) => [status, counters.admissions])).toEqual(ids.map(() => ['succeeded', 2]));
    expect(queue.most).toBe(2);
  });

  it.each([
    [
      'bad-1/run',
      { agent: 'unknown', prompt: 'Go.' },
      404,
      'Unknown agent \\"unknown\\". Agents: lent, impatient, gated.',
    ],
    ['bad-2/run', { agent: 'lent', prompt: '  ' }, 400, '`prompt` must be a string that is not blank'],
    ['bad-3/run', { agent: 'lent', prompt: 'Go.', promt: 1 }, 400, 'promt'],
    ['bad-4/run', { agent: 'lent', prompt: 'Go.', budget: { requests: 0 } }, 400, 'budget.requests'],
    ['bad-5/message', { type: 'session.steer' }, 400, 'message.text'],
    ['bad-6/run', { agent: 'lent', prompt: 'x'.repeat(31 * 2 ** 20) }, 413, 'Restate stores at most 31,457,280'],
  ])('bad input ends %s with an error', async (path, body, status, why) => {
    const refused = await service.ask(path, body);
    expect([refused.status, await refused.text()]).toEqual([status, expect.stringContaining(why)]);
  });

  it('bad options throw', () => {
    expect(() => restateAgents({ agents: [] })).toThrow('`options.agents` must be at least one agent');
    expect(() => restateAgents({ agents: [agent, agent] })).toThrow('must have distinct names; got "lent" twice');
    expect(() => restateAgents({ agents: [agent], nam: 'x' } as object as { agents: [] })).toThrow('nam');
  });

  it('a session that fails has its WARN lines and its one ERROR line', async () => {
    const result = await service.ran('failing', 'lent', 'Please fail.');
    expect(result).toMatchObject({ status: 'failed', counters: { requests: 2, failedAttempts: 2 } });
    const own = service.lines.filter(({ sessionId, level }) => sessionId === 'failing' && level >= 40);
    expect(own.map(({ level, event }) => [level, event])).toEqual([
      [40, 'attempt.failed'],
      [40, 'attempt.failed'],
      [50, 'session.failed'],
    ]);
  });

  it('C-1: a call of a client-side tool is answered by a message, or times out', async () => {
    const located = service.ran('located', 'lent', 'Please locate.');
    const handed = await service.told('located', 'tool.handedOut');
    const callId = 'callId' in handed ? String(handed.callId) : '';
    const output = { city: 'Bonn' };
    await service.ask('located/message', { type: 'answer', callId, output, isError: false, sessionId: null });
    const result = await located;
    expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({ slug: null, result: { value: output } });
    const late = await service.ran('unanswered', 'impatient', 'Please locate.');
    expect(late.turns[0]?.attempts[0]?.calls[0]).toMatchObject({ slug: 'tool_timeout', executed: true });
    expect([result.success, late.success]).toEqual([true, true]);
  });

  it('D-2: approvals, steering and aborts come from any process; none of many at once is lost', async () => {
    const approved = service.ran('approved', 'lent', 'Please charge.');
    const asked = await service.told('approved', 'tool.approvalRequested');
    const texts = Array.from({ length: 10 }, (_, index) => `Note ${index}.`);
    const answers = await Promise.all(
      texts.map((text) => service.ask('approved/message', { type: 'session.steer', text })),
    );
    expect(answers.map(({ ok }) => ok)).not.toContain(false);
    const callId = 'callId' in asked ? asked.callId : '';
    await service.ask('approved/message', { type: 'approve', callId, approved: true, reason: null, sessionId: null });
    const result = await approved;
    expect([result.success, charged]).toEqual([true, ['charged']]);
    for (const text of texts) expect(JSON.stringify(result.conversation)).toContain(text);
    const aborting = service.ran('aborted', 'lent', 'Please hold.');
    await service.told('aborted', 'tool.started');
    await service.ask('aborted/message', { type: 'session.abort', reason: 'enough' });
    const aborted = await aborting;
    expect(aborted).toMatchObject({ status: 'aborted', slugs: ['aborted'], counters: { toolCalls: { answered: 1 } } });
  });

  it('a wait is a durable sleep: an approval times out', async () => {
    const result = await service.ran('impatient', 'impatient', 'Please charge.');
    expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({ slug: 'approval_timeout', executed: false });
    const rows = await service.rows(
      "select entry_type from sys_journal where id = (select id from sys_invocation where target_service_key = 'impatient')",
    );
    expect(rows.map(({ entry_type }) => entry_type)).toContain('Command: Sleep');
  });

  it('a result that Restate cannot store is answered, and the session continues', async () => {
    const result = await service.ran('flooded', 'lent', 'Please flood.');
    assertInvariants(result);
    expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({ name: 'flood', slug: 'internal_error' });
    expect(result.success).toBe(true);
  });

  it('a cancelled invocation aborts its session, which still returns its result', async () => {
    const cancelled = service.ran('cancelled', 'lent', 'Please hold.');
    await service.told('cancelled', 'tool.started');
    const [row] = await service.rows(
      "select id from sys_invocation where target_service_key = 'cancelled' and status <> 'completed'",
    );
    await service.server.admin('PATCH', `/invocations/${row?.id}/cancel`);
    const result = await cancelled;
    expect(result.status).toBe('aborted');
    expect(result.counters.toolCalls).toMatchObject({ requested: 1, answered: 1 });
  });

  it('every kind of step, while the service and the server are killed', async () => {
    const { broken, result } = await restateLives({
      server: service.server,
      kills: [
        { afterMs: 150, what: 'service' },
        { afterMs: 100, what: 'server' },
        { afterMs: 200, what: 'service' },
      ],
    });
    expect(broken).toEqual([]);
    expect(result.counters.tree.sessions).toBe(2);
  });
});
