import { tool } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Effect, Fact, Json } from '../../machines/index.ts';
import { secretsOf } from '../../src/agent/secrets.ts';
import { systemClock } from '../../src/host/clock.ts';
import type { MakeDriver, Perform } from '../../src/host/driver.ts';
import { memoryDriver } from '../../src/host/memory.ts';
import { type Agent, defineAgent, readBeforeWrite } from '../../src/index.ts';
import { Observer } from '../../src/observe/observer.ts';
import { SessionEffects } from '../../src/session/effects/effects.ts';
import { newHead } from '../../src/session/head.ts';
import { sessionInput } from '../../src/session/input.ts';
import { RunningSession } from '../../src/session/running-session.ts';
import type { SessionIdentity } from '../../src/session/wiring/identity.ts';
import { surroundingsOf } from '../../src/session/wiring/surroundings.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { keptLog, report } from '../support/session.ts';

const plain = <T extends Json>(value: T): T => JSON.parse(JSON.stringify(value));

/**
 * A driver that performs each effect as a newly started process would: with a copy of the request, folds rebuilt
 * from the `facts` so far, a fresh catalog, and tools that it opens first.
 */
function freshDriver(agent: Agent, facts: readonly Fact[], performed: string[]): MakeDriver {
  return (host, _perform, owner) => {
    const perform: Perform = async (effect, context) => {
      const observer = new Observer({
        sessionId: 'fresh',
        agent: agent.name,
        metadata: {},
        parentSessionId: null,
        secrets: [],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Go.' }] }],
        logger: keptLog().logger,
        onEvent: null,
        telemetry: null,
        context: undefined,
        slices: {},
        tools: new Map(),
        resultBytes: agent.limits.toolResultBytes,
        times: { deliveredAt: 0, now: () => 0 },
      });
      for (const fact of facts) observer.takeFact(fact);
      const secrets = secretsOf(agent.definition);
      const identity = {
        agent,
        head: { sessionId: 'fresh', prompt: 'Go.', input: sessionInput(agent, {}, 0) },
        contextFor: () => undefined,
        log: null,
        around: surroundingsOf({}),
        secrets,
      } as unknown as SessionIdentity;
      const fresh = new SessionEffects(identity, observer, null);
      if (effect.kind !== 'prepare') expect(await fresh.open(context.signal)).toBeNull();
      performed.push(effect.key);
      const copy: Effect = plain(effect);
      return plain(await fresh.perform(copy, context));
    };
    return memoryDriver(host, perform, owner);
  };
}

it('D-1: each effect can be performed in a fresh process: its request and the folds are all that it needs', async () => {
  const large = Array.from({ length: 400 }, (_, index) => `line ${index}`).join('\n');
  const written: unknown[] = [];
  const model = rehearsalModel(({ index, prompt }) => {
    const last = JSON.stringify(prompt.at(-1));
    switch (index) {
      case 0:
        return { calls: [{ name: 'write', input: { path: 'a' } }] };
      case 1:
        return { calls: [{ name: 'read', input: { path: ' a ' } }] };
      case 2:
        expect(last).toContain('read_result');
        return { calls: [{ name: 'read_result', input: { id: /id (r[\d_]+)/.exec(last)?.[1], page: 2 } }] };
      case 3:
        return { calls: [{ name: 'batch', input: { calls: [{ tool: 'write', input: { path: 'a' } }] } }] };
      default:
        return report('Done.');
    }
  });
  const inputSchema = z.object({ path: z.string().trim(), mode: z.string().default('safe') });
  const agent = defineAgent({
    name: 'fresh',
    instructions: async () => 'Be brief.',
    models: [model],
    tools: {
      read: tool({ inputSchema, execute: () => large }),
      write: tool({ inputSchema, execute: (input) => void written.push(input) }),
    },
    toolPolicies: [readBeforeWrite({ read: 'read', write: 'write' })],
    builtIns: { batch: true, readResult: true },
    limits: { toolResultBytes: 1_024 },
  });
  const performed: string[] = [];
  const facts: Fact[] = [];
  const { head } = newHead(agent, 'fresh', { prompt: 'Go.', clock: systemClock });
  const session = new RunningSession({
    agent,
    head,
    log: null,
    around: surroundingsOf({
      logger: keptLog().logger,
      // Facts as a journal reader gets them.
      onEvent: ({ sessionId: _, agent: __, at: ___, path: ____, ...fact }) => facts.push(plain(fact as Fact)),
    }),
    driver: freshDriver(agent, facts, performed),
  }).start();
  const result = await session.result;
  expect(result.success).toBe(true);
  const calls = result.turns.flatMap(({ attempts }) => attempts.flatMap(({ calls: all }) => all));
  expect(calls.map(({ name, executed, slug }) => [name, executed, slug])).toEqual([
    ['write', false, 'policy_denied'],
    ['read', true, null],
    ['read_result', true, null],
    ['batch', false, null],
    ['write', true, null],
    ['final_report', false, null],
  ]);
  expect(written).toEqual([{ path: 'a', mode: 'safe' }]);
  expect(calls[1]?.result.value).toBe(large);
  expect(performed).toEqual([
    'prepare',
    'turn-1/attempt-1/model',
    'turn-1/attempt-2/model',
    'turn-1/attempt-2/tool-0',
    'turn-2/attempt-1/model',
    'turn-2/attempt-1/tool-0',
    'turn-3/attempt-1/model',
    'turn-3/attempt-1/tool-1',
    'turn-4/attempt-1/model',
    'close',
  ]);
});

it.each(['backoff', 'deadline'] as const)(
  'D-4: a wait (%s) by a clock that was set back lasts no longer than it was meant to',
  async (kind) => {
    const clock = manualClock();
    const effects = Object.assign(Object.create(SessionEffects.prototype), {
      identity: { around: { clock } },
    }) as SessionEffects;
    const since = clock.now() + 3_600_000;
    const wait = { kind: 'wait', key: 'wait', request: { kind, dueAt: since + 50 } } as Effect;
    let isOver = false;
    const context = { key: 'wait', signal: new AbortController().signal, since };
    const waited = effects.perform(wait, context as never).then(() => {
      isOver = true;
    });
    clock.advance(49);
    await new Promise(setImmediate);
    expect(isOver).toBe(false);
    clock.advance(1);
    await waited;
  },
);
