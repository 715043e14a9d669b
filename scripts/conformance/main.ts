/**
 * `npm run conformance`: the official MCP conformance suite, against a session as client and an agent as server, in both
 * revisions. Writes `docs/conformance.md`. Fails if a check fails that applies.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ofClient, ofServer, whyNot } from './not-applicable.ts';

const suite = 'node_modules/@modelcontextprotocol/conformance';
const { version }: { version: string } = JSON.parse(readFileSync(join(suite, 'package.json'), 'utf8'));
const revisions = ['2025-11-25', '2026-07-28'];

type Check = { id: string; status: string; errorMessage?: string };
type Score = {
  role: string;
  revision: string;
  passed: number;
  scenarios: number;
  failed: string[];
  reasons: Map<string, Set<string>>;
};

/** Runs the scenarios that a revision requires, and reads what each of them checked. */
async function scored(role: 'client' | 'server', revision: string, target: readonly string[]): Promise<Score> {
  const results = mkdtempSync(join(tmpdir(), 'pawl-conformance-'));
  const asked = [...target, '--requirements', revision, '-o', results];
  // All clients run at once, on however few cores.
  const args = [join(suite, 'dist/index.js'), role, ...asked, ...(role === 'client' ? ['--timeout', '120000'] : [])];
  try {
    // Code 1: a scenario failed, perhaps one that does not apply.
    await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 28 }).catch((error) => {
      if (error.code !== 1) throw error;
    });
    const score: Score = { role, revision, passed: 0, scenarios: 0, failed: [], reasons: new Map() };
    for (const folder of readdirSync(results, { recursive: true, encoding: 'utf8' }).filter(isChecks))
      take(score, folder, JSON.parse(readFileSync(join(results, folder), 'utf8')));
    if (score.scenarios === 0) throw new Error(`the suite ran no scenario of ${revision} as ${role}`);
    return score;
  } finally {
    rmSync(results, { recursive: true });
  }
}

const isChecks = (path: string) => path.endsWith('checks.json');

function take(score: Score, path: string, checks: readonly Check[]): void {
  const scenario = path.replace(/^(server-)?(.*?)-\d{4}-\d\d-\d\dT.*$/s, '$2').replace(/^auth-/, 'auth/');
  const reasons = score.role === 'client' ? ofClient : ofServer;
  score.scenarios += 1;
  for (const { id, status, errorMessage = '' } of checks) {
    if (status === 'SUCCESS') score.passed += 1;
    if (status !== 'FAILURE') continue;
    const why = whyNot(reasons, scenario, id);
    if (why === undefined) score.failed.push(`${scenario}: ${id}: ${errorMessage}`);
    else score.reasons.set(why, (score.reasons.get(why) ?? new Set()).add(scenario));
  }
}

/** Starts the server and returns it with its address. */
async function started(): Promise<[ChildProcess, string]> {
  const server = spawn(process.execPath, ['--no-warnings', 'scripts/conformance/server.ts'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(server.stdout, 'data');
  return [server, String(line).trim()];
}

// The clients are many: they load the built package, which is quicker.
execFileSync('npm', ['run', 'build'], { stdio: ['ignore', 'ignore', 'inherit'] });
const scores: Score[] = [];
const command = `${process.execPath} --no-warnings ${resolve('scripts/conformance/client.ts')}`;
for (const revision of revisions) scores.push(await scored('client', revision, ['--command', command]));
const [server, url] = await started();
try {
  for (const revision of revisions) scores.push(await scored('server', revision, ['--url', url]));
} finally {
  server.kill();
  await once(server, 'exit');
}
for (const { role, revision, passed, scenarios, failed } of scores) {
  process.stdout.write(
    `${role} ${revision}: ${scenarios} scenarios, ${passed} checks passed, ${failed.length} failed\n`,
  );
  for (const line of failed) process.stdout.write(`  ${line}\n`);
}
const row = ({ role, revision, scenarios, passed, failed, reasons }: Score) => {
  const out = new Set([...reasons.values()].flatMap((names) => [...names])).size;
  return `| ${role} | ${revision} | ${scenarios} | ${out} | ${passed} | ${failed.length} |`;
};
const why = new Map<string, Set<string>>();
for (const { reasons } of scores)
  for (const [reason, names] of reasons) why.set(reason, new Set([...(why.get(reason) ?? []), ...names]));
/** Breaks a paragraph into lines of at most 120 characters. */
function wrapped(text: string, indent = ''): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < 120) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(line === undefined ? word : `${indent}${word}`);
  }
  return lines.join('\n');
}
const list = ([reason, names]: [string, Set<string>]) => {
  const listed = [...names].sort().map((name) => `\`${name}\``);
  return wrapped(`- ${reason[0]?.toUpperCase()}${reason.slice(1)}: ${listed.join(', ')}.`, '  ');
};
const about = `\`npm run conformance\` runs MCP's official suite, \`@modelcontextprotocol/conformance\` ${version}, and writes this page. As client, a session calls the tools that the suite's servers offer; as server, an agent is asked. Each revision's own scenarios run as that revision is spoken.`;
const page = `# Conformance

${wrapped(about)}

| as | revision | scenarios | of them do not apply, in part or as a whole | checks passed | checks failed that apply |
| -- | -------- | --------- | ------------------------------------------- | ------------- | ------------------------ |
${scores.map(row).join('\n')}

## What does not apply

${[...why].map(list).join('\n')}
`;
writeFileSync('docs/conformance.md', page);
await promisify(execFile)(process.execPath, [
  'node_modules/@biomejs/biome/bin/biome',
  'format',
  '--write',
  'docs/conformance.md',
]);
process.exit(scores.some(({ failed }) => failed.length > 0) ? 1 : 0);
