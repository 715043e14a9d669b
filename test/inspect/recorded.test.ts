import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Counters, Fact } from '../../machines/index.ts';
import { counterValues } from '../../src/inspect/recorded/counts.ts';
import { MicrostepReplay, partEnd } from '../../src/inspect/recorded/microstep-replay.ts';
import { ShownRecording } from '../../src/inspect/recorded/shown-recording.ts';
import { gaugeAt } from '../../src/inspect/study/gauge.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { anySession, scenario } from '../support/any-session.ts';
import { livesOf } from '../support/lives.ts';
import { factsOf } from '../support/replay.ts';
import { run } from '../support/session.ts';

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value));

/** Shows a session as a page does: from its entries alone, in parts of at most so many. */
function recordedOf(entries: readonly JournalEntry[], most = Number.POSITIVE_INFINITY): ShownRecording {
  const recorded = new ShownRecording();
  const replayer = new MicrostepReplay();
  const tape = plain(entries);
  for (let from = 0; from < tape.length; ) {
    const end = partEnd(tape, from, Math.min(most, tape.length));
    recorded.takePart(plain(replayer.play(tape.slice(from, end))));
    from = end;
  }
  return recorded;
}

const factsIn = ({ told }: ShownRecording, scope = ''): Fact[] =>
  told.flatMap((one) => (one.scope === scope && 'fact' in one ? [one.fact] : []));

describe('D-3: a page computes a session by running its machines over the entries', () => {
  it('the facts are those of the session, and so are its counters at every fact and the gauge at every frame', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, fc.integer({ min: 1, max: 40 }), async (given, most) => {
        const { agent, during } = anySession(given);
        const journal = new MemoryJournal();
        const live: Counters[] = [];
        const { result, events } = await run({
          agent,
          options: { journal },
          during: (event, session) => {
            if (factsOf([event]).length === 1) live.push(plain(session.counters));
            during(event, session);
          },
        });
        const recorded = recordedOf(await journal.read(result.sessionId), most);
        expect(recorded.difference).toBeNull();
        expect(factsIn(recorded)).toEqual(factsOf(events));
        // The first facts come while the session starts, before anybody can see its counters.
        const numbers = recorded.told.flatMap((one, index) => ('fact' in one ? [index + 1] : []));
        for (const [back, counters] of live.reverse().entries()) {
          const now = recorded.countersAt(numbers.at(-1 - back) ?? 0);
          for (const [path, value] of counterValues(counters))
            expect([path, now.has(path) ? now.get(path) : 0]).toEqual([path, value]);
        }
        const { maxTurns, maxRetries } = agent.limits;
        for (const [index, { facts }] of recorded.microsteps.entries()) {
          const gauge = gaugeAt(recorded, facts);
          expect(gauge.requests).toBe(recorded.countersAt(facts).get('requests') ?? 0);
          expect([gauge.bound, gauge.boxes.length]).toEqual([maxTurns * maxRetries, maxTurns * maxRetries]);
          expect(recorded.at(index).told).toBe(facts);
        }
        expect(recorded.microsteps.at(-1)?.facts).toBe(recorded.told.length);
        expect(recorded.microsteps.at(-1)?.states).toContain(`session.${result.status}`);
      }),
      { numRuns: 60 },
    );
  });

  it('in whatever parts they come', async () => {
    const { entries } = await livesOf([{ at: 20, when: 'after' }]);
    const whole = recordedOf(entries);
    for (const most of [1, 2, 7]) {
      const parted = recordedOf(entries, most);
      expect(parted.microsteps.map(({ facts: _, ...frame }) => frame)).toEqual(
        whole.microsteps.map(({ facts: _, ...frame }) => frame),
      );
      expect(parted.told).toEqual(whole.told);
      expect(parted.requests).toEqual(whole.requests);
      expect(parted.rows.root).toEqual(whole.rows.root);
    }
    expect(new Set(whole.microsteps.map(({ scope }) => scope)).size).toBe(2);
  });

  it('a tampered tape is reported at its first wrong fact', async () => {
    const { entries } = await livesOf([{ at: 20, when: 'after' }]);
    const tampered = plain(entries);
    const step = tampered.findIndex((entry) => JSON.stringify(entry).includes('"isLastTurn":false'));
    tampered[step] = JSON.parse(JSON.stringify(tampered[step]).replaceAll('"isLastTurn":false', '"isLastTurn":true'));
    const recorded = recordedOf(tampered);
    expect(recorded.difference).toMatchObject({ scope: '', entry: step + 1 });
    // What follows is told as it was recorded, without the steps of the machines.
    expect(recorded.told.map((one) => ('fact' in one ? one.fact.type : ''))).toEqual(
      recordedOf(entries).told.map((one) => ('fact' in one ? one.fact.type : '')),
    );
    expect(recorded.microsteps.every(({ entry }) => entry <= step + 1)).toBe(true);
    expect(recorded.entries).toBe(entries.length);
  });
});
