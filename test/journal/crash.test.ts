import { describe, expect, it } from 'vitest';
import type { Counters, SessionEvent } from '../../src/index.ts';
import { mayLeave } from '../support/leftovers.ts';
import { check, livesOf, wasInterrupted } from '../support/lives.ts';
import { counters } from '../support/session.ts';

// A process whose death is simulated leaves its timers.
mayLeave('Timeout');

const facts = (events: readonly SessionEvent[]) =>
  events.flatMap(({ seq: _, at: __, ...event }) =>
    /^(session\.resumed|model\.(delta|warned)|admission\.\w+)$/.test(event.type) ? [] : [event.type],
  );

/**
 * The counters without the time that tools took, which includes that between two lives, and without how often sessions asked
 * at a gate, which depends on those that live at once.
 */
const timeless = (counted: Counters): unknown =>
  JSON.parse(JSON.stringify(counted, (key, value) => (/^(durationMs|admissions)$/.test(key) ? 0 : value)));

describe('D-3, D-4, B-6: a session whose process dies at a write is resumed', async () => {
  const whole = await livesOf([]);

  it('a life without a crash', () => {
    check(whole);
    expect(whole.effects.toSorted()).toEqual([
      'charge once',
      'read both',
      'write both',
      'write by the helper',
      'write first',
      'write second',
    ]);
    const { counters: all } = whole.result;
    expect(all).toEqual(
      counters({
        turns: 5,
        attempts: 6,
        failedAttempts: 1,
        notices: 1,
        waits: 1,
        // It is told of its refusal if its sub-agent lives then, too.
        admissions: all.admissions,
        toolCalls: { requested: 8, answered: 8, executed: 6, succeeded: 6, acknowledged: 2 },
        reports: { attempted: 1 },
        tokens: all.tokens,
        costUsd: null,
        slugs: { rate_limited: 1 },
        subAgents: all.subAgents,
        tree: { sessions: 2, requests: 8, toolCalls: 10, tokens: all.tree.tokens },
      }),
    );
  });

  const both = ['before', 'after'] as const;
  // `npm run verify` tries both at each write.
  const moments = (at: number) => (process.env.PAWL_WALKS === 'all' ? both : [both[at % 2] ?? 'before']);

  it(`at each of its ${whole.writes} writes, before or after it is durable`, async () => {
    let interrupted = 0;
    for (let at = 1; at <= whole.writes; at += 1) {
      for (const when of moments(at)) {
        const lives = await livesOf([{ at, when }]);
        check(lives);
        if (wasInterrupted(lives)) {
          interrupted += 1;
          continue;
        }
        expect([at, when, lives.result.conversation]).toEqual([at, when, whole.result.conversation]);
        expect([at, when, timeless(lives.result.counters)]).toEqual([at, when, timeless(whole.result.counters)]);
        expect([at, when, facts(lives.told)]).toEqual([at, when, facts(whole.told)]);
      }
    }
    expect(interrupted).toBeGreaterThan(5);
  }, 120_000);

  it('several times in a row', async () => {
    let seed = 7;
    const below = (most: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % most;
    };
    for (let life = 0; life < 20; life += 1) {
      const deaths = Array.from({ length: 2 + below(4) }, () => {
        return { at: 1 + below(20), when: below(2) === 0 ? ('before' as const) : ('after' as const) };
      });
      check(await livesOf(deaths));
    }
  });
});
