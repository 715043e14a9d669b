import { describe, expect, it, vi } from 'vitest';
import { everyStep, family, noting } from '../support/engine-agents.ts';
import { brokenIn, done, each, type Life, lived, type Rehearsed, stepsOf } from '../support/engine-lives.ts';

vi.mock('@restatedev/restate-sdk', async (original) => {
  const { EnginePromise } = await import('../support/restate-attempt.ts');
  return { ...(await original<object>()), RestatePromise: EnginePromise, workflow: (definition: object) => definition };
});

/** Lives one session after the other. Returns how they ended, and what they broke. */
async function livesOf(make: () => Rehearsed, lives: readonly (Life & { what: string })[]) {
  const ends = new Set<string>();
  const broken: string[] = [];
  for (const { what, ...life } of lives) {
    const one = await lived(make(), { ...life });
    ends.add(one.result.status);
    broken.push(...brokenIn(one).map((sentence) => `${what}: ${sentence}`));
  }
  return { ends: [...ends].sort(), broken };
}

describe('D-1, D-3, D-4, B-7: on Restate, whatever happens after whichever step', () => {
  it.each([
    ['every kind of step', everyStep, 1],
    ['sub-agents that share a budget', family, 3],
  ] as const)('a session with %s succeeds though its process dies', async (_, make, stride) => {
    const lives = each(stride, await stepsOf(make)).map((at) => ({
      what: `died after ${at}`,
      deaths: [at],
    }));
    expect(await livesOf(make, lives)).toEqual({ ends: ['succeeded'], broken: [] });
  });

  it.each([
    ['every kind of step', everyStep, 7],
    ['sub-agents that share a budget', family, 21],
  ] as const)('a session with %s succeeds though its process dies twice', async (_, make, stride) => {
    const lives = each(stride, await stepsOf(make)).flatMap((at) =>
      [1, 6, 17].map((gap) => ({ what: `died after ${at} and ${at + gap}`, deaths: [at, at + gap] })),
    );
    expect(await livesOf(make, lives)).toEqual({ ends: ['succeeded'], broken: [] });
  });

  it.each([
    ['cancelled', ['aborted', 'succeeded']],
    ['session.abort', ['aborted', 'succeeded']],
    ['session.stop', ['succeeded']],
    ['session.steer', ['succeeded']],
    // No wait begins after the deadline, not even for the report.
    ['late', ['failed', 'succeeded']],
  ] as const)('%s: the session ends with its result, and no sub-agent outlives it', async (how, ends) => {
    for (const [make, stride] of [
      [everyStep, 5],
      [family, 17],
    ] as const) {
      const steps = await stepsOf(make);
      const lives = each(stride, steps).flatMap((at) => [
        { what: `${how} after ${at}`, ...done(how, at) },
        { what: `${how} after ${at}, died after ${at + 5}`, deaths: [at + 5], ...done(how, at) },
      ]);
      const lived = await livesOf(make, lives);
      expect(lived.broken).toEqual([]);
      expect(ends).toEqual(expect.arrayContaining(lived.ends));
    }
  });

  it('a sub-agent that begins after a stop is stopped too', async () => {
    const orders = new Set<string>();
    for (const at of each(3, await stepsOf(everyStep))) {
      const { told } = await lived(everyStep(), done('session.stop', at));
      const types = ['session.stopping', 'subAgent.started'];
      const order = told
        .filter(({ type }) => types.includes(type))
        .map(({ type, sessionId }) => `${type} ${sessionId}`);
      if (order.includes('subAgent.started s')) orders.add(order.join(', '));
    }
    expect([...orders].sort()).toEqual([
      'session.stopping s, subAgent.started s, session.stopping s/call-6-0',
      'subAgent.started s',
      'subAgent.started s, session.stopping s',
      'subAgent.started s, session.stopping s, session.stopping s/call-6-0',
    ]);
  });

  it('after an abort, no sub-agent begins on a grant that another gave back', async () => {
    const narrow = () => family(3);
    for (const at of each(1, await stepsOf(narrow))) {
      const one = await lived(narrow(), done('session.abort', at));
      expect([brokenIn(one), one.result.counters.tree.sessions <= 2]).toEqual([[], true]);
    }
  });
});

it('T-6: an attempt that is over leaves no MCP server running', async () => {
  const processes = () => process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length;
  const before = processes();
  const steps = await stepsOf(noting);
  const { ends, broken } = await livesOf(
    noting,
    each(8, steps).map((at) => ({ what: `died after ${at}`, deaths: [at] })),
  );
  expect({ ends, broken }).toEqual({ ends: ['succeeded'], broken: [] });
  while (processes() > before) await new Promise(setImmediate);
});
