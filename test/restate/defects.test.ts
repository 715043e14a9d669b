import { expect, it, vi } from 'vitest';
import { sessionMachine } from '../../machines/index.ts';
import { everyStep, family } from '../support/engine-agents.ts';
import { brokenIn, done, each, lived, stepsOf } from '../support/engine-lives.ts';

vi.mock('@restatedev/restate-sdk', async (original) => {
  const { EnginePromise } = await import('../support/restate-attempt.ts');
  return { ...(await original<object>()), RestatePromise: EnginePromise, workflow: (definition: object) => definition };
});

it.each([
  ['a sub-agent', everyStep, 5],
  ['sub-agents that wait for their grants', () => family(3), 1],
] as const)(
  'S-3: machines with %s that break end it with one ERROR line, and no sub-agent outlives it',
  async (_, make, stride) => {
    const { guards } = sessionMachine.implementations as unknown as { guards: Record<string, unknown> };
    const { stopRequested } = guards;
    expect(typeof stopRequested).toBe('function');
    guards.stopRequested = () => {
      throw new Error('a defect');
    };
    try {
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
    } finally {
      guards.stopRequested = stopRequested;
    }
  },
);
