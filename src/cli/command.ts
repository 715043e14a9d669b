import { readFileSync } from 'node:fs';
import { messageOf, PawlError } from '../errors.ts';
import { commands, exitCodes, flagsUsage, readFlags, UsageError } from './command-line.ts';
import { demoCommand } from './demo/demo.ts';
import { packageFile } from './package-root.ts';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';
import { exportCommand, forkCommand, replayCommand, sessionsCommand } from './sessions/journal.ts';
import { resumeCommand } from './sessions/resume.ts';
import { workCommand } from './work.ts';

const usage = () => `pawl - LLM agent sessions that are bounded, answered and accounted for

Usage:
  pawl run [options] "prompt"      run an agent on a prompt
  pawl demo [options] [directory]  answer a question about a directory (default: pawl's own docs)
  pawl serve --mcp|--openai FILE   serve an agent as an MCP server, or as a model for chat clients
  pawl work [options] DIRECTORY    work through a backlog
  pawl sessions [options]          list the sessions of a journal
  pawl resume [options] ID         resume a session that was killed or suspended
  pawl replay [options] ID|FILE    play a recorded session again, offline
  pawl export [options] ID         print a session as a file, for pawl replay and for tests
  pawl fork --at turn-N ID         start a new session from a turn of another

Options:
${flagsUsage()}
  --help, --version

Exit codes: 0 succeeded, 1 failed, 2 usage or configuration, 75 suspended, 130 aborted.
`;

async function main(argv: readonly string[]): Promise<number> {
  const { command, rest, flags, help, version } = readFlags(argv);
  if (version) return print(`${JSON.parse(readFileSync(packageFile('package.json'), 'utf8')).version}\n`);
  if (help || command === 'help') return print(usage());
  switch (command) {
    case 'run':
      return runCommand(rest, flags);
    case 'demo':
      return demoCommand(rest, flags);
    case 'serve':
      return serveCommand(rest, flags);
    case 'work':
      return workCommand(rest, flags);
    case 'sessions':
      return sessionsCommand(rest, flags);
    case 'resume':
      return resumeCommand(rest, flags);
    case 'replay':
      return replayCommand(rest, flags);
    case 'export':
      return exportCommand(rest, flags);
    case 'fork':
      return forkCommand(rest, flags);
    default:
      throw new UsageError(
        command === undefined
          ? `Missing command: ${commands.slice(0, -1).join(', ')} or ${commands.at(-1)}.`
          : `Unknown command "${command}". Commands: ${commands.join(', ')}.`,
      );
  }
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

/** Runs a command, and ends the process with its exit code. */
export async function command(argv: readonly string[]): Promise<void> {
  // When a reader closes the pipe (`pawl demo | head`), exit without a stack trace.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) =>
      process.exit(error.code === 'EPIPE' ? exitCodes.succeeded : exitCodes.failed),
    );
  }
  const exitCode = await main(argv).catch(explain);
  // A tool that is still running, such as one that ignores its abort, must not keep the command alive.
  process.stdout.write('', () => process.exit(exitCode));
}
