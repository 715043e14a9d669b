import fs from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import type { Logger } from '../../src/observe/log/logger.ts';

/** The module as a process has it that logged nothing so far, and what reaches standard error from it. */
let logger: typeof import('../../src/observe/log/logger.ts');
let written: MockInstance<typeof fs.writeSync>;
let atExit: number;
const lines = () =>
  written.mock.calls.flatMap(([fd, text]) => {
    expect(fd).toBe(2);
    const { level, msg, event } = JSON.parse(String(text));
    return [`${level} ${event} ${msg}`];
  });
const all = (to: Logger) => {
  for (const name of ['debug', 'info', 'warn', 'error'] as const) to[name]({ event: name }, `A ${name}.`);
};

beforeEach(async () => {
  vi.resetModules();
  logger = await import('../../src/observe/log/logger.ts');
  written = vi.spyOn(fs, 'writeSync').mockImplementation((_fd: number, text: unknown) => String(text).length);
  atExit = process.listenerCount('exit');
});
afterEach(() => void vi.restoreAllMocks());

describe('S-2 S-3: the logger of a session that was given none', () => {
  it('writes lines of level warn and above to standard error, in order, before the session ends', async () => {
    all(logger.loggerOf(undefined));
    expect(lines()).toEqual([]);
    await logger.linesWritten();
    expect(lines()).toEqual(['40 warn A warn.', '50 error A error.']);
    logger.loggerOf(undefined).warn({ event: 'more' }, 'At once.');
    expect(lines().at(-1)).toBe('40 more At once.');
    expect(lines()).toHaveLength(3);
  });

  it('is the same for all sessions, and another for those that were given one', () => {
    const own: Logger = { debug() {}, info() {}, warn() {}, error() {} };
    expect(logger.loggerOf(undefined)).toBe(logger.loggerOf(undefined));
    expect(logger.loggerOf(own)).toBe(own);
    expect(logger.loggerOf(false)).not.toBe(logger.loggerOf(undefined));
  });

  it('with false, writes nothing', async () => {
    all(logger.loggerOf(false));
    await logger.linesWritten();
    expect(lines()).toEqual([]);
  });

  it('loads pino for the first line alone, and then keeps nothing that waits for the end of the process', async () => {
    const made = logger.stderrLogger('error');
    made.warn({ event: 'unwanted' });
    await logger.linesWritten();
    expect(process.listenerCount('exit')).toBe(atExit);
    made.error({ event: 'wanted' });
    expect(process.listenerCount('exit')).toBe(atExit + 1);
    await logger.linesWritten();
    expect(process.listenerCount('exit')).toBe(atExit);
    expect(lines()).toEqual(['50 wanted undefined']);
  });

  it('writes lines that wait when the process exits, each once', async () => {
    const made = logger.stderrLogger('warn');
    made.warn({ event: 'first' }, 'A.');
    const flush = process.listeners('exit').at(-1) as (code: number) => void;
    flush(0);
    expect(lines()).toEqual(['40 first A.']);
    flush(0);
    await logger.linesWritten();
    expect(lines()).toEqual(['40 first A.']);
  });
});

describe('stderrLogger', () => {
  it.each([
    ['debug', ['20 debug A debug.', '30 info A info.', '40 warn A warn.', '50 error A error.']],
    ['info', ['30 info A info.', '40 warn A warn.', '50 error A error.']],
    ['error', ['50 error A error.']],
    ['silent', []],
  ])('at level %s, writes %j', async (level, expected) => {
    const made = logger.stderrLogger(level);
    all(made);
    await logger.linesWritten();
    expect(lines()).toEqual(expected);
    all(made);
    expect(lines()).toEqual([...expected, ...expected]);
  });

  it('waits for the lines of all loggers', async () => {
    logger.stderrLogger('warn').warn({ event: 'one' });
    logger.stderrLogger('warn').warn({ event: 'two' });
    await logger.linesWritten();
    expect(lines()).toEqual(['40 one undefined', '40 two undefined']);
  });

  it('where pino is missing, waiting for its lines fails, and nothing else does', async () => {
    vi.doMock('pino', () => {
      throw new Error('no pino here');
    });
    logger.stderrLogger('warn').warn({ event: 'one' });
    await expect(logger.linesWritten()).rejects.toThrow();
    vi.doUnmock('pino');
  });
});
