import { builtin, required } from '../../platform/node.ts';

type Write = (fields: object, message?: string) => void;

/** Any logger with these methods, such as pino, or `console`. For a level that is not enabled, no lines are made. */
export type Logger = {
  debug: Write;
  info: Write;
  warn: Write;
  error: Write;
  isLevelEnabled?: (level: string) => boolean;
};

/** The user's logger; `false` logs nothing, which suits tests. */
export type LoggerOption = Logger | false;

const nothing = () => {};
const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  isLevelEnabled: () => false,
};

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

type Pino = typeof import('pino').default;

/** Returns a pino logger at `level` on stderr; `silent` turns it off. pino is loaded for the first line. */
export function stderrLogger(level: string): Logger {
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  const least = [...levels, 'silent'].indexOf(level);
  const lines: ((logger: Logger) => void)[] = [];
  let made: Logger | null = null;
  let loading: Promise<void> | null = null;
  const flush = (pino: Pino) => {
    made ??= madeBy(pino, level);
    for (const line of lines.splice(0)) line(made);
  };
  // A listener may end the process at once.
  const flushAtExit = () => {
    const pino = lines.length === 0 ? undefined : required<Pino>('pino');
    if (pino !== undefined) flush(pino);
  };
  const load = async () => {
    globalThis.process?.once?.('exit', flushAtExit);
    flush((await import('pino')).default);
    globalThis.process?.off?.('exit', flushAtExit);
  };
  const isLevelEnabled = (name: string) => [...levels, 'silent'].indexOf(name) >= least;
  const write = (name: (typeof levels)[number]) => (fields: object, message?: string) => {
    if (!isLevelEnabled(name)) return;
    if (made !== null) {
      made[name](fields, message);
      return;
    }
    lines.push((logger) => logger[name](fields, message));
    loading ??= load();
    waiting = Promise.all([waiting, loading]);
    // `linesWritten` rejects.
    waiting.catch(() => {});
  };
  const writes = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  return { ...writes, isLevelEnabled };
}

/** Resolves when all lines are written that waited for pino. Rejects if they could not be. */
export async function linesWritten(): Promise<void> {
  await waiting;
}

function madeBy(pino: Pino, level: string): Logger {
  // Without files, pino writes to the console.
  return builtin('node:fs') === undefined
    ? pino({ level })
    : pino({ level }, pino.destination({ dest: 2, sync: true }));
}
