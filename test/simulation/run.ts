import { Choices, decisionsIn, shrunk, wordOf } from './choices.ts';
import { type Simulated, simulate } from './simulate.ts';

/** The totals of many simulated sessions. */
export type Tally = {
  sessions: number;
  steps: number;
  passedMs: number;
  statuses: Record<string, number>;
  troubles: Record<string, number>;
  failures: Failure[];
};

/** A session that broke a promise, shrunk to the fewest steps found. */
export type Failure = { seed: number; broken: string[]; word: string; transcript: readonly string[] };

/** Simulates sessions from seed to seed, every `stride`th, until `isOver` or one breaks a promise. */
export async function simulated(seed: number, stride: number, isOver: (sessions: number) => boolean): Promise<Tally> {
  const tally: Tally = { sessions: 0, steps: 0, passedMs: 0, statuses: {}, troubles: {}, failures: [] };
  const count = (counts: Record<string, number>, name: string, times = 1) => {
    counts[name] = (counts[name] ?? 0) + times;
  };
  for (let at = seed; !isOver(tally.sessions) && tally.failures.length === 0; at += stride) {
    const session = await simulate(Choices.ofSeed(at));
    tally.sessions += 1;
    tally.steps += session.steps;
    tally.passedMs += session.passedMs;
    count(tally.statuses, session.status ?? 'none');
    for (const [kind, times] of session.troubles) count(tally.troubles, kind, times);
    if (session.broken.length > 0) tally.failures.push(await explained(at, session));
  }
  return tally;
}

/** Repeats the session of a word, for a reader or a test. */
export function simulatedAgain(word: string): Promise<Simulated> {
  return simulate(Choices.of(decisionsIn(word)));
}

/** Finds a short session that breaks the same promise. */
async function explained(seed: number, { broken, decisions }: Simulated): Promise<Failure> {
  const kind = kindOf(broken);
  const fewest = await shrunk(decisions, async (fewer) => kindOf((await simulate(Choices.of(fewer))).broken) === kind);
  const word = wordOf(fewest);
  const shortest = await simulatedAgain(word);
  return { seed, broken: shortest.broken, word, transcript: shortest.transcript };
}

/** The promise that was broken first, without what is particular to a session. */
function kindOf([first = '']: readonly string[]): string {
  return first.replace(/[([:].*/s, '');
}

export function shown({ seed, broken, word, transcript }: Failure): string {
  return [
    `Seed ${seed} breaks: ${broken.join('; ')}`,
    ...transcript,
    `As a test: it('keeps its promises', () => keepsPromises('${word}'));`,
  ].join('\n');
}
