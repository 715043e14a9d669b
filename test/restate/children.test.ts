import { tool } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { inputSchema } from '../support/journaled.ts';
import { type OnRestate, onRestate } from '../support/on-restate.ts';
import { restateBinary } from '../support/restate.ts';
import { report } from '../support/session.ts';

describe.skipIf(restateBinary === null)('B-7: sub-agents on Restate are invocations', () => {
  let service: OnRestate;
  const charged: string[] = [];
  const isAnswered = (prompt: readonly { role: string }[]) => prompt.some(({ role }) => role === 'tool');
  const leaf = defineAgent({
    name: 'leaf',
    models: [
      rehearsalModel(({ prompt }) => {
        const task = JSON.stringify(prompt);
        if (isAnswered(prompt) || task.includes('report')) return report('Leaf.');
        return { calls: [{ name: task.includes('charge') ? 'charge' : 'hold' }] };
      }),
    ],
    tools: {
      charge: tool({ inputSchema, needsApproval: true, execute: () => void charged.push('charged') }),
      hold: tool({
        inputSchema,
        execute: (_, { abortSignal }) =>
          new Promise<string>((_resolve, reject) => {
            abortSignal?.addEventListener('abort', () => reject(abortSignal.reason));
          }),
      }),
    },
    limits: { toolTimeoutMs: 1_000 },
  });
  const branch = defineAgent({
    name: 'branch',
    models: [
      rehearsalModel(({ prompt }) =>
        isAnswered(prompt)
          ? report('Branch.')
          : { calls: [{ name: 'leaf', input: { prompt: 'Please report.', reason: 'It is deep.' } }] },
      ),
    ],
    agents: { leaf },
  });
  /** Gives its task to as many of its sub-agents as it names. */
  const root = defineAgent({
    name: 'root',
    models: [
      rehearsalModel(({ prompt }) => {
        if (isAnswered(prompt)) return report('Root.');
        const [task = ''] = prompt.flatMap(({ role, content }) => (role === 'user' ? JSON.stringify(content) : []));
        const names = task.includes('both') ? ['branch', 'branch', 'leaf'] : ['leaf'];
        const asked = task.includes('both')
          ? 'Please report.'
          : task.includes('charge')
            ? 'Please charge.'
            : 'Please hold.';
        return { calls: names.map((name) => ({ name, input: { prompt: asked, reason: 'Two are faster.' } })) };
      }),
    ],
    agents: { branch, leaf },
    limits: { maxTreeRequests: 40 },
  });

  beforeAll(async () => {
    service = await onRestate([root]);
  });
  afterAll(() => service?.stop());

  const childOf = async (id: string, type: 'tool.started' | 'tool.approvalRequested') => {
    for (;;) {
      const event = service.events.find((one) => one.sessionId.startsWith(`${id}/`) && one.type === type);
      if (event !== undefined) return event;
      await new Promise(setImmediate);
    }
  };

  it('several in parallel, two levels deep, share one budget', async () => {
    const result = await service.ran('family', 'root', 'Use both.');
    assertInvariants(result);
    expect(result.report.content).toBe('Root.');
    expect(result.counters.tree).toMatchObject({ sessions: 6, requests: 9 });
    const calls = result.turns[0]?.attempts[0]?.calls ?? [];
    expect(calls.map(({ slug, output }) => [slug, output.type === 'text' && output.value])).toEqual([
      [null, 'Branch.'],
      [null, 'Branch.'],
      [null, 'Leaf.'],
    ]);
    const rows = await service.rows("select id from sys_invocation where target_service_key like 'family%'");
    expect(rows).toHaveLength(6);
  });

  it('an approval for the sub-agent is accepted by the root session', async () => {
    const running = service.ran('approved', 'root', 'Please charge.');
    const asked = await childOf('approved', 'tool.approvalRequested');
    const callId = 'callId' in asked ? asked.callId : '';
    await service.ask('approved/message', { type: 'approve', callId, approved: true, reason: null, sessionId: null });
    expect((await running).report.content).toBe('Root.');
    expect(charged).toEqual(['charged']);
  });

  it('an abort reaches the sub-agent', async () => {
    const running = service.ran('aborted', 'root', 'Please hold.');
    await childOf('aborted', 'tool.started');
    await service.ask('aborted/message', { type: 'session.abort', reason: 'enough' });
    const result = await running;
    expect(result).toMatchObject({ status: 'aborted', counters: { toolCalls: { requested: 1, answered: 1 } } });
    const ended = () =>
      service.events.find(({ sessionId, type }) => sessionId.startsWith('aborted/') && type === 'session.aborted');
    while (ended() === undefined) await new Promise(setImmediate);
  });

  it('a stop reaches the sub-agent, which still reports', async () => {
    const running = service.ran('stopped', 'root', 'Please hold.');
    await childOf('stopped', 'tool.started');
    await service.ask('stopped/message', { type: 'session.stop' });
    const result = await running;
    assertInvariants(result);
    const child = service.events.filter(({ sessionId }) => sessionId.startsWith('stopped/')).map(({ type }) => type);
    expect(child).toContain('session.stopping');
    expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({ output: { value: 'Leaf.' } });
  });

  it('an invocation that fails is answered', async () => {
    const running = service.ran('killed', 'root', 'Please hold.');
    await childOf('killed', 'tool.started');
    const [row] = await service.rows(
      "select id from sys_invocation where target_service_key like 'killed/%' and status <> 'completed'",
    );
    await service.server.admin('PATCH', `/invocations/${row?.id}/kill`);
    const result = await running;
    assertInvariants(result);
    expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({
      slug: 'tool_exec_failed',
      output: { value: expect.stringMatching(/^leaf gave no result: /) },
    });
    expect(result.success).toBe(true);
  });
});
