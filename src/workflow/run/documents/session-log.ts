import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../../input/errors.ts';
import type { SessionEvent } from '../../../observe/events.ts';
import type { SessionResult } from '../../../session/session.ts';

/**
 * The log of one session in its run's folder: a JSON line for each event except reply deltas, and a last one for the
 * result. Each line is written at once, so the log survives a crash.
 */
export class RunSessionLog {
  private readonly file: number;
  private closed = false;
  /** Why a line could not be written; null if no write failed. */
  problem: string | null = null;

  constructor(folder: string, role: string, item: string | null) {
    this.file = openSync(freePath(folder, item === null ? role : `${item}-${role}`), 'wx');
  }

  write(event: SessionEvent): void {
    if (event.type !== 'model.delta') this.line(event);
  }

  end({ sessionId, agent, status, slugs, report, counters }: SessionResult): void {
    this.line({ type: 'session.result', sessionId, agent, status, slugs, report, counters });
  }

  close(): void {
    this.closed = true;
    closeSync(this.file);
  }

  private line(value: object): void {
    // Sightings after the session's end are dropped: the file descriptor may belong to another file by then.
    if (this.closed || this.problem !== null) return;
    try {
      writeSync(this.file, `${JSON.stringify(value)}\n`);
    } catch (error) {
      this.problem = `the session log could not be written: ${messageOf(error)}`;
    }
  }
}

function freePath(folder: string, name: string): string {
  for (let number = 1; ; number += 1) {
    const path = join(folder, `${name}${number === 1 ? '' : `-${number}`}.jsonl`);
    if (!existsSync(path)) return path;
  }
}
