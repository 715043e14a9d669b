import { tool } from 'ai';
import { expect, it, vi } from 'vitest';
import { sessionMachine } from '../../machines/index.ts';
import { defineAgent } from '../../src/index.ts';
import { SessionEffects } from '../../src/session/effects/effects.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { everyStep, family } from '../support/engine-agents.ts';
import { brokenIn, done, each, lived, stepsOf } from '../support/engine-lives.ts';
import { inputSchema } from '../support/journaled.ts';
import { report } from '../support/session.ts';

vi.mock('@restatedev/restate-sdk', async (original) => {
  const { EnginePromise } = await import('../support/restate-attempt.ts');
  return { ...(await original<object>()), RestatePromise: EnginePromise, workflow: (definition: object) => definition };
});

type Guard = (...given: never[]) => boolean;
const { guards } = sessionMachine.implementations as unknown as { guards: { stopRequested: Guard } };
const { stopRequested } = guards;
/** Whether machines break when they are stopped. */
let breaks = () => true;
/** From now on, the first machine that is stopped breaks, and no other. */
function breakOnce() {
  let broken = 0;
  breaks = () => {
    broken += 1;
    return broken === 1;
  };
}
guards.stopRequested = (...given) => {
  if (breaks()) throw new Error('a defect');
  return stopRequested(...given);
};

it.each([
  ['a sub-agent', everyStep, 5],
  ['sub-agents that wait for their grants', () => family(3), 1],
] as const)(
  'S-3: machines with %s that break end it with one ERROR line, and no sub-agent outlives it',
  async (_, make, stride) => {
    const sessions = new Set<number>();
    for (const at of each(stride, await stepsOf(make))) {
      const one = await lived(make(), done('session.stop', at));
      const errors = one.lines.filter(({ level, sessionId }) => level === 50 && sessionId === 's');
      if (one.result.success) continue;
      // Broken machines answer no calls.
      expect(brokenIn(one).filter((sentence) => !sentence.startsWith('calls requested'))).toEqual([]);
      expect(one.result).toMatchObject({
        slugs: ['internal_error'],
        failure: { detail: expect.stringContaining('a defect') },
      });
      expect(errors).toMatchObject([{ event: 'session.failed' }]);
      sessions.add(one.result.counters.tree.sessions);
    }
    expect([...sessions].sort()).toEqual([1, 2]);
  },
);

it('S-3, T-7: a sub-agent that would run for hours is aborted when the machines above it break', async () => {
  let stop = () => {};
  const reasons: unknown[] = [];
  const hold = tool({
    inputSchema,
    execute: (_, { abortSignal }) =>
      new Promise<string>((_resolve, reject) => {
        abortSignal?.addEventListener('abort', () => {
          reasons.push(abortSignal.reason);
          reject(abortSignal.reason);
        });
        setImmediate(stop);
      }),
  });
  const task = { prompt: 'Help.', reason: 'It is long.' };
  const models = (name: string, input: object) => [rehearsalModel(() => ({ calls: [{ name, input }] }))];
  const helper = defineAgent({ name: 'helper', models: models('hold', {}), tools: { hold } });
  const agent = defineAgent({ name: 'above', models: models('helper', task), agents: { helper } });
  breakOnce();
  const one = await lived(
    { agent, effects: [], models: [] },
    {
      atStep: (_, { ask }) => {
        stop = () => ask({ type: 'session.stop' });
      },
    },
  );
  expect(one.engine.commands('s').filter((what) => what.includes('session.abort'))).toHaveLength(1);
  expect([reasons.length, one.engine.open('run')]).toEqual([1, []]);
  expect(one.result.slugs).toEqual(['internal_error']);
});

it('S-3: what the session itself does is aborted at once, not when its last sub-agent has ended', async () => {
  let stop = () => {};
  let open = () => [''];
  const openWhenAborted: string[][] = [];
  let holding = 0;
  const held = (whenAborted: () => void) =>
    tool({
      inputSchema,
      execute: (_, { abortSignal }) => {
        abortSignal?.addEventListener('abort', whenAborted);
        holding += 1;
        if (holding === 2) setImmediate(stop);
        return new Promise<string>(() => {});
      },
    });
  const own = held(() => openWhenAborted.push(open()));
  const task = { prompt: 'Help.', reason: 'It is long.' };
  const models = (...calls: { name: string; input: object }[]) => [rehearsalModel(() => ({ calls }))];
  const below = models({ name: 'hold', input: {} });
  const helper = defineAgent({ name: 'helper', models: below, tools: { hold: held(() => {}) } });
  const above = models({ name: 'helper', input: task }, { name: 'hold', input: {} });
  const agent = defineAgent({ name: 'above', models: above, tools: { hold: own }, agents: { helper } });
  breakOnce();
  const one = await lived(
    { agent, effects: [], models: [] },
    {
      atStep: (_, { ask, engine }) => {
        stop = () => ask({ type: 'session.stop' });
        open = () => engine.open('run');
      },
    },
  );
  expect(openWhenAborted).toEqual([['s', expect.stringMatching(/^s\//)]]);
  expect([one.engine.problems, one.engine.open('run'), one.result.slugs]).toEqual([[], [], ['internal_error']]);
});

it('S-3: an effect that breaks is a defect of its session, which says what broke', async () => {
  vi.spyOn(SessionEffects.prototype, 'perform').mockRejectedValueOnce(new Error('a defect of an effect'));
  const models = [rehearsalModel(() => report())];
  const agent = defineAgent({ name: 'plain', models });
  const one = await lived({ agent, effects: [], models });
  vi.restoreAllMocks();
  expect([brokenIn(one), one.result]).toMatchObject([
    [],
    { slugs: ['internal_error'], failure: { detail: expect.stringContaining('a defect of an effect') } },
  ]);
});
