#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { messageOf, PawlError } from '../errors.ts';
import { demoCommand } from './demo.ts';
import { exitCodes, UsageError } from './exit.ts';
import { packageFile } from './package-root.ts';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';
import { workCommand } from './work.ts';

const usage = `pawl - LLM agent sessions that are bounded, answered and accounted for

Usage:
  pawl run [options] "prompt"      run an agent on a prompt
  pawl demo [options] [directory]  answer a question about a directory (default: pawl's own docs)
  pawl serve --mcp FILE [options]  an agent as an MCP server, over stdio or HTTP
  pawl work [options] DIRECTORY    take the work items of a backlog, one by one

Options:
  --agent FILE          an agent: a .ts or .js module, or Markdown with front matter (run)
  --model PROVIDER:ID   the model, instead of the agent's own; with --base-url the name alone
  --base-url URL        an OpenAI-compatible server: Ollama, llama.cpp, LM Studio, vLLM
  --mcp FILE            the agent to serve (serve)
  --http PORT           over streamable HTTP on 127.0.0.1, instead of stdio (serve)
  --question TEXT       what to ask about the directory (demo)
  --once                one item only (work)
  --dry-run             say what would be done, and do nothing (work)
  --rehearsal           the rule-based model, even where a key is set (demo)
  --max-turns N         the bound: turns
  --max-retries N       the bound: attempts of a turn
  --inspect             show the machines at work in the Stately inspector, by a relay on port 8080
  --json                print the result alone, as JSON, on stdout
  --log-level LEVEL     pino lines of that level and above on stderr (default: warn where no view is shown)
  --help, --version

Exit codes: 0 succeeded, 1 failed, 2 usage or configuration, 130 aborted.
`;

const options = {
  agent: { type: 'string' },
  model: { type: 'string' },
  'base-url': { type: 'string' },
  mcp: { type: 'string' },
  http: { type: 'string' },
  question: { type: 'string' },
  rehearsal: { type: 'boolean', default: false },
  once: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  'max-turns': { type: 'string' },
  'max-retries': { type: 'string' },
  inspect: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'log-level': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', short: 'v', default: false },
} as const;

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
  const [command, ...rest] = positionals;
  if (values.version) return print(`${JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version}\n`);
  if (values.help || command === 'help') return print(usage);
  const flags = {
    agent: values.agent,
    mcp: values.mcp,
    http: port(values.http),
    model: values.model,
    baseUrl: values['base-url'],
    question: values.question,
    rehearsal: values.rehearsal,
    once: values.once,
    dryRun: values['dry-run'],
    maxTurns: integer('--max-turns', values['max-turns']),
    maxRetries: integer('--max-retries', values['max-retries']),
    inspect: values.inspect,
    json: values.json,
    logLevel: level(values['log-level']),
  };
  refuseForeignFlags(command, values);
  switch (command) {
    case 'run':
      return runCommand(rest, flags);
    case 'demo':
      return demoCommand(rest, flags);
    case 'serve':
      return serveCommand(rest, flags);
    case 'work':
      return workCommand(rest, flags);
    default:
      throw new UsageError(
        command === undefined
          ? 'A command is needed: run, demo, serve or work.'
          : `There is no command ${command}: there are run, demo, serve and work.`,
      );
  }
}

const models = ['model', 'base-url', 'max-turns', 'max-retries', 'log-level'] as const;
/** The flags that each command takes: none is accepted and ignored. */
const flagsOf: Record<string, readonly string[]> = {
  run: [...models, 'agent', 'inspect', 'json'],
  demo: [...models, 'question', 'rehearsal', 'inspect', 'json'],
  serve: [...models, 'mcp', 'http'],
  work: [...models, 'once', 'dry-run', 'json'],
};

function refuseForeignFlags(command: string | undefined, values: Record<string, unknown>): void {
  const own = flagsOf[command ?? ''];
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : [name],
  );
  const foreign = own === undefined ? undefined : given.find((name) => !own.includes(name));
  if (foreign === undefined) return;
  const takers = Object.entries(flagsOf).flatMap(([name, flags]) => (flags.includes(foreign) ? [`pawl ${name}`] : []));
  throw new UsageError(`--${foreign} is for ${takers.join(' and ')}, not for pawl ${command}.`);
}

function integer(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new UsageError(`${flag} is ${text}: an integer of at least 1 is allowed.`);
  return Number(text);
}

function port(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`--http is ${text}: a port from 0 to 65535 is allowed.`);
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

function level(text: string | undefined): string | undefined {
  if (text === undefined || levels.includes(text)) return text;
  throw new UsageError(`--log-level is ${text}: ${levels.join(', ')} are allowed.`);
}

function print(text: string): number {
  process.stdout.write(text);
  return exitCodes.succeeded;
}

function isParseError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

/** A wrong call gets one sentence, never a stack trace; a defect of ours keeps its trace. */
function explain(error: unknown): number {
  const wrongCall = error instanceof UsageError || error instanceof PawlError || isParseError(error);
  process.stderr.write(`pawl: ${wrongCall || !(error instanceof Error) ? messageOf(error) : error.stack}\n`);
  if (wrongCall) process.stderr.write('Try pawl --help.\n');
  return wrongCall ? exitCodes.usage : exitCodes.failed;
}

// A reader that has seen enough (`pawl demo | head`) ends the writing, not with a stack trace.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? exitCodes.succeeded : exitCodes.failed),
  );
}

const exitCode = await main(process.argv.slice(2)).catch(explain);
// What a tool has left running (one that ignores its abort, say) must not keep the command from ending.
process.stdout.write('', () => process.exit(exitCode));
