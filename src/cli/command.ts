import { messageOf, PawlError } from '../input/errors.ts';
import { packageVersion } from '../platform/version.ts';
import { acpCommand } from './acp.ts';
import { chatCommand } from './chat/chat.ts';
import {
  type CommandName,
  commands,
  commandUsage,
  exitCodes,
  type Flags,
  generalUsage,
  isCommand,
  readFlags,
  UsageError,
} from './command-line.ts';
import { demoCommand } from './demo/demo.ts';
import { initCommand } from './init/init.ts';
import { readEnvironmentFile } from './layers.ts';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';
import { approvalsCommand, approveCommand } from './sessions/approvals.ts';
import { checkCommand } from './sessions/check.ts';
import { costCommand } from './sessions/cost.ts';
import { inspectCommand } from './sessions/inspect.ts';
import { exportCommand, forkCommand, replayCommand, sessionsCommand } from './sessions/journal.ts';
import { resumeCommand } from './sessions/resume.ts';
import { testCommand } from './sessions/test.ts';
import { verifyCommand } from './sessions/verify.ts';
import { tortureCommand } from './torture.ts';
import { workCommand } from './work/work.ts';

const run: Record<CommandName, (positionals: readonly string[], flags: Flags) => Promise<number>> = {
  run: runCommand,
  chat: chatCommand,
  init: initCommand,
  demo: demoCommand,
  serve: serveCommand,
  acp: acpCommand,
  work: workCommand,
  sessions: sessionsCommand,
  approvals: approvalsCommand,
  approve: approveCommand,
  cost: costCommand,
  check: checkCommand,
  torture: tortureCommand,
  test: testCommand,
  verify: verifyCommand,
  resume: resumeCommand,
  replay: replayCommand,
  export: exportCommand,
  inspect: inspectCommand,
  fork: forkCommand,
};

async function main(argv: readonly string[]): Promise<number> {
  const { command, rest, flags, help, version } = readFlags(argv);
  if (version) return print(`${packageVersion}\n`);
  if (command === 'help') return print(isCommand(rest[0]) ? commandUsage(rest[0]) : generalUsage());
  if (help) return print(isCommand(command) ? commandUsage(command) : generalUsage());
  if (flags.env !== undefined) readEnvironmentFile(flags.env);
  if (isCommand(command)) return run[command](rest, flags);
  throw new UsageError(
    command === undefined
      ? `Missing command: ${commands.slice(0, -1).join(', ')} or ${commands.at(-1)}.`
      : `Unknown command "${command}". Commands: ${commands.join(', ')}.`,
  );
}

function print(text: string): number {
  process.stdout.write(text);
  return exitCodes.succeeded;
}

function isParseError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

/** Prints one sentence for a usage error, and a stack trace for a defect in Pawl. */
function explain(error: unknown): number {
  const wrongCall = error instanceof UsageError || error instanceof PawlError || isParseError(error);
  process.stderr.write(`pawl: ${wrongCall || !(error instanceof Error) ? messageOf(error) : error.stack}\n`);
  if (wrongCall) process.stderr.write('Try pawl --help.\n');
  return wrongCall ? exitCodes.usage : exitCodes.failed;
}

/** Whether the reader has closed the pipe or the terminal. */
function isGone({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'EIO';
}

/** Runs a command, and ends the process with its exit code. */
export async function runAndExit(argv: readonly string[]): Promise<void> {
  // If the reader closes the pipe (`pawl work | head`) or the terminal, the command still finishes its work.
  let isLost = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isLost || isGone(error)) return;
    isLost = true;
    process.stderr.write(`pawl: the output could not be written: ${messageOf(error)}\n`);
  });
  // There is nowhere left to report it.
  process.stderr.on('error', () => undefined);
  const exitCode = await main(argv).catch(explain);
  // A tool that is still running, such as one that ignores its abort, must not keep the command alive.
  process.stdout.write('', (error) => {
    // A write's `error` event comes after its callback.
    setImmediate(() =>
      process.exit(
        exitCode === exitCodes.succeeded && (isLost || (error && !isGone(error))) ? exitCodes.failed : exitCode,
      ),
    );
  });
}
