import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Journal, sqliteJournal } from '../../src/index.ts';
import type { World } from './world.ts';

/** What was on the disk when a write was acknowledged: the end of the log, its header and when the database changed. */
type Acknowledged = { end: number; header: string; changedAt: bigint };

/**
 * A disk with a journal in a real SQLite file. When the power fails, writes that were not acknowledged are lost, kept or
 * torn.
 */
export class Disk {
  private readonly folder: string;
  private readonly connections: Journal[] = [];
  private file: string;
  private acknowledged: Acknowledged | null = null;
  /** A connection that belongs to no simulated process. */
  journal: Journal;

  /** `folder` is the disk's alone, and empty. */
  constructor(folder: string) {
    this.folder = folder;
    this.file = join(folder, 'journal-0');
    this.journal = this.connect();
  }

  /** Opens the journal for a process. */
  connect(): Journal {
    const journal = sqliteJournal(this.file);
    this.connections.push(journal);
    return journal;
  }

  /** All that was written before this is acknowledged to a process. */
  acknowledge(): void {
    this.acknowledged = this.state();
  }

  /** The power fails. Continues on a disk with what is left. */
  cutPower({ choices }: World): string {
    const next = join(this.folder, `journal-${this.connections.length}`);
    const log = readFileSync(`${this.file}-wal`);
    const { acknowledged } = this;
    const now = this.state();
    copyFileSync(this.file, next);
    // A log that was moved into the database was whole.
    const isGrown =
      acknowledged !== null && acknowledged.header === now.header && acknowledged.changedAt === now.changedAt;
    const from = isGrown ? acknowledged.end : log.length;
    const fate = from === log.length ? 'kept' : choices.pick(['lost', 'torn', 'torn, with garbage', 'kept'] as const);
    const cut = fate === 'kept' ? log.length : fate === 'lost' ? from : from + choices.below(log.length - from);
    const garbage = Buffer.alloc(fate === 'torn, with garbage' ? 5_000 : 0, cut % 251);
    writeFileSync(`${next}-wal`, Buffer.concat([log.subarray(0, cut), garbage]));
    this.file = next;
    this.acknowledged = null;
    this.journal = this.connect();
    return fate;
  }

  /** Closes and removes all. */
  async close(): Promise<void> {
    for (const connection of this.connections) await connection.close();
    rmSync(this.folder, { recursive: true });
  }

  private state(): Acknowledged {
    const log = `${this.file}-wal`;
    const header = Buffer.alloc(32);
    if (!existsSync(log)) return { end: 0, header: '', changedAt: 0n };
    const open = openSync(log, 'r');
    readSync(open, header, 0, header.length, 0);
    closeSync(open);
    const changedAt = statSync(this.file, { bigint: true }).mtimeNs;
    return { end: statSync(log).size, header: header.toString('hex'), changedAt };
  }
}
