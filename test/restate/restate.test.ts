import * as restate from '@restatedev/restate-sdk';
import { tool } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent, type SessionEvent, type SessionResult } from '../../src/index.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema } from '../support/journaled.ts';
import { freePort, type Restate, restateBinary, startRestate } from '../support/restate.ts';
import { restateLives } from '../support/restate-lives.ts';
import { keptLog, report } from '../support/session.ts';

if (restateBinary === null) process.stderr.write('No Restate server for this platform: its tests are skipped.\n');

describe.skipIf(restateBinary === null)('D-1, D-3, D-4: sessions on Restate', () => {
  const events: SessionEvent[] = [];
  const { lines, logger } = keptLog();
  let server: Restate;
  let port = 0;
  const charged: string[] = [];
  const held: { finish: () => void } = { finish: () => {} };
  const model = rehearsalModel(({ prompt }) => {
    const [task] = prompt.filter(({ role }) => role === 'user');
    const text = JSON.stringify(task);
    if (prompt.some(({ role }) => role === 'tool')) return report('Done.');
    if (text.includes('charge')) return { calls: [{ name: 'charge' }] };
    if (text.includes('hold')) return { calls: [{ name: 'hold' }] };
    return text.includes('fail') ? {} : report('Done.');
  });
  const agent = defineAgent({
    name: 'lent',
    models: [model],
    tools: {
      charge: tool({ inputSchema, needsApproval: true, execute: () => void charged.push('charged') }),
      hold: tool({
        inputSchema,
        execute: (_, { abortSignal }) =>
          new Promise<string>((resolve, reject) => {
            held.finish = () => resolve('held');
            abortSignal?.addEventListener('abort', () => reject(abortSignal.reason));
          }),
      }),
    },
    limits: { maxTurns: 3, maxRetries: 2 },
  });

  beforeAll(async () => {
    server = await startRestate(restateBinary ?? '');
    port = await freePort();
    await restate.serve({
      port,
      services: [restateAgents({ agents: [agent], logger, onEvent: (event) => void events.push(event) })],
    });
    await server.register(`http://127.0.0.1:${port}`);
  }, 60_000);
  afterAll(() => server?.stop());

  const ask = (path: string, body: object) =>
    fetch(`${server.ingress}/pawl/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const ran = async (id: string, prompt: string): Promise<SessionResult> => {
    const answer = await ask(`${id}/run`, { agent: 'lent', prompt });
    return JSON.parse(await answer.text());
  };
  const told = async (id: string, type: SessionEvent['type']) => {
    for (;;) {
      const event = events.find((one) => one.sessionId === id && one.type === type);
      if (event !== undefined) return event;
      await new Promise(setImmediate);
    }
  };

  it('a session runs, and its result is what it is in memory', async () => {
    const result = await ran('plain', 'Go.');
    assertInvariants(result);
    expect(result).toMatchObject({ sessionId: 'plain', success: true, report: { content: 'Done.' } });
    expect(result.counters).toMatchObject({ requests: 1, attempts: 1, turns: 1 });
    const answer = await ask('nobody/run', { agent: 'unknown', prompt: 'Go.' });
    expect([answer.ok, await answer.text()]).toEqual([false, expect.stringContaining('There is no agent unknown.')]);
    for (const [path, body, why] of [
      ['bad-1/run', { agent: 'lent', prompt: '  ' }, '`prompt` must be a string that is not blank'],
      ['bad-2/run', { agent: 'lent', prompt: 'Go.', promt: 1 }, 'promt'],
      ['bad-3/run', { agent: 'lent', prompt: 'Go.', budget: { requests: 0 } }, 'budget.requests'],
      ['bad-4/message', { type: 'session.steer' }, 'message.text'],
    ] as const) {
      const refused = await ask(path, body);
      expect([path, refused.status, await refused.text()]).toEqual([path, 400, expect.stringContaining(why)]);
    }
  });

  it('a session that fails has its WARN lines and its one ERROR line', async () => {
    const result = await ran('failing', 'Please fail.');
    expect(result).toMatchObject({ status: 'failed', counters: { requests: 2, failedAttempts: 2 } });
    const own = lines.filter(({ sessionId, level }) => sessionId === 'failing' && level >= 40);
    expect(own.map(({ level, event }) => [level, event])).toEqual([
      [40, 'attempt.failed'],
      [40, 'attempt.failed'],
      [50, 'session.failed'],
    ]);
  });

  it('D-2: approvals, steering and aborts come from any process', async () => {
    const approved = ran('approved', 'Please charge.');
    const asked = await told('approved', 'tool.approvalRequested');
    const callId = 'callId' in asked ? asked.callId : '';
    await ask('approved/message', { type: 'session.steer', text: 'Be quick.' });
    await ask('approved/message', { type: 'approve', callId, approved: true, reason: null, sessionId: null });
    const result = await approved;
    expect([result.success, charged]).toEqual([true, ['charged']]);
    expect(JSON.stringify(result.conversation)).toContain('Be quick.');
    const aborting = ran('aborted', 'Please hold.');
    await told('aborted', 'tool.started');
    await ask('aborted/message', { type: 'session.abort', reason: 'enough' });
    expect(await aborting).toMatchObject({
      status: 'aborted',
      slugs: ['aborted'],
      counters: { toolCalls: { answered: 1 } },
    });
  });

  it('a cancelled invocation aborts its session, which still gives its result', async () => {
    const cancelled = ran('cancelled', 'Please hold.');
    await told('cancelled', 'tool.started');
    const query = {
      query: "select id from sys_invocation where target_service_key = 'cancelled' and status <> 'completed'",
    };
    const { rows } = JSON.parse(await (await server.admin('POST', '/query', query)).text());
    await server.admin('PATCH', `/invocations/${rows[0].id}/cancel`);
    const result = await cancelled;
    expect(result.status).toBe('aborted');
    expect(result.counters.toolCalls).toMatchObject({ requested: 1, answered: 1 });
  });

  it('every kind of step, while the service and the server are killed', async () => {
    const { broken, result } = await restateLives({
      server,
      kills: [
        { afterMs: 150, what: 'service' },
        { afterMs: 100, what: 'server' },
        { afterMs: 200, what: 'service' },
      ],
    });
    expect(broken).toEqual([]);
    expect(result.counters.tree.sessions).toBe(2);
  }, 60_000);
});
