/**
 * `node bench/peers.ts [MODE …]`: Pawl beside what a user would pick instead, all at their newest versions and installed
 * as a user installs them, by turns, each row in one run. Needs `npm run build`, and the npm registry. Part of
 * `npm run bench`.
 */
import { execFile, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { installPacked } from '../scripts/release/packed.ts';

const root = join(import.meta.dirname, '..');
const home = join(root, 'node_modules', '.cache', 'pawl-bench', 'peers');
const own = ['pawl', '@ai-sdk/openai-compatible', 'zod'];
const packages = {
  bare: ['@ai-sdk/openai-compatible', '@ai-sdk/provider', 'zod'],
  pi: ['@earendil-works/pi-agent-core', '@earendil-works/pi-ai'],
  'openai-agents': ['@openai/agents', 'openai'],
  langgraph: ['@langchain/langgraph', '@langchain/openai', '@langchain/core'],
  ai: ['ai'],
  pawl: ['ai'],
};
type Name = keyof typeof packages;
const names = Object.keys(packages) as Name[];

/** What is measured: how a row is headed, in which unit, and after how many processes of each peer. */
const rows: Record<string, { head: string; field: string; rounds: number }[]> = {
  warm: [
    { head: 'warm, 500 sessions at once, one model: ms of CPU a turn', field: 'cpuMs', rounds: 5 },
    { head: '… the loop is held, p50 ms', field: 'p50', rounds: 5 },
    { head: '… the loop is held, p99 ms', field: 'p99', rounds: 5 },
  ],
  'warm-own': [{ head: 'warm, a model for each session: ms of CPU a turn', field: 'cpuMs', rounds: 3 }],
  bytes: [{ head: 'KB allocated a turn, with 2 KB of text', field: 'kb', rounds: 1 }],
  'cold-50': [
    { head: 'cold, 50 turns in a new process: ms of CPU', field: 'run', rounds: 9 },
    { head: '… with its import', field: 'whole', rounds: 9 },
  ],
  waiting: [{ head: 'a session that waits for a reply, over the wire: KB', field: 'kb', rounds: 1 }],
  latency: [{ head: 'last byte of a reply to the start of its tool: ms', field: 'ms', rounds: 3 }],
};

/** Installs the newest versions, Pawl as it is packed. Returns the names of the peers with their versions. */
function installed(): Map<Name, string> {
  if (!existsSync(join(root, 'dist'))) execFileSync('npm', ['run', 'build', '--silent'], { cwd: root });
  const wanted = new Set([...own, ...Object.values(packages).flat()].filter((name) => name !== 'pawl'));
  installPacked(
    root,
    home,
    [...wanted].map((name) => `${name}@latest`),
  );
  const versionOf = (name: string): string =>
    JSON.parse(readFileSync(join(home, 'node_modules', name, 'package.json'), 'utf8')).version;
  return new Map(names.map((name) => [name, versionOf(name === 'pawl' ? 'pawl' : (packages[name][0] ?? ''))]));
}

type Measured = Record<string, number>;

async function measured(name: Name, mode: string): Promise<Measured> {
  // A server for each: what it keeps of one peer must not slow down the next.
  const server = fork(join(import.meta.dirname, 'server.ts'), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  try {
    const [line] = await once(server.stdout ?? process.stdin, 'data');
    const args = ['--expose-gc', join(home, `${name}.js`), mode, String(line).trim()];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: home, timeout: 120_000 });
    return JSON.parse(stdout);
  } finally {
    server.disconnect();
    await once(server, 'exit');
  }
}

const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;

export async function peersBench(quick: boolean, modes = Object.keys(rows)): Promise<void> {
  const versions = installed();
  const entryPoints = names.map((name) => join(import.meta.dirname, 'peers', `${name}.js`));
  await build({ entryPoints, outdir: home, bundle: true, packages: 'external', platform: 'node', format: 'esm' });
  process.stdout.write(`${[...versions].map(([name, version]) => `${name} ${version}`).join(', ')}\n`);
  for (const mode of modes) {
    const found = new Map<Name, Measured[]>(names.map((name) => [name, []]));
    const rounds = quick ? 1 : (rows[mode]?.[0]?.rounds ?? 1);
    for (let round = 0; round < rounds; round += 1)
      for (const name of names) found.get(name)?.push(await measured(name, mode));
    for (const { head, field } of rows[mode] ?? []) {
      const of = (name: Name) => median((found.get(name) ?? []).map((one) => one[field] ?? Number.NaN));
      const cells = names.map((name) => `${name} ${of(name).toPrecision(3)} (${(of(name) / of('bare')).toFixed(2)})`);
      process.stdout.write(`${head}: ${cells.join(', ')}\n`);
    }
  }
}

if (process.argv[1] === import.meta.filename) {
  const modes = process.argv.slice(2).filter((one) => one in rows);
  await peersBench(process.argv.includes('--quick'), modes.length === 0 ? undefined : modes);
}
