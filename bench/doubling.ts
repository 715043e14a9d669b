/**
 * `node bench/doubling.ts`: the cost of doubling whatever a session or a run can have many of. Linear is 2; a factor near
 * 4 is quadratic. And the cost of 1,000 tool calls of one reply. Also a part of `npm run bench`.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Agent, defineAgent, runSession, type SessionOptions } from '../src/index.ts';
import { rehearsalModel } from '../src/testing/index.ts';
import { runWorkflow } from '../src/workflow/index.ts';
import { readDeltas } from './deltas.ts';

const report = { name: 'final_report', input: { content: 'Done.' } };
const quiet = { prompt: 'Go.', logger: false } as const;

/** Runs a session in which so many tools must run. */
async function run(agent: Agent, executed: number, options: Partial<SessionOptions> = {}): Promise<void> {
  const { success, slugs, counters } = await runSession(agent, { ...quiet, ...options });
  if (!success) throw new Error(`a benchmark session failed: ${slugs}`);
  if (counters.toolCalls.succeeded !== executed)
    throw new Error(`not ${executed} tools ran: ${JSON.stringify(counters)}`);
}

const look = () => 'seen';

async function calls(count: number): Promise<void> {
  const models = [
    rehearsalModel([{ calls: Array.from({ length: count }, () => ({ name: 'look' })) }, { calls: [report] }]),
  ];
  await run(defineAgent({ name: 'bench', models, tools: { look }, limits: { maxToolCallsPerTurn: count } }), count);
}

async function turns(count: number): Promise<void> {
  let sent = 0;
  const model = rehearsalModel(() => {
    sent += 1;
    return { calls: [sent < count ? { name: 'look' } : report] };
  });
  model.requests.push = () => 0;
  await run(defineAgent({ name: 'bench', models: [model], tools: { look }, limits: { maxTurns: count } }), count - 1);
}

async function messages(count: number): Promise<void> {
  const said = Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? { role: 'user' as const, content: `Question ${index}.` }
      : { role: 'assistant' as const, content: `Answer ${index}.` },
  );
  await run(defineAgent({ name: 'bench', models: [rehearsalModel([{ calls: [report] }])] }), 0, { messages: said });
}

async function subAgents(count: number): Promise<void> {
  const helper = defineAgent({
    name: 'helper',
    description: 'Helps.',
    models: [rehearsalModel([{ calls: [report] }])],
    limits: { maxTurns: 1, maxRetries: 1 },
  });
  const asked = Array.from({ length: count }, () => ({
    name: 'helper',
    input: { prompt: 'Help.', reason: 'To be quick.' },
  }));
  const models = [rehearsalModel([{ calls: asked }, { calls: [report] }])];
  const limits = { maxToolCallsPerTurn: count, maxConcurrentTools: count, maxTreeRequests: 10 * count };
  await run(defineAgent({ name: 'bench', models, agents: { helper }, limits }), count);
}

async function progress(count: number): Promise<void> {
  const models = [rehearsalModel([{ calls: [{ name: 'long' }] }, { calls: [report] }])];
  const long = async function* () {
    for (let index = 0; index < count; index += 1) yield `step ${index}`;
  };
  await run(defineAgent({ name: 'bench', models, tools: { long } }), 1);
}

async function sessions(count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => turns(5)));
}

async function items(count: number): Promise<void> {
  const backlog = mkdtempSync(join(tmpdir(), 'pawl-bench-'));
  for (let number = 1; number <= count; number += 1) {
    const folder = join(backlog, 'bugs', `BUG-${String(number).padStart(4, '0')}-item`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'bug_report.json'), JSON.stringify({ title: `Item ${number}`, status: 'new' }));
    writeFileSync(join(folder, 'PROMPT.md'), 'Mend it.\n');
  }
  const { succeeded } = await runWorkflow({
    backlog,
    agents: { process: () => ({ status: 'succeeded' }) },
    limits: { maxItems: count },
    logger: false,
  });
  rmSync(backlog, { recursive: true });
  if (succeeded.length !== count) throw new Error(`${succeeded.length} of ${count} items succeeded`);
}

async function mcpTools(count: number): Promise<void> {
  const server = join(import.meta.dirname, 'many-tools.ts');
  const models = [rehearsalModel([{ calls: [{ name: 'many__tool_1' }] }, { calls: [report] }])];
  const many = { command: process.execPath, args: ['--no-warnings', server, String(count)] };
  await run(defineAgent({ name: 'bench', models, mcpServers: { many } }), 1);
}

const rows: [name: string, count: number, work: (count: number) => Promise<void>][] = [
  ['deltas of a reply, read', 20_000, readDeltas],
  ['tool calls of a reply', 500, calls],
  ['turns', 500, turns],
  ['messages given', 5_000, messages],
  ['sub-agents of a reply', 100, subAgents],
  ['preliminary outputs of a tool', 5_000, progress],
  ['sessions at once', 200, sessions],
  ['items of a backlog', 50, items],
  ['MCP tools', 200, mcpTools],
];

async function leastMs(work: () => Promise<void>, rounds: number): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return Math.min(...times);
}

export async function doublingBench(quick: boolean): Promise<void> {
  process.stdout.write('twice as much costs:\n');
  for (const [name, count, work] of rows) {
    const rounds = quick ? 2 : 4;
    await work(Math.ceil(count / 4));
    const once = await leastMs(() => work(count), rounds);
    const twice = await leastMs(() => work(2 * count), rounds);
    const factor = (twice / once).toFixed(2);
    process.stdout.write(
      `${name.padEnd(30)} ${String(count).padStart(6)}: ${once.toFixed(0).padStart(6)} ms; twice as many ${factor} x\n`,
    );
  }
  await manyCalls(quick);
}

async function manyCalls(quick: boolean): Promise<void> {
  const few = 100;
  const one = async () => {
    for (let time = 0; time < few; time += 1) await calls(1);
  };
  await one();
  const [single, many] = [(await leastMs(one, quick ? 2 : 4)) / few, await leastMs(() => calls(1_000), quick ? 2 : 4)];
  process.stdout.write(
    `1,000 tool calls of a reply: ${many.toFixed(0)} ms, ${(many / single).toFixed(0)} x one call\n`,
  );
}

if (process.argv[1] === import.meta.filename) await doublingBench(process.argv.includes('--quick'));
