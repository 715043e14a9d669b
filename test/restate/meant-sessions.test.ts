import { tool } from 'ai';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type Agent, defineAgent, type SessionEvent, type SessionResult } from '../../src/index.ts';
import type { SessionMessage } from '../../src/journal/journal.ts';
import { restateAgents } from '../../src/restate/restate-agents.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { until } from '../support/journaled.ts';
import { RestateEngine } from '../support/restate-engine.ts';
import { report } from '../support/session.ts';

vi.mock('@restatedev/restate-sdk', async (original) => {
  const { EnginePromise } = await import('../support/restate-attempt.ts');
  return { ...(await original<object>()), RestatePromise: EnginePromise, workflow: (definition: object) => definition };
});

const paid: string[] = [];
beforeEach(() => void paid.splice(0));

const pay = tool({
  inputSchema: z.object({ to: z.string() }),
  needsApproval: true,
  execute: ({ to }) => paid.push(to),
});
const locate = tool({ inputSchema: z.object({ to: z.string() }) });
type Call = { name: string; input: object; id: string };
const asking = (...calls: Call[]) =>
  rehearsalModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? report() : { calls }));
/** Two models may give their calls the same id. */
const payCall = (to: string, id = 'call_1') => ({ name: 'pay', input: { to }, id });
const helperOf = (name: string, call: Call) =>
  defineAgent({ name, models: [asking(call)], tools: { pay, locate }, limits: { clientToolTimeoutMs: null } });
const ada = helperOf('ada', payCall('ada'));
const eve = helperOf('eve', payCall('eve'));
const helped = (name: string) => ({ name, input: { prompt: 'Help.', reason: 'Long.' }, id: `of-${name}` });
const siblings = defineAgent({
  name: 'siblings',
  models: [asking(helped('ada'), helped('eve'))],
  agents: { ada, eve },
});
const family = defineAgent({
  name: 'family',
  models: [asking(payCall('root'), helped('ada'))],
  tools: { pay },
  agents: { ada },
});

const approve = (sessionId: string | null, callId = 'call_1'): SessionMessage => ({
  ...{ type: 'approve', approved: true, reason: null },
  ...{ callId, sessionId },
});
const answer = (sessionId: string | null): SessionMessage => ({
  ...{ type: 'answer', output: 'Bonn', isError: false },
  ...{ callId: 'call_1', sessionId },
});

/** Starts the session `s`, and resolves when this many calls wait in its tree. */
async function waiting(agent: Agent, calls: number) {
  const events: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => void events.push(event);
  const { handlers } = restateAgents({ agents: [agent], logger: false, onEvent }) as never as { handlers: never };
  const engine = new RestateEngine(handlers);
  const result = engine.returned('run', 's', { agent: agent.name, prompt: 'Go.' }) as Promise<SessionResult>;
  const isAsked = ({ type }: SessionEvent) => type === 'tool.approvalRequested' || type === 'tool.handedOut';
  await until(() => events.filter(isAsked).length === calls);
  return {
    result,
    say: (message: SessionMessage) => engine.returned('message', 's', message),
    sent: () => engine.commands('s').filter((what) => what.startsWith('send ')),
    /** Resolves when what was said has been passed on. */
    passedOn: () => until(() => engine.open('message').length === 0),
  };
}

describe('D-2: a decision for a call of an id that several sessions may wait for, on Restate', () => {
  it('reaches the sub-agent that it names, and no other', async () => {
    for (const [agent, calls] of [
      [siblings, 2],
      [family, 2],
    ] as const) {
      paid.splice(0);
      const { result, say } = await waiting(agent, calls);
      await say(approve('s/of-ada'));
      await until(() => paid.length > 0);
      await say({ type: 'session.abort', reason: 'enough' });
      assertInvariants(await result);
      expect(paid).toEqual(['ada']);
    }
  });

  it('reaches the session itself, if it names that', async () => {
    const { result, say } = await waiting(family, 2);
    await say(approve('s'));
    await until(() => paid.length > 0);
    await say({ type: 'session.abort', reason: 'enough' });
    assertInvariants(await result);
    expect(paid).toEqual(['root']);
  });

  it.each([
    ['two sub-agents may wait for it', siblings],
    ['the session waits for it, and its sub-agent may', family],
  ])('is dropped if it names none and %s', async (_, agent) => {
    const { result, say, passedOn, sent } = await waiting(agent, 2);
    for (const message of [approve(null), answer(null), approve('s/of-unknown'), approve('s/of-ada/x')])
      await say(message);
    await passedOn();
    // The last of them may be for a call below.
    expect(sent()).toEqual([expect.stringContaining('"sessionId":"s/of-ada/x"')]);
    await say({ type: 'session.abort', reason: 'enough' });
    const { status, counters } = await result;
    expect([status, counters.toolCalls.answered, paid]).toEqual(['aborted', 2, []]);
  });

  it('reaches the only sub-agent that runs without naming it, and one that it has called itself', async () => {
    const above = defineAgent({ name: 'above', models: [asking(helped('ada'))], agents: { ada } });
    const top = defineAgent({ name: 'top', models: [asking(helped('above'))], agents: { above } });
    for (const named of [null, 's/of-above/of-ada']) {
      paid.splice(0);
      const { result, say } = await waiting(top, 1);
      await say(approve(named));
      expect((await result).success).toBe(true);
      expect(paid).toEqual(['ada']);
    }
  });

  it('an answer of a client, too', async () => {
    const located = helperOf('located', { name: 'locate', input: { to: 'me' }, id: 'call_1' });
    const agent = defineAgent({
      name: 'both',
      models: [asking(helped('located'), { ...helped('located'), id: 'of-other' })],
      agents: { located },
    });
    const { result, say } = await waiting(agent, 2);
    await say(answer(null));
    await say(answer('s/of-other'));
    await say(answer('s/of-located'));
    expect((await result).success).toBe(true);
  });
});
