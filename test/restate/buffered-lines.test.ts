import { describe, expect, it } from 'vitest';
import type { Logger } from '../../src/observe/log/logger.ts';
import { LineBuffer } from '../../src/restate/line-buffer.ts';

/** A buffer over a logger that keeps its lines, and may throw. */
function bufferOver(refuses: (message: string | undefined) => boolean = () => false) {
  const lines: unknown[] = [];
  const failures: unknown[] = [];
  const write = (level: string) => (fields: object, message?: string) => {
    if (refuses(message)) throw new Error(`${message} refused`);
    lines.push([level, fields, message]);
  };
  const logger: Logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  return { lines, failures, buffer: new LineBuffer(logger, (error) => failures.push(error)) };
}

describe('log lines of a durable session are written once (D-3)', () => {
  const levels = ['info', 'warn', 'error'] as const;
  const events = ['attempt.failed', 'session.succeeded', 'session.failed', 'session.aborted'];
  it.each(levels.flatMap((level) => events.map((event) => [level, event] as const)))(
    '%s of %s waits until it may be written',
    (level, event) => {
      const { lines, buffer } = bufferOver();
      buffer[level]({ event }, 'a line');
      expect(lines).toEqual([]);
      buffer.takeLines()?.();
      expect(lines).toEqual([[level, { event }, 'a line']]);
    },
  );

  it.each(levels)('%s of an effect is written at once', (level) => {
    const { lines, buffer } = bufferOver();
    buffer[level]({ event: 'listener.failed' }, 'one');
    buffer[level]({ session: 'attempt.failed' }, 'two');
    expect(lines).toEqual([
      [level, { event: 'listener.failed' }, 'one'],
      [level, { session: 'attempt.failed' }, 'two'],
    ]);
    expect(buffer.takeLines()).toBeNull();
  });

  it('lines for debugging are written at once, whatever they tell', () => {
    const { lines, buffer } = bufferOver();
    buffer.debug({ event: 'attempt.failed' }, 'a line');
    expect(lines).toEqual([['debug', { event: 'attempt.failed' }, 'a line']]);
    expect(buffer.takeLines()).toBeNull();
  });

  it('in their order, and each only once', () => {
    const { lines, buffer } = bufferOver();
    buffer.warn({ event: 'attempt.failed' }, 'one');
    buffer.error({ event: 'session.failed' }, 'two');
    const first = buffer.takeLines();
    expect(buffer.takeLines()).toBeNull();
    buffer.warn({ event: 'attempt.failed' }, 'three');
    const second = buffer.takeLines();
    first?.();
    second?.();
    expect(lines.map((line) => (line as unknown[])[2])).toEqual(['one', 'two', 'three']);
  });

  it('a logger that throws loses its own line and no other', () => {
    const { lines, failures, buffer } = bufferOver((message) => message === 'one');
    buffer.warn({ event: 'attempt.failed' }, 'one');
    buffer.warn({ event: 'attempt.failed' }, 'two');
    buffer.takeLines()?.();
    expect(lines).toEqual([['warn', { event: 'attempt.failed' }, 'two']]);
    expect(failures).toEqual([new Error('one refused')]);
  });
});
