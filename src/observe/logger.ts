import { builtin } from '../platform/node.ts';

type Write = (fields: object, message?: string) => void;

/** Any logger with these methods, such as pino, or `console`. */
export type Logger = { debug: Write; info: Write; warn: Write; error: Write };

/** The user's logger; `false` logs nothing, which suits tests. */
export type LoggerOption = Logger | false;

const nothing = () => {};
const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

let standardLogger: Logger | null = null;

/** Returns the user's logger. Default: pino at level warn on stderr. */
export function loggerOf(option: LoggerOption | undefined): Logger {
  if (option === false) return silentLogger;
  if (option !== undefined) return option;
  standardLogger ??= stderrLogger('warn');
  return standardLogger;
}

/** The lines of all loggers that wait for pino. */
let waiting: Promise<unknown> = Promise.resolve();

/** Returns a pino logger at `level` on stderr; `silent` turns it off. pino is loaded for the first line. */
export function stderrLogger(level: string): Logger {
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  const least = [...levels, 'silent'].indexOf(level);
  let lines: ((logger: Logger) => void)[] = [];
  let made: Logger | null = null;
  let loading: Promise<void> | null = null;
  const write = (name: (typeof levels)[number]) => (fields: object, message?: string) => {
    if (levels.indexOf(name) < least) return;
    if (made !== null) {
      made[name](fields, message);
      return;
    }
    lines.push((logger) => logger[name](fields, message));
    loading ??= pinoAt(level).then((logger) => {
      made = logger;
      for (const line of lines) line(logger);
      lines = [];
    });
    waiting = Promise.all([waiting, loading]);
    // `linesWritten` rejects.
    waiting.catch(() => {});
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Resolves when all lines are written that waited for pino. Rejects if they could not be. */
export async function linesWritten(): Promise<void> {
  await waiting;
}

async function pinoAt(level: string): Promise<Logger> {
  const { default: pino } = await import('pino');
  // Without files, pino writes to the console.
  const logger: Logger =
    builtin('node:fs') === undefined ? pino({ level }) : pino({ level }, pino.destination({ dest: 2, sync: true }));
  return logger;
}
