/**
 * `node bench/processes.ts`: the CPU of whole processes that run one session over the wire, by turns: a bare loop, the same
 * in XState's actors, Pawl, the AI SDK's own loop, and pi if it can be installed. Also a part of `npm run bench`; needs
 * `npm run build`.
 */
import { execFile, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';

const home = join(import.meta.dirname, '..', 'node_modules', '.cache', 'pawl-bench');
const piHome = join(home, 'pi');
const names = ['bare', 'xstate', 'pawl', 'ai', 'pi'] as const;
type Name = (typeof names)[number];

/** Pawl as it is published. */
const built: Plugin = {
  name: 'built',
  setup: ({ onResolve }) => {
    const path = join(import.meta.dirname, '..', 'dist', 'src', 'index.js');
    onResolve({ filter: /^pawl$/ }, () => ({ path, external: true }));
  },
};

/** Compiles the programs, as users do: Node's own way with TypeScript would count as their CPU. */
async function compiled(): Promise<void> {
  const entryPoints = Object.fromEntries(
    names.map((name) => [name === 'pi' ? 'pi/pi' : name, join(import.meta.dirname, 'programs', `${name}.ts`)]),
  );
  const format = { bundle: true, packages: 'external', platform: 'node', format: 'esm' } as const;
  await build({ entryPoints, outdir: home, ...format, plugins: [built] });
}

/** Installs pi where only its program finds it, for its packages hide some of Pawl's. Returns whether it is there. */
function hasPi(): boolean {
  mkdirSync(piHome, { recursive: true });
  writeFileSync(join(piHome, 'package.json'), '{"private":true,"type":"module"}');
  try {
    const packages = ['@mariozechner/pi-agent-core@0.73.1', '@mariozechner/pi-ai@0.73.1'];
    execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: piHome, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function cpuMs(name: Name, url: string, turns: number): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(name === 'pi' ? piHome : home, `${name}.js`),
    url,
    String(turns),
  ]);
  return Number(stdout);
}

const at = (values: readonly number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * share)] ?? Number.NaN;

export async function processesBench(quick: boolean): Promise<void> {
  const peers = hasPi() ? names : names.filter((name) => name !== 'pi');
  await compiled();
  const server = fork(join(import.meta.dirname, 'server.ts'), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const [line] = await once(server.stdout ?? process.stdin, 'data');
  const url = String(line).trim();
  for (const turns of [1, 2, 50, 300]) {
    const times: Record<Name, number[]> = { bare: [], xstate: [], pawl: [], ai: [], pi: [] };
    for (let round = 0; round < (quick ? 3 : 11); round += 1)
      for (const name of peers) times[name].push(await cpuMs(name, url, turns));
    const told = peers.map((name) => {
      const [median, least] = [at(times[name], 0.5), at(times[name], 0)];
      const ratios = `${(median / at(times.bare, 0.5)).toFixed(2)} x (least ${(least / at(times.bare, 0)).toFixed(2)})`;
      return `${name} ${median.toFixed(0)} ms${name === 'bare' ? '' : ` ${ratios}`}`;
    });
    process.stdout.write(`whole process over the wire, ${String(turns).padStart(3)} turns: ${told.join(', ')}\n`);
  }
  if (peers.length < names.length) process.stdout.write('pi could not be installed\n');
  server.disconnect();
  await once(server, 'exit');
}

if (process.argv[1] === import.meta.filename) await processesBench(process.argv.includes('--quick'));
