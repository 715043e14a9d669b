import { parseArgs } from 'node:util';
import { expected } from '../errors.ts';
import type { SessionResult } from '../session/options.ts';

export const exitCodes = { succeeded: 0, failed: 1, usage: 2, aborted: 130, suspended: 75 } as const;

/** A command-line error, reported as one sentence with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function exitCodeOf({ status }: Pick<SessionResult, 'status'>): number {
  return exitCodes[status];
}

export const commands = ['run', 'demo', 'serve', 'work', 'sessions', 'resume', 'replay', 'export', 'fork'] as const;
type Command = (typeof commands)[number];

type Flag<Value> = {
  /** As typed, without the dashes. */
  name: string;
  /** The value's placeholder in the usage; null for a switch. */
  value: string | null;
  help: string;
  commands: readonly Command[];
  parse: (text: string | boolean | undefined, flag: string) => Value;
};

const anyAgent = ['run', 'demo', 'serve', 'work', 'resume'] as const;
const oneSession = ['run', 'demo', 'resume'] as const;
const ofJournal = ['sessions', 'resume', 'replay', 'export', 'fork'] as const;

/** The flags of all commands, in usage order. To add one, add a row here. */
const table = {
  agent: textFlag('agent', 'FILE', 'the agent: a .ts or .js module, or Markdown with front matter', ['run', 'resume']),
  model: textFlag('model', 'PROVIDER:ID', "override the agent's model; with --base-url, just the model name", anyAgent),
  baseUrl: textFlag('base-url', 'URL', 'an OpenAI-compatible server: Ollama, llama.cpp, LM Studio, vLLM', anyAgent),
  mcp: textFlag('mcp', 'FILE', 'the agent to serve as an MCP server', ['serve']),
  openai: textFlag('openai', 'FILE', "the agent to serve as a model of an API like OpenAI's", ['serve']),
  http: flag('http', 'PORT', 'serve over HTTP on 127.0.0.1; --mcp alone uses stdio', ['serve'], port),
  journal: textFlag(
    'journal',
    'FILE',
    'write the session down, so that it can be resumed; or read it (default: pawl.db)',
    ['run', 'demo', ...ofJournal],
  ),
  at: textFlag('at', 'turn-N', 'where the new session leaves the old one', ['fork']),
  until: textFlag('until', 'turn-N/attempt-M', 'stop there, and show the request, the states and the counters', [
    'replay',
  ]),
  question: textFlag('question', 'TEXT', 'the question to ask about the directory', ['demo']),
  once: switchFlag('once', 'work on one item, then exit', ['work']),
  dryRun: switchFlag('dry-run', 'show what would run, then exit', ['work']),
  rehearsal: switchFlag('rehearsal', 'use the rule-based model even if a key is set', ['demo', 'resume']),
  maxTurns: flag('max-turns', 'N', 'maximum number of turns', anyAgent, wholeNumber),
  maxRetries: flag('max-retries', 'N', 'maximum number of attempts per turn', anyAgent, wholeNumber),
  maxSeconds: flag(
    'max-seconds',
    'N',
    'time limit; then one request is left, for the report',
    ['run', 'demo'],
    wholeNumber,
  ),
  inspect: switchFlag('inspect', 'open the Stately inspector (relay on port 8080)', oneSession),
  json: switchFlag('json', 'print only the result to stdout, as JSON', [...oneSession, 'work', 'sessions', 'replay']),
  log: flag('log', 'FORMAT', 'log lines on stderr: human (default) or json', anyAgent, logFormat),
  logLevel: flag(
    'log-level',
    'LEVEL',
    'log level on stderr (default: warn; silent while the tree is shown)',
    anyAgent,
    level,
  ),
};

/** The parsed flags of all commands. */
export type Flags = { [Name in keyof typeof table]: ReturnType<(typeof table)[Name]['parse']> };

const rows = Object.entries(table) as [keyof Flags, Flag<unknown>][];

/** Returns a usage line per flag. */
export function flagsUsage(): string {
  return rows
    .map(([, { name, value, help, commands: takers }]) => {
      const typed = `--${name}${value === null ? '' : ` ${value}`}`;
      return `  ${typed.padEnd(21)} ${help}${takers.length < commands.length ? ` (${takers.join(', ')})` : ''}`;
    })
    .join('\n');
}

/** Parses the command line. Throws `UsageError` for a flag that the command lacks, so that none is silently ignored. */
export function readFlags(argv: readonly string[]): {
  command: string | undefined;
  rest: string[];
  flags: Flags;
  help: boolean;
  version: boolean;
} {
  const options = Object.fromEntries(
    rows.map(([, { name, value }]) => [name, { type: value === null ? 'boolean' : 'string' } as const]),
  );
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { ...options, help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } },
    allowPositionals: true,
  });
  const [command, ...rest] = positionals;
  const given = new Map(Object.entries(values));
  const isKnown = commands.some((one) => one === command);
  const foreign = isKnown
    ? rows.find(([, one]) => given.has(one.name) && !one.commands.some((to) => to === command))
    : undefined;
  if (foreign !== undefined) {
    const takers = foreign[1].commands.map((one) => `pawl ${one}`);
    throw new UsageError(`--${foreign[1].name} works with ${listed(takers)}, not with pawl ${command}.`);
  }
  const flags = Object.fromEntries(rows.map(([key, one]) => [key, one.parse(given.get(one.name), `--${one.name}`)]));
  return { command, rest, flags: flags as Flags, help: given.has('help'), version: given.has('version') };
}

function flag<Value>(
  name: string,
  value: string | null,
  help: string,
  takers: readonly Command[],
  parse: (text: string | boolean | undefined, flag: string) => Value,
): Flag<Value> {
  return { name, value, help, commands: takers, parse };
}

function textFlag(name: string, value: string, help: string, takers: readonly Command[]): Flag<string | undefined> {
  return flag(name, value, help, takers, (text) => (typeof text === 'string' ? text : undefined));
}

function switchFlag(name: string, help: string, takers: readonly Command[]): Flag<boolean> {
  return flag(name, null, help, takers, (given) => given === true);
}

function wholeNumber(text: string | boolean | undefined, name: string): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (!/^\d+$/.test(text)) throw new UsageError(expected(name, text, 'an integer of at least 1'));
  return Number(text);
}

function port(text: string | boolean | undefined, name: string): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(expected(name, text, 'a port from 0 to 65535'));
}

function logFormat(text: string | boolean | undefined, name: string): 'human' | 'json' {
  if (typeof text !== 'string' || text === 'human') return 'human';
  if (text === 'json') return 'json';
  throw new UsageError(expected(name, text, 'human or json'));
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

function level(text: string | boolean | undefined, name: string): string | undefined {
  if (typeof text !== 'string') return undefined;
  if (levels.includes(text)) return text;
  throw new UsageError(expected(name, text, `one of ${levels.join(', ')}`));
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
