import { join } from 'node:path';
import { z } from 'zod';
import type { RunState } from '../../../machines/index.ts';
import { messageOf } from '../../input/errors.ts';
import { readIfThere, writeAtomically } from '../backlog/files.ts';

const place = 'agent_runs/tries.json';
/** The outcome of a run, by item. */
type Ended = Pick<RunState, 'run' | 'succeeded'> & { failures: readonly { id: string }[] };

const schema = z.record(z.string(), z.array(z.string()));

/**
 * The runs in which items failed since they last succeeded, by item: `{ "BUG-001": ["2026-01-31T12-00-00-000Z"] }`. It
 * outlives a run, so that what always fails does not keep runs from all else (W-1).
 */
export class Tries {
  private readonly path: string;
  private readonly problem: (message: string) => void;

  /** `problem` is called if the file cannot be read. */
  constructor(backlog: string, problem: (message: string) => void) {
    this.path = join(backlog, place);
    this.problem = problem;
  }

  /** Notes the failures and successes of a run. Repeating it changes nothing. Returns the failed runs of each item. */
  note({ run, failures, succeeded }: Ended): ReadonlyMap<string, readonly string[]> {
    const before = this.read();
    const tries = new Map(before ?? []);
    for (const { id } of failures) {
      const runs = tries.get(id) ?? [];
      if (!runs.includes(run)) tries.set(id, [...runs, run]);
    }
    for (const id of succeeded) tries.delete(id);
    this.write(before, tries);
    return tries;
  }

  /** The failed runs of each item. */
  failed(): ReadonlyMap<string, readonly string[]> {
    return this.read() ?? new Map();
  }

  /** Forgets an item, which a person looks at now. */
  forget(id: string): void {
    const before = this.read();
    const tries = new Map(before ?? []);
    tries.delete(id);
    this.write(before, tries);
  }

  /** Null for a file that cannot be read: it only affects the order of the work, so it is reported and replaced. */
  private read(): Map<string, string[]> | null {
    try {
      return new Map(Object.entries(schema.parse(JSON.parse(readIfThere(this.path) ?? '{}'))));
    } catch (error) {
      this.problem(`${place} cannot be read, so earlier failures do not count: ${messageOf(error)}`);
      return null;
    }
  }

  private write(before: ReadonlyMap<string, unknown> | null, tries: ReadonlyMap<string, readonly string[]>): void {
    const text = JSON.stringify(Object.fromEntries(tries), null, 2);
    const isKnown = before !== null && text === JSON.stringify(Object.fromEntries(before), null, 2);
    if (!isKnown) writeAtomically(this.path, `${text}\n`);
  }
}
