/**
 * `npm run simulate`: simulates sessions for `PAWL_MINUTES` (default: 1), a quarter of the time each in memory, with models
 * behind a real HTTP server, with a journal on a disk that loses power, and with MCP servers in real processes. Then it
 * kills processes at random points of their sessions (D-3, D-4). `PAWL_SEED=N npm run simulate` repeats one simulated
 * session in memory and shows it, with `PAWL_MODE` one of another mode: `wire`, `disk` or `processes`. In a third of the
 * sessions anything goes wrong, in a third only a random half of it, in a third nothing from some moment on;
 * `PAWL_WAY` repeats one of `swarm` or `calm`.
 */
import { modes, shown, simulatedAgain } from '../../test/simulation/run.ts';
import { chances, type Killed, killedLives } from '../../test/support/kills.ts';
import { postgresFolder, startPostgres } from '../../test/support/postgres.ts';
import { restateBinary, startRestate } from '../../test/support/restate.ts';
import { restateLives } from '../../test/support/restate-lives.ts';
import { modeOf, numberOf, seedOf, wayOf } from './number-of.ts';
import { countsOf, simulatedFor } from './spread.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);
const { PAWL_SEED, PAWL_MODE = 'memory', PAWL_WAY = 'any', PAWL_MINUTES = '1' } = process.env;
if (PAWL_SEED !== undefined) {
  const again = simulatedAgain(seedOf('PAWL_SEED', PAWL_SEED), modeOf(PAWL_MODE), wayOf(PAWL_WAY));
  const { transcript, broken } = await again;
  for (const line of [...transcript, broken.length === 0 ? 'Every promise was kept.' : broken.join('; ')]) say(line);
  process.exit(broken.length === 0 ? 0 : 1);
}

const minutes = numberOf('PAWL_MINUTES', PAWL_MINUTES, 0);
const seed = seedOf('the seed of the kills', process.argv[2] ?? '1');
const first = Math.floor(Math.random() * 2 ** 30);
let failed = false;
for (const mode of modes) {
  const tally = await simulatedFor(minutes / modes.length, first, mode);
  const { sessions: lived, steps, passedMs, statuses, troubles, failures } = tally;
  const days = (passedMs / 86_400_000).toFixed(1);
  say(`${lived} simulated sessions (${mode}) from seed ${first}, ${steps} steps, ${days} simulated days`);
  say(`  ended: ${countsOf(statuses)}`);
  say(`  troubles: ${countsOf(troubles)}`);
  for (const failure of failures) say(shown(failure));
  failed ||= failures.length > 0;
}

/** Runs `count` simulations, two at once. */
async function simulate(name: string, count: number, make: (index: number) => Killed): Promise<void> {
  const began = performance.now();
  const broken: string[] = [];
  let kills = 0;
  let interrupted = 0;
  const indexes = Array.from({ length: count }, (_, index) => index);
  const worker = async () => {
    for (let index = indexes.shift(); index !== undefined; index = indexes.shift()) {
      const parts = make(index);
      const lives = await killedLives(parts);
      kills += parts.kills;
      interrupted += lives.interrupted;
      broken.push(...lives.broken.map((what) => `${what} (${lives.folder})`));
    }
  };
  await Promise.all([worker(), worker()]);
  const seconds = Math.round((performance.now() - began) / 1_000);
  say(
    `${name}: ${count} runs, ${kills} kills, ${interrupted} effects interrupted, ${broken.length} promises broken, ${seconds} s`,
  );
  for (const what of broken) say(`  ${what}`);
  failed ||= broken.length > 0;
}

const sessions = (count: number) => Array.from({ length: count }, (_, index) => `s${index}`);

const { conversation: expected } = await killedLives({ kills: 0, lifeMs: 0, chance: chances(0) });
await simulate('SQLite, three kills in a row', 70, (index) => {
  return { kills: 3, lifeMs: 400, chance: chances(seed * 1_000 + index), expected };
});
for (const processes of [2, 3]) {
  await simulate(`SQLite, ${processes} processes that fight for 50 sessions`, 1, () => {
    return { ids: sessions(50), processes, kills: 8, lifeMs: 1_500, chance: chances(seed * 2_000 + processes) };
  });
}
if (postgresFolder === null) {
  say('PostgreSQL: skipped, since there is none (apt-get install postgresql).');
} else {
  const server = await startPostgres(postgresFolder);
  let made = 0;
  const postgres = (kills: number): Killed => {
    made += 1;
    return { where: server.url, ids: [`p${made}`], kills, lifeMs: 900, chance: chances(seed * 3_000 + made), expected };
  };
  await simulate('PostgreSQL, three kills in a row', 10, () => postgres(3));
  const restarted = async () => {
    await server.kill();
    await server.start();
  };
  for (let round = 0; round < 5; round += 1) {
    await simulate('PostgreSQL, its server crashes before each kill', 1, () => ({
      ...postgres(2),
      disturb: restarted,
    }));
  }
  await server.stop();
}
if (restateBinary === null) {
  say('Restate: skipped, since there is no server for this platform.');
} else {
  const server = await startRestate(restateBinary);
  const began = performance.now();
  const broken: string[] = [];
  let interrupted = 0;
  for (let run = 0; run < 12; run += 1) {
    const chance = chances(seed * 4_000 + run);
    const kill = (what: 'service' | 'server') => ({ afterMs: Math.floor(chance() * 300), what });
    const kills = [kill('service'), kill(run % 2 === 0 ? 'server' : 'service'), kill('service')];
    const lives = await restateLives({ server, kills });
    interrupted += lives.interrupted;
    broken.push(...lives.broken.map((what) => `${what} (${lives.folder})`));
  }
  await server.stop();
  const seconds = Math.round((performance.now() - began) / 1_000);
  say(
    `Restate: 12 runs, 30 kills of the service and 6 of the server, ${interrupted} effects interrupted, ${broken.length} promises broken, ${seconds} s`,
  );
  for (const what of broken) say(`  ${what}`);
  failed ||= broken.length > 0;
}
process.exitCode = failed ? 1 : 0;
