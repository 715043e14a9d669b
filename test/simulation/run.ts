import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Choices, decisionsIn, shrunk, wordOf } from './choices.ts';
import { Disk } from './disk.ts';
import { Processes } from './processes.ts';
import { type Simulated, simulate } from './simulate.ts';
import { Wire } from './wire.ts';

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
export type Failure = { seed: number; mode: Mode; broken: string[]; word: string; transcript: readonly string[] };

/** What is real: nothing, the HTTP server of the models, the file of the journal, or the processes of MCP servers. */
export const modes = ['memory', 'wire', 'disk', 'processes'] as const;
export type Mode = (typeof modes)[number];

/** Simulates sessions from seed to seed, every `stride`th, until `isOver` or one breaks a promise. */
export async function simulated(
  seed: number,
  stride: number,
  isOver: (sessions: number) => boolean,
  mode: Mode = 'memory',
): Promise<Tally> {
  return over(mode, (run) => tallied(run, mode, seed, stride, isOver));
}

type Run = (choices: Choices) => Promise<Simulated>;

/** Opens what a mode needs, and closes it after `act`. */
async function over<Value>(mode: Mode, act: (run: Run) => Promise<Value>): Promise<Value> {
  if (mode === 'memory') return act((choices) => simulate(choices));
  if (mode === 'disk') return act(onDisk);
  if (mode === 'processes') {
    const processes = await Processes.open();
    try {
      return await act((choices) => simulate(choices, { processes }));
    } finally {
      await processes.close();
    }
  }
  const wire = await Wire.open();
  try {
    return await act((choices) => simulate(choices, { wire }));
  } finally {
    await wire.close();
  }
}

/** In memory where there is such a folder: the failures of a disk are simulated, so nothing has to be flushed. */
const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

async function onDisk(choices: Choices): Promise<Simulated> {
  const disk = new Disk(mkdtempSync(join(folder, 'pawl-disk-')));
  try {
    return await simulate(choices, { disk });
  } finally {
    await disk.close();
  }
}

async function tallied(
  run: Run,
  mode: Mode,
  seed: number,
  stride: number,
  isOver: (sessions: number) => boolean,
): Promise<Tally> {
  const tally: Tally = { sessions: 0, steps: 0, passedMs: 0, statuses: {}, troubles: {}, failures: [] };
  const count = (counts: Record<string, number>, name: string, times = 1) => {
    counts[name] = (counts[name] ?? 0) + times;
  };
  for (let at = seed; !isOver(tally.sessions) && tally.failures.length === 0; at += stride) {
    const session = await run(Choices.ofSeed(at));
    tally.sessions += 1;
    tally.steps += session.steps;
    tally.passedMs += session.passedMs;
    count(tally.statuses, session.status ?? 'none');
    for (const [kind, times] of session.troubles) count(tally.troubles, kind, times);
    if (session.broken.length > 0) tally.failures.push(await explained(run, mode, at, session));
  }
  return tally;
}

/** Repeats the session of a seed or of a word, for a reader or a test. */
export function simulatedAgain(from: number | string, mode: Mode = 'memory'): Promise<Simulated> {
  return over(mode, (run) => run(typeof from === 'number' ? Choices.ofSeed(from) : Choices.of(decisionsIn(from))));
}

/** The most steps by which a session is shrunk: one without an end has thousands, and processes take their time. */
const mostShrinkingSteps = { memory: 60_000, wire: 60_000, disk: 60_000, processes: 200 };

/** Finds a short session that breaks the same promise. */
async function explained(run: Run, mode: Mode, seed: number, { broken, decisions }: Simulated): Promise<Failure> {
  const kind = kindOf(broken);
  let left = mostShrinkingSteps[mode];
  const fewest = await shrunk(decisions, async (fewer) => {
    if (left < 0) return false;
    const again = await run(Choices.of(fewer));
    left -= again.steps;
    return kindOf(again.broken) === kind;
  });
  const word = wordOf(fewest);
  const shortest = await run(Choices.of(decisionsIn(word)));
  // What depends on the time that real processes take may not break again.
  const again = shortest.broken.length === 0 ? broken.map((sentence) => `${sentence}, once`) : shortest.broken;
  return { seed, mode, broken: again, word, transcript: shortest.transcript };
}

/** The promise that was broken first, without what is particular to a session. */
function kindOf([first = '']: readonly string[]): string {
  return first.replace(/[([:].*/s, '');
}

export function shown({ seed, mode, broken, word, transcript }: Failure): string {
  return [
    `Seed ${seed} (${mode}) breaks: ${broken.join('; ')}`,
    ...transcript,
    `As a test: it('keeps its promises', () => keepsPromises('${word}', '${mode}'));`,
  ].join('\n');
}
