import { fstatSync } from 'node:fs';
import { type Logger, stderrLogger } from '../observe/log/logger.ts';
import { tame } from '../platform/text.ts';
import type { Flags } from './command-line.ts';

/** pino also knows two levels beyond those of a session. */
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Returns the logger of a command on stderr: lines for people, or JSON lines with `--log json`. Without a level, warnings
 * are written, unless a view shows them in the same terminal, pipe or file.
 */
export function commandLogger({ log, logLevel }: Flags, { isShown }: { isShown: boolean }): Logger {
  const level = logLevel ?? (isShown && areOneStream() ? 'silent' : 'warn');
  if (log === 'json') return stderrLogger(level);
  const isLevelEnabled = (name: string) => levels.indexOf(name) >= levels.indexOf(level);
  const write = (name: string) => (fields: object, message?: string) => {
    if (isLevelEnabled(name)) process.stderr.write(`${line(name, fields, message)}\n`);
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error'), isLevelEnabled };
}

/** Whether stdout and stderr lead to the same place. */
function areOneStream(): boolean {
  try {
    const [out, err] = [fstatSync(1), fstatSync(2)];
    return out.ino === err.ino && out.dev === err.dev;
  } catch {
    return false;
  }
}

/** `WARN  turn 1, attempt 1 failed: provider_error (The provider is overloaded.)`, with the sub-agent's name. */
function line(level: string, fields: object, message = ''): string {
  const of = (name: string) => {
    const value: unknown = Reflect.get(fields, name);
    return typeof value === 'string' && value !== '' ? value : null;
  };
  const agent = of('parentSessionId') === null ? '' : `${of('agent')}: `;
  const detail = of('detail') ?? of('error') ?? of('message');
  const about = detail === null || message.includes(detail) ? '' : ` (${detail})`;
  return tame(`${level.toUpperCase().padEnd(5)} ${agent}${message}${about}`)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
}
