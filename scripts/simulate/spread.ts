import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { type Mode, modes, type Tally, type Way, ways } from '../../test/simulation/run.ts';

const program = 'scripts/simulate/sessions.ts';

/** Simulates sessions for `minutes`, a third of them each way, in two processes, each with every second seed. */
export async function simulatedFor(minutes: number, seed: number, mode: Mode): Promise<Tally> {
  const tallies: Tally[] = [];
  for (const way of ways) {
    const each = minutes / ways.length;
    tallies.push(...(await Promise.all([tallyOf(seed, each, mode, way), tallyOf(seed + 1, each, mode, way)])));
  }
  return tallies.reduce(together);
}

async function tallyOf(seed: number, minutes: number, mode: Mode, way: Way): Promise<Tally> {
  const args = ['--no-warnings', program, String(seed), '2', String(minutes), mode, way];
  // It exits with 1 when a promise was broken; what it found is on its output either way.
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 28 }).catch((error) => error);
  if (typeof stdout !== 'string' || stdout === '') throw new Error(`the simulation from seed ${seed} broke down`);
  return JSON.parse(stdout);
}

/** Simulates sessions with the code of a folder, for 15 s a mode. Returns the promise that was broken first. */
export function noticedBySimulation(folder: string): string[] {
  for (const mode of modes) {
    const noticed = noticedIn(folder, mode);
    if (noticed.length > 0) return noticed;
  }
  return [];
}

function noticedIn(folder: string, mode: Mode): string[] {
  const options = { cwd: folder, encoding: 'utf8', timeout: 120_000, killSignal: 'SIGKILL' } as const;
  // Sessions with processes take long.
  const minutes = mode === 'processes' ? '1' : '0.25';
  const ended = spawnSync(process.execPath, ['--no-warnings', program, '1', '1', minutes, mode], options);
  const { error, stdout, stderr } = ended;
  if (error !== undefined && 'code' in error && error.code === 'ETIMEDOUT') return ['the simulation never ends'];
  if (stdout === '') throw new Error(`the simulation broke down: ${stderr}`);
  const { failures, sessions }: Tally = JSON.parse(stdout);
  return failures.flatMap(({ broken }) =>
    broken[0] === undefined ? [] : [`${broken[0]} (session ${sessions}, ${mode})`],
  );
}

function together(one: Tally, other: Tally): Tally {
  return {
    sessions: one.sessions + other.sessions,
    steps: one.steps + other.steps,
    passedMs: one.passedMs + other.passedMs,
    statuses: added(one.statuses, other.statuses),
    troubles: added(one.troubles, other.troubles),
    failures: [...one.failures, ...other.failures],
  };
}

function added(one: Record<string, number>, other: Record<string, number>): Record<string, number> {
  const sum = { ...one };
  for (const [name, count] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

export function countsOf(counts: Record<string, number>): string {
  return Object.entries(counts)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
