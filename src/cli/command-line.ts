import { parseArgs } from 'node:util';
import { expected } from '../input/errors.ts';
import type { SessionResult } from '../session/session.ts';

export const exitCodes = { succeeded: 0, failed: 1, usage: 2, aborted: 130, suspended: 75 } as const;

/** A command-line error, reported as one sentence with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function sessionExitCode({ status }: Pick<SessionResult, 'status'>): number {
  return exitCodes[status];
}

/** The commands, with what follows their names and what they do. */
export const commandTable = {
  run: { args: '[options] "prompt"', help: 'run an agent on a prompt; - reads it from stdin' },
  chat: { args: '[options]', help: 'talk to an agent' },
  init: { args: '[DIRECTORY]', help: 'write an agent, a tool and a test to begin with' },
  demo: { args: '[options] [DIRECTORY]', help: 'answer a question about a directory' },
  serve: { args: '--mcp|--openai FILE', help: 'serve an agent to MCP or chat clients' },
  acp: { args: '[options]', help: 'serve an agent to an editor that starts this' },
  work: { args: '[options] DIRECTORY', help: 'work through a backlog' },
  sessions: { args: '[options]', help: 'list the sessions of a journal' },
  approvals: { args: '[options]', help: 'list the calls that wait for a person' },
  approve: { args: '[options] ID CALL', help: 'approve such a call, or deny it' },
  cost: { args: '[options] [ID]', help: 'say what sessions cost, and what caches saved' },
  check: { args: '--agent FILE', help: 'check that recorded sessions fit new code' },
  verify: { args: '[options] [ID]', help: 'check what is promised of recorded sessions' },
  torture: { args: '[options] [-- LOOP]', help: 'try a loop on tasks while replies go wrong' },
  test: { args: '--agent FILE ID', help: 'write a vitest file of a recorded session' },
  resume: { args: '[options] ID', help: 'resume a session that was killed or suspended' },
  replay: { args: '[options] ID|FILE', help: 'play a recorded session again, offline' },
  export: { args: '[options] ID', help: 'print a session as a file' },
  inspect: { args: '[FILE|FOLDER]', help: 'show the sessions of a journal in a page' },
  fork: { args: '--at turn-N ID', help: 'start a new session from a turn of another' },
} satisfies Record<string, { args: string; help: string }>;

export type CommandName = keyof typeof commandTable;
export const commands = Object.keys(commandTable) as CommandName[];

/** What stands behind a flag. */
type Typed = string | boolean | undefined;

type Flag<Value> = {
  /** As typed, without the dashes. */
  name: string;
  short?: string;
  /** The value's placeholder in the usage; null for a switch. */
  value: string | null;
  /** At most 54 characters, so that a line fits. */
  help: string;
  commands: readonly CommandName[];
  parse: (text: Typed, flag: string) => Value;
};

const anyAgent = ['run', 'chat', 'demo', 'serve', 'acp', 'work', 'resume'] as const;
const oneSession = ['run', 'demo', 'resume'] as const;
const ofJournal = [
  'sessions',
  'approvals',
  'approve',
  'cost',
  'check',
  'verify',
  'test',
  'resume',
  'replay',
  'export',
  'fork',
] as const;

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const apis = ['openai', 'openai-responses', 'anthropic', 'gemini'] as const;

/** The flags of all commands, in usage order. To add one, add a row here. */
const table = {
  agent: textFlag('agent', 'FILE', 'the agent: a .ts or .js module, or Markdown', [
    'run',
    'chat',
    'acp',
    'resume',
    'cost',
    'check',
    'test',
  ]),
  model: textFlag('model', 'PROVIDER:ID', "instead of the agent's; with --base-url, a name", anyAgent),
  // Node takes `--env-file` for itself, wherever it stands.
  env: textFlag('env', 'FILE', 'set the variables in FILE that are not set already', anyAgent),
  baseUrl: textFlag('base-url', 'URL', 'an OpenAI-compatible server, such as Ollama', anyAgent),
  mcp: textFlag('mcp', 'FILE', 'the agent to serve as an MCP server', ['serve']),
  openai: textFlag('openai', 'FILE', 'the agent to serve over OpenAI’s and Anthropic’s APIs', ['serve']),
  http: flag('http', 'PORT', 'serve over HTTP on 127.0.0.1; --mcp alone uses stdio', ['serve'], port),
  journal: textFlag('journal', 'FILE', 'the journal to write or read (reads pawl.db by default)', [
    'run',
    'demo',
    'acp',
    'serve',
    ...ofJournal,
  ]),
  at: textFlag('at', 'turn-N', 'where the new session leaves the old one', ['fork']),
  until: textFlag('until', 'turn-N/attempt-M', 'stop there; show request, states and counters', ['replay']),
  deny: switchFlag('deny', 'deny the call', ['approve']),
  reason: textFlag('reason', 'TEXT', 'why, for the model', ['approve']),
  all: switchFlag('all', 'check the sessions that have ended, too', ['check']),
  question: textFlag('question', 'TEXT', 'the question to ask about the directory', ['demo']),
  tui: switchFlag('tui', 'in full screen, with @ai-sdk/tui', ['chat']),
  once: switchFlag('once', 'work on one item, then exit', ['work']),
  init: switchFlag('init', 'write agents for the backlog, then exit', ['work']),
  dryRun: switchFlag('dry-run', 'show what would run, then exit', ['work']),
  rehearsal: switchFlag('rehearsal', 'use the rule-based model even if a key is set', ['demo', 'resume']),
  html: switchFlag('html', 'as a page that shows it, in one file', ['export']),
  export: textFlag('export', 'FILE', 'write the session to a page that shows it', oneSession),
  ledger: textFlag('ledger', 'FILE', 'add a line of JSON for each request and call', oneSession),
  output: {
    ...textFlag('output', 'FILE', 'write the report, the session or the test to a file', [
      ...oneSession,
      'export',
      'test',
      'torture',
    ]),
    short: 'o',
  },
  wire: flag('wire', 'API', 'openai (default), openai-responses, anthropic, gemini', ['torture'], among(...apis)),
  world: textFlag('world', 'COMMAND', 'a program that holds a world of your own', ['torture']),
  rate: flag('rate', 'PERCENT', 'how many replies go wrong (default: 15)', ['torture'], percent),
  seed: textFlag('seed', 'TEXT', 'which faults come when (default: 1)', ['torture']),
  tasks: textFlag('tasks', 'ID,…', 'only tasks whose ids begin so, such as bank', ['torture']),
  faults: textFlag('faults', 'NAME,…', 'only these faults', ['torture']),
  kills: flag(
    'kills',
    'WHEN',
    'kill each loop once: at a request, or after a call',
    ['torture'],
    among('request', 'effect'),
  ),
  jobs: flag('jobs', 'N', 'work on N tasks at once (default: 2)', ['torture'], wholeNumber),
  settings: textFlag('settings', 'NAME', 'what the loop finds as its settings', ['torture']),
  badge: textFlag('badge', 'FILE', 'write a badge for shields.io', ['torture']),
  maxTurns: flag('max-turns', 'N', 'maximum number of turns', anyAgent, wholeNumber),
  maxRetries: flag('max-retries', 'N', 'maximum number of attempts per turn', anyAgent, wholeNumber),
  maxSeconds: flag(
    'max-seconds',
    'N',
    'time limit; after it, a session may only report',
    ['run', 'demo', 'work'],
    wholeNumber,
  ),
  concurrency: flag('concurrency', 'N', 'work on N items at once, each in its own work tree', ['work'], wholeNumber),
  maxRequests: flag('max-requests', 'N', 'maximum number of requests of the run', ['work'], wholeNumber),
  maxTokens: flag('max-tokens', 'N', 'maximum number of tokens of the run', ['work'], wholeNumber),
  inspect: switchFlag('inspect', 'show what runs in a browser', [...oneSession, 'work']),
  port: flag('port', 'PORT', 'the port of that page (default: any free one)', [...oneSession, 'work', 'inspect'], port),
  stately: switchFlag('stately', 'open the Stately inspector (relay on port 8080)', oneSession),
  json: switchFlag('json', 'print only the result to stdout, as JSON', [
    ...oneSession,
    'work',
    'sessions',
    'approvals',
    'cost',
    'check',
    'verify',
    'torture',
    'replay',
  ]),
  log: flag('log', 'FORMAT', 'log lines on stderr: human (default) or json', anyAgent, asLines),
  logLevel: flag('log-level', 'LEVEL', 'log level (default: warn; silent under the tree)', anyAgent, among(...levels)),
};

/** The parsed flags of all commands. */
export type Flags = { [Name in keyof typeof table]: ReturnType<(typeof table)[Name]['parse']> };

const rows = Object.entries(table) as [keyof Flags, Flag<unknown>][];

/** What pawl can do, on one screen. */
export function generalUsage(): string {
  const lines = Object.entries(commandTable).map(
    ([name, { args, help }]) => `  ${`${name} ${args}`.padEnd(30)} ${help}`,
  );
  return `pawl - LLM agent sessions that are bounded, answered and accounted for
Usage: pawl COMMAND
${lines.join('\n')}
pawl COMMAND --help lists the options of a command; pawl --version prints one.
Exit codes: 0 succeeded, 1 failed, 2 usage, 75 suspended, 130 aborted.
`;
}

/** The usage of one command, on one screen. */
export function commandUsage(command: CommandName): string {
  const { args, help } = commandTable[command];
  const own = rows.filter(([, row]) => row.commands.includes(command));
  const lines = own.map(([, { name, short, value, help: what }]) => {
    const typed = `${short === undefined ? '' : `-${short}, `}--${name}${value === null ? '' : ` ${value}`}`;
    return `  ${typed.padEnd(22)} ${what}`;
  });
  const options = lines.length === 0 ? '' : `\nOptions:\n${lines.join('\n')}\n`;
  return `Usage: pawl ${command} ${args}\n\n${help[0]?.toUpperCase()}${help.slice(1)}.\n${options}`;
}

export function isCommand(name: string | undefined): name is CommandName {
  return commands.some((one) => one === name);
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
    rows.map(([, { name, short, value }]) => [
      name,
      { type: value === null ? 'boolean' : 'string', ...(short !== undefined && { short }) } as const,
    ]),
  );
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { ...options, help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } },
    allowPositionals: true,
  });
  const [command, ...rest] = positionals;
  const given = new Map(Object.entries(values));
  const foreign = isCommand(command)
    ? rows.find(([, one]) => given.has(one.name) && !one.commands.some((to) => to === command))
    : undefined;
  if (foreign !== undefined) {
    const takers = foreign[1].commands.map((one) => `pawl ${one}`);
    throw new UsageError(`--${foreign[1].name} works with ${inSentence(takers)}, not with pawl ${command}.`);
  }
  if (given.has('port') && !given.has('inspect') && command !== 'inspect')
    throw new UsageError('--port is the port of a page: pass --inspect, too.');
  if (given.has('init') && [...given.keys()].some((name) => name !== 'init' && name !== 'help'))
    throw new UsageError('--init takes no other option.');
  const flags = Object.fromEntries(rows.map(([key, one]) => [key, one.parse(given.get(one.name), `--${one.name}`)]));
  return { command, rest, flags: flags as Flags, help: given.has('help'), version: given.has('version') };
}

function flag<Value>(
  name: string,
  value: string | null,
  help: string,
  takers: readonly CommandName[],
  parse: (text: Typed, flag: string) => Value,
): Flag<Value> {
  return { name, value, help, commands: takers, parse };
}

function textFlag(name: string, value: string, help: string, takers: readonly CommandName[]): Flag<string | undefined> {
  return flag(name, value, help, takers, someText);
}

function someText(text: Typed, name: string): string | undefined {
  if (typeof text !== 'string') return undefined;
  if (text.trim() !== '') return text;
  throw new UsageError(expected(name, text, 'a text that is not blank'));
}

function switchFlag(name: string, help: string, takers: readonly CommandName[]): Flag<boolean> {
  return flag(name, null, help, takers, (given) => given === true);
}

function wholeNumber(text: Typed, name: string): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (/^\d+$/.test(text) && Number(text) >= 1 && Number.isSafeInteger(Number(text))) return Number(text);
  const most = Number.MAX_SAFE_INTEGER;
  throw new UsageError(expected(name, text, Number(text) > most ? `at most ${most}` : 'an integer of at least 1'));
}

function asLines(text: Typed, name: string): 'human' | 'json' {
  return among('human', 'json')(text, name) ?? 'human';
}

/** A flag that takes one of these words. */
function among<Word extends string>(...words: Word[]): (text: Typed, name: string) => Word | undefined {
  return (text, name) => {
    if (typeof text !== 'string') return undefined;
    const known = words.find((word) => word === text);
    if (known !== undefined) return known;
    throw new UsageError(expected(name, text, words.length > 2 ? `one of ${words.join(', ')}` : words.join(' or ')));
  };
}

function percent(text: Typed, name: string): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) <= 100) return Number(text);
  throw new UsageError(expected(name, text, 'a number from 0 to 100'));
}

function port(text: Typed, name: string): number | undefined {
  if (typeof text !== 'string') return undefined;
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(expected(name, text, 'a port from 0 to 65535'));
}

function inSentence(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
