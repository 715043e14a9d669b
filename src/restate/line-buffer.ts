import { onRejection } from '../input/errors.ts';
import type { Logger } from '../observe/log/logger.ts';

type Line = { level: 'info' | 'warn' | 'error'; fields: object; message: string | undefined };

const ofFacts: readonly string[] = ['attempt.failed', 'session.succeeded', 'session.failed', 'session.aborted'];

/** A logger that keeps its lines until they may be written. */
export class LineBuffer implements Logger {
  private readonly logger: Logger;
  private readonly onFailure: (error: unknown) => void;
  private kept: Line[] = [];

  /** `onFailure` is called if the logger throws. */
  constructor(logger: Logger, onFailure: (error: unknown) => void) {
    this.logger = logger;
    this.onFailure = onFailure;
  }

  /** What is buffered is a step of Restate's journal, which must not depend on a logger's level. */
  isLevelEnabled(level: string): boolean {
    return level !== 'debug' || (this.logger.isLevelEnabled?.(level) ?? true);
  }

  debug(fields: object, message?: string): unknown {
    return this.logger.debug(fields, message);
  }

  info(fields: object, message?: string): unknown {
    return this.keep({ level: 'info', fields, message });
  }

  warn(fields: object, message?: string): unknown {
    return this.keep({ level: 'warn', fields, message });
  }

  error(fields: object, message?: string): unknown {
    return this.keep({ level: 'error', fields, message });
  }

  /** Lines that follow from facts come again in a replay, and in the same order; others are of an effect. */
  private keep(line: Line): unknown {
    const isOfFact = 'event' in line.fields && ofFacts.includes(String(line.fields.event));
    return isOfFact ? void this.kept.push(line) : this.logger[line.level](line.fields, line.message);
  }

  /** Takes the buffered lines and returns a function that writes them; null if the buffer is empty. */
  takeLines(): (() => void) | null {
    const { kept } = this;
    if (kept.length === 0) return null;
    this.kept = [];
    return () => {
      for (const { level, fields, message } of kept) {
        try {
          onRejection(this.logger[level](fields, message), this.onFailure);
        } catch (error) {
          this.onFailure(error);
        }
      }
    };
  }
}
