/**
 * `npm run compare`: the torture suite on the loops of `examples/torture`, each at its newest version and installed as a
 * user installs it, set up for a task that must be done and at its defaults. Writes docs/comparison.md. Needs the npm registry
 * and about a quarter of an hour. `npm run compare -- --tasks bank` takes only those tasks, and writes to the terminal.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type TortureOptions, type TortureReport, torture } from '../../src/torture/index.ts';
import { installPacked } from '../release/packed.ts';

const root = join(import.meta.dirname, '../..');
const home = join(root, 'node_modules', '.cache', 'pawl-compare');
const sdks = ['@ai-sdk/openai-compatible', '@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/google'];
const newer = ['openai-responses', 'anthropic', 'gemini'] as const;
/** `speaks`: the wires besides chat completions that its program is set up for. */
const loops = {
  pawl: { name: 'Pawl', packages: ['pawl', 'ai', ...sdks, 'zod'], speaks: newer },
  'ai-sdk': { name: 'AI SDK', packages: ['ai'], speaks: newer },
  'openai-agents': { name: 'OpenAI Agents', packages: ['@openai/agents', 'openai'], speaks: ['openai-responses'] },
  langgraph: {
    name: 'LangChain',
    packages: ['langchain', '@langchain/langgraph', '@langchain/openai', '@langchain/core'],
    speaks: ['openai-responses'],
  },
  pi: { name: 'pi', packages: ['@earendil-works/pi-agent-core', '@earendil-works/pi-ai'], speaks: newer },
  mastra: { name: 'Mastra', packages: ['@mastra/core'], speaks: newer },
} as const;
type Loop = keyof typeof loops;
const names = Object.keys(loops) as Loop[];

const { values } = parseArgs({ options: { tasks: { type: 'string' }, seed: { type: 'string', default: '1' } } });

/** Installs the newest versions, Pawl as it is packed. Returns each loop's version. */
function installed(): Map<Loop, string> {
  execFileSync('npm', ['run', 'build', '--silent'], { cwd: root });
  const wanted = new Set<string>(names.flatMap((name) => [...loops[name].packages]));
  wanted.delete('pawl');
  installPacked(
    root,
    home,
    [...wanted].map((name) => `${name}@latest`),
  );
  cpSync(join(root, 'examples/torture'), home, { recursive: true });
  const versionOf = (name: string): string => {
    const file = join(home, 'node_modules', name, 'package.json');
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : 'not installed';
  };
  return new Map(names.map((name) => [name, versionOf(loops[name].packages[0])]));
}

const some = values.tasks === undefined ? {} : { tasks: values.tasks.split(',') };

async function reportOf(name: Loop, more: Partial<TortureOptions>): Promise<TortureReport> {
  const command = [process.execPath, join(home, `${name}.js`)];
  const report = await torture({ command, seed: values.seed, ...some, ...more });
  const totals = Object.entries(report.totals).flatMap(([judgement, count]) =>
    count === 0 ? [] : `${count} ${judgement}`,
  );
  process.stderr.write(`${name} ${JSON.stringify(more)}: ${totals.join(', ')}\n`);
  return report;
}

const table = (head: string[], rows: (string | number)[][]) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

const judgementsOf = ({ totals: { right, failed, claimed, twice, exceeded, hung } }: TortureReport) => [
  ...[right, failed, claimed, twice, exceeded, hung],
];
const judgementHeads = ['right', 'said it failed', 'claimed, not done', 'did it twice', 'beyond its bound', 'hung'];
const percent = (part: number, whole: number) => `${Math.round((100 * part) / Math.max(1, whole))} %`;

const versions = installed();
const bySettings: (string | number)[][] = [];
const killed = { request: [] as (string | number)[][], effect: [] as (string | number)[][] };
const onWires: (string | number)[][] = [];
const faults = new Map<string, Map<string, number>>();
let tasks = 0;
for (const name of names) {
  const label = `${loops[name].name} ${versions.get(name)}`;
  for (const settings of ['best', 'defaults']) {
    const control = await reportOf(name, { settings, rate: 0, ...(values.tasks === undefined && { tasks: ['bank'] }) });
    if (control.totals.right < control.tasks.length)
      throw new Error(`${name} (${settings}) does not pass the control: it is not set up right`);
    const report = await reportOf(name, { settings });
    tasks = report.tasks.length;
    const { sent, cached, requests } = report;
    const passed = `${control.totals.right} of ${control.tasks.length}`;
    bySettings.push([label, settings, passed, ...judgementsOf(report), requests, percent(cached, sent)]);
    // What one bad reply was enough for: the last fault of a task that went wrong.
    for (const { judgement, faults: met } of report.tasks) {
      const last = met.at(-1)?.split(': ')[1];
      if (judgement === 'right' || last === undefined) continue;
      const counts = faults.get(last) ?? new Map<string, number>();
      faults.set(last, counts.set(`${name} ${settings}`, (counts.get(`${name} ${settings}`) ?? 0) + 1));
    }
  }
  for (const wire of loops[name].speaks) {
    const report = await reportOf(name, { settings: 'defaults', wire });
    onWires.push([label, wire, ...judgementsOf(report), report.requests]);
  }
  for (const kills of ['request', 'effect'] as const) {
    const half = values.tasks === undefined ? { tasks: ['bank', 'shop'] } : {};
    const report = await reportOf(name, { settings: 'best', rate: 0, kills, ...half });
    killed[kills].push([label, ...judgementsOf(report)]);
  }
}

/** The table of peers in docs/performance.md. */
function performance(): string {
  const lines = readFileSync(join(root, 'docs/performance.md'), 'utf8').split('\n');
  const from = lines.findIndex((line) => /^\|\s+\| bare loop \| pi /.test(line));
  if (from === -1) throw new Error('docs/performance.md has no table of peers');
  const length = lines.slice(from).findIndex((line) => !line.startsWith('|'));
  return lines.slice(from, from + length).join('\n');
}

const columns = names.flatMap((name) => ['best', 'defaults'].map((settings) => `${name} ${settings}`));
const page = `# Loops compared

What \`npm run compare\` wrote on ${new Date().toISOString().slice(0, 10)}, on Node ${process.versions.node}, with seed ${values.seed}. Each loop was installed from npm at its newest version, and is set up by a program of at most 40 lines in
[examples/torture](../examples/torture), once for a task that must be done (*best*), once at its defaults.
[The guide](guides/torture.md) says how the suite works, and how to run it on a loop of yours.

## 15 of 100 replies go wrong

${tasks} tasks over OpenAI's chat wire. The judge is the world's database and the ledger of calls, never what a loop says.
*Control*: tasks that are right with no fault at all. *Cached*: how much of what was sent had been sent at the beginning
of the request before.

${table(['loop', 'settings', 'control', ...judgementHeads, 'requests', 'cached'], bySettings)}

## Other wires

The same tasks and faults at the loops' defaults, over the wires that their programs are set up for.

${table(
  ['loop', 'wire', ...judgementHeads, 'requests'],
  onWires.sort((one, other) => String(one[1]).localeCompare(String(other[1]))),
)}

## Killed once, while it waits for the model

Forty of the tasks without a fault, but each loop (*best*) is killed once, while a request is on its way, and started again
with the same folder.

${table(['loop', ...judgementHeads], killed.request)}

## Killed once, after a call was carried out

The same, but killed after a call was carried out (one that only reads, too) and before the loop had the answer. The tools take a key
(\`idempotency-key\`) and make a call with the same key once.

${table(['loop', ...judgementHeads], killed.effect)}

Each program keeps what its library lets it keep: Pawl's a journal; LangChain's the checkpoints of LangGraph's own
\`MemorySaver\`, which a class of 20 lines writes to a file; OpenAI Agents' its serialised \`RunState\`; the others their
list of messages, after each step. So a kill between two steps costs none of them anything.

A call whose answer was lost is made again by all of them. It is made once only where the tools get a key that stays the
same: Pawl gives each call one, and LangChain's program passes on the id that the model gave the call, which providers do
not promise to be unique. What the others keep is from before that reply, so they ask for it again, and its calls have
other ids.

## Which fault was one too many

The last fault of each task that did not end right.

${table(
  ['fault', ...columns],
  [...faults].sort().map(([fault, counts]) => [fault, ...columns.map((column) => counts.get(column) ?? '')]),
)}

## What this does not say

- A loop that ends a task with an error does what its authors mean it to: who calls it may try again. The suite counts it
  as *said it failed*, which is honest, and never as a false claim.
- The model is a script that does every task right, but for the faults. Real models also do tasks wrong, which no loop
  mends: a false claim that is made by the tool for the answer (\`claimed_by_report\`) is believed by every loop, Pawl's
  too.
- *Best* means: a tool for the answer, whose input is checked, and which the model must call where the library can say so;
  more retries of requests; a loop around it, up to five rounds, until there is an answer; and a file of what was done.
  *Defaults* is the library's shortest program. Where a call is required, a text does not come, but an empty or filtered
  reply still may.
- Pawl's authors wrote the suite, the worlds and the programs. The seed was not chosen by its outcome;
  \`npm run compare -- --seed TEXT\` takes another.
- What Pawl pays for this: more requests where others give up, and what the next table tells.

## Time and memory

From [performance.md](performance.md), which says how it was measured; in brackets, times the bare loop.

${performance()}
`;
if (values.tasks === undefined) {
  writeFileSync(join(root, 'docs/comparison.md'), page);
  execFileSync('npx', ['biome', 'check', '--write', 'docs/comparison.md'], { cwd: root, stdio: 'ignore' });
} else process.stdout.write(page);
