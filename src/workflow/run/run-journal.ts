import {
  type Delivery,
  machinesVersion,
  type WorkflowAbort,
  type WorkflowFact,
  type WorkflowInput,
} from '../../../machines/index.ts';
import { type Journal, journalFormat, type SessionChange, type SessionMessage } from '../../journal/journal.ts';
import { steppedEntry } from '../../journal/scope-log.ts';
import { TreeLog } from '../../journal/tree-log.ts';
import { randomId } from '../../platform/random-id.ts';

export type RunJournalOwner = {
  abort(reason: string): void;
  /** Something is wrong with the journal, or with a message in it. */
  failed(error: unknown): void;
};

/**
 * The journal of a run, for inspection: the deliveries of its machine, and its facts (S-8). Runs resume from
 * the backlog, so a run continues even if its journal cannot be written.
 */
export class RunJournal {
  private readonly tree: TreeLog;
  private facts: WorkflowFact[] = [];
  private position = 0;
  private isAborted = false;
  private ended: SessionChange = {};

  constructor(journal: Journal, input: WorkflowInput, at: number, owner: RunJournalOwner) {
    const sessionId = `run-${input.run}-${randomId().slice(0, 8)}`;
    const head = { format: journalFormat, machines: machinesVersion, sessionId, input, at };
    this.tree = new TreeLog(journal, { sessionId, agent: 'workflow', metadata: { run: input.run, role: 'run' } });
    this.tree.connect({
      position: () => this.position,
      waiting: () => [],
      ending: () => this.ended,
      receive: (message) => receive(message, owner),
      failed: (error) => owner.failed(error),
      troubled: (error) => owner.failed(error),
    });
    this.tree.listen();
    this.tree.note({ scope: '', type: 'run', head });
    this.step(null);
  }

  /** Before each delivery. */
  delivering(delivery: Delivery<WorkflowAbort>): void {
    if (this.tree.isClosed) return;
    this.tree.note({ scope: '', type: 'run.delivered', delivery });
    this.step(delivery);
  }

  takeFact(fact: WorkflowFact): void {
    this.facts.push(fact);
    this.position += 1;
    if (fact.type === 'workflow.aborting') this.isAborted = true;
    if (fact.type === 'workflow.completed') this.ended = { status: 'succeeded' };
    if (fact.type === 'workflow.exitedEarly') this.ended = { status: this.isAborted ? 'aborted' : 'failed' };
  }

  async end(status: NonNullable<SessionChange['status']>): Promise<void> {
    await this.tree.end({ status }).catch(reported);
  }

  /** Notes a step. Its facts follow before the note is written. */
  private step(delivery: Delivery<WorkflowAbort> | null): void {
    this.facts = [];
    const entry = steppedEntry('', this.position, this.facts, delivery);
    this.tree.note(entry);
    void this.tree.write().catch(reported);
  }
}

/** The owner already knows of a write that failed. */
const reported = () => undefined;

function receive(message: SessionMessage, owner: RunJournalOwner): null {
  if (message.type === 'session.abort') owner.abort(message.reason);
  else owner.failed(new Error(`A run can only be aborted, so ${message.type} had no effect.`));
  return null;
}
