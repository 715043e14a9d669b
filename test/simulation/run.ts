import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Choices, type Conditions, decisionsIn, shrunk, wordOf } from './choices.ts';
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

/** A session that broke a promise, shrunk to the fewest steps found. `options`: what its agent is made of, on one line. */
export type Failure = {
  seed: number;
  mode: Mode;
  broken: string[];
  word: string;
  options: string;
  transcript: readonly string[];
};

/** What is real: nothing, the HTTP server of the models, the file of the journal, or the processes of MCP servers. */
export const modes = ['memory', 'wire', 'disk', 'processes'] as const;
export type Mode = (typeof modes)[number];

/**
 * What may go wrong in a session: anything; a random half of everything, so that what is left meets more often; or anything
 * until a moment, after which nothing does, and the session has to come to an end.
 */
export const ways = ['any', 'swarm', 'calm'] as const;
export type Way = (typeof ways)[number];

function conditionsOf(way: Way, seed: number): Conditions {
  if (way === 'any') return {};
  return way === 'swarm' ? { swarm: seed } : { calmAfter: 10 + ((seed * 37) % 140) };
}

/** Simulates sessions from seed to seed, every `stride`th, until `isOver` or one breaks a promise. */
export async function simulated(
  seed: number,
  stride: number,
  isOver: (sessions: number) => boolean,
  mode: Mode = 'memory',
  way: Way = 'any',
): Promise<Tally> {
  return over(mode, (run) => tallied(run, mode, way, seed, stride, isOver));
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
  way: Way,
  seed: number,
  stride: number,
  isOver: (sessions: number) => boolean,
): Promise<Tally> {
  const tally: Tally = { sessions: 0, steps: 0, passedMs: 0, statuses: {}, troubles: {}, failures: [] };
  const count = (counts: Record<string, number>, name: string, times = 1) => {
    counts[name] = (counts[name] ?? 0) + times;
  };
  for (let at = seed; !isOver(tally.sessions) && tally.failures.length === 0; at += stride) {
    const conditions = conditionsOf(way, at);
    const session = await run(Choices.ofSeed(at, conditions));
    tally.sessions += 1;
    tally.steps += session.steps;
    tally.passedMs += session.passedMs;
    count(tally.statuses, session.status ?? 'none');
    for (const [kind, times] of session.troubles) count(tally.troubles, kind, times);
    if (session.broken.length > 0) tally.failures.push(await explained(run, mode, at, conditions, session));
  }
  return tally;
}

/** Repeats the session of a seed or of a word, for a reader or a test. */
export function simulatedAgain(from: number | string, mode: Mode = 'memory', way: Way = 'any'): Promise<Simulated> {
  const choices = typeof from === 'number' ? Choices.ofSeed(from, conditionsOf(way, from)) : choicesIn(from);
  return over(mode, (run) => run(choices));
}

/** A word begins with the conditions of its run, if it has any: `swarm-7/1.0.3`, `calm-120/1.0.3`. */
function wordWith({ swarm, calmAfter }: Conditions, decisions: readonly number[]): string {
  const head = swarm !== undefined ? `swarm-${swarm}/` : calmAfter !== undefined ? `calm-${calmAfter}/` : '';
  return `${head}${wordOf(decisions)}`;
}

function choicesIn(word: string): Choices {
  const [, way, number = '', decisions = word] = /^(swarm|calm)-(\d+)\/(.*)$/.exec(word) ?? [];
  const conditions = way === 'swarm' ? { swarm: Number(number) } : way === 'calm' ? { calmAfter: Number(number) } : {};
  return Choices.of(decisionsIn(decisions), conditions);
}

/** The most steps by which a session is shrunk: one without an end has thousands, and processes take their time. */
const mostShrinkingSteps = { memory: 60_000, wire: 60_000, disk: 60_000, processes: 200 };

/** Finds a short session that breaks the same promise. */
async function explained(
  run: Run,
  mode: Mode,
  seed: number,
  conditions: Conditions,
  { broken, decisions }: Simulated,
): Promise<Failure> {
  const kind = kindOf(broken);
  let left = mostShrinkingSteps[mode];
  const fewest = await shrunk(decisions, async (fewer) => {
    if (left < 0) return false;
    const again = await run(Choices.of(fewer, conditions));
    left -= again.steps;
    return kindOf(again.broken) === kind;
  });
  const word = wordWith(conditions, fewest);
  const shortest = await run(choicesIn(word));
  // What depends on the time that real processes take may not break again.
  const again = shortest.broken.length === 0 ? broken.map((sentence) => `${sentence}, once`) : shortest.broken;
  const { transcript, plan } = shortest;
  return { seed, mode, broken: again, word, options: JSON.stringify({ ...plan, ...conditions }), transcript };
}

/** The promise that was broken first, without what is particular to a session. */
function kindOf([first = '']: readonly string[]): string {
  return first.replace(/[([:].*/s, '');
}

export function shown({ seed, mode, broken, word, options, transcript }: Failure): string {
  return [
    `Seed ${seed} (${mode}) breaks: ${broken.join('; ')}`,
    `Its options: ${options}`,
    ...transcript,
    `As a test: it('keeps its promises', () => keepsPromises('${word}', '${mode}'));`,
  ].join('\n');
}
