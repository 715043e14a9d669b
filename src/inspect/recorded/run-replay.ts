import { createActor, type InspectionEvent } from 'xstate';
import {
  type WorkflowAbort,
  type WorkflowFact,
  type WorkflowOutput,
  workflowMachine,
} from '../../../machines/index.ts';
import { systemClock } from '../../host/clock.ts';
import { DriverCore } from '../../host/driver-core.ts';
import { heard } from '../../host/hearing.ts';
import { RunningMachine } from '../../host/run-machine.ts';
import { messageOf, PawlError, reasonOf } from '../../input/errors.ts';
import type { JournalEntry, RunHead } from '../../journal/journal.ts';
import type { Difference } from '../../journal/replay.ts';
import { factsSummary } from '../../journal/scope-log.ts';

/** Follows the replay of a run, closer than its steps. */
export type RunFollower = {
  inspect(event: InspectionEvent): void;
  /** `at` is the time of its delivery (epoch ms). */
  fact(fact: WorkflowFact, at: number): void;
};

/** Plays the entries of a workflow run: its machine alone says what happened. */
export class RunReplay {
  private readonly follower: RunFollower | null;
  private readonly compares: boolean;
  private core: DriverCore<WorkflowAbort> | null = null;
  /** The step to take next: the machine's start, or a delivery. */
  private next: (() => void) | null = null;
  private facts: WorkflowFact[] = [];
  private at = 0;
  /** The number of the entry that is played, from 1. */
  entry = 0;
  difference: Difference | null = null;

  /** Without `compares`, the machine may take another way than the journal says. */
  constructor(follower: RunFollower | null, { compares = true }: { compares?: boolean } = {}) {
    this.follower = follower;
    this.compares = compares;
  }

  /** Plays the entries that follow, up to a difference. Throws `invalid_journal` if they cannot be played. */
  play(
    entries: readonly JournalEntry[],
    onEntry: (entry: JournalEntry, facts: WorkflowFact[] | null) => void = () => {},
  ): Difference | null {
    for (const entry of entries) {
      if (this.difference !== null) break;
      this.entry += 1;
      try {
        onEntry(entry, this.takeEntry(entry));
      } catch (error) {
        if (error instanceof PawlError) throw error;
        const message = `Entry ${this.entry} of the run cannot be replayed: ${reasonOf(error)}.`;
        throw new PawlError('invalid_journal', message, { cause: error });
      }
    }
    return this.difference;
  }

  private takeEntry(entry: JournalEntry): WorkflowFact[] | null {
    switch (entry.type) {
      case 'run':
        this.begin(entry.head);
        return null;
      case 'run.delivered': {
        const { delivery } = entry;
        this.next = () => {
          this.at = delivery.at;
          this.core?.deliver(delivery);
        };
        return null;
      }
      case 'stepped': {
        this.facts = [];
        this.next?.();
        this.next = null;
        if (this.compares) this.compare(entry);
        return this.facts;
      }
      default:
        throw new Error(`an entry of the type ${entry.type} does not belong to a run`);
    }
  }

  private begin({ input, at }: RunHead): void {
    this.at = at;
    const { follower } = this;
    const machine = new RunningMachine<WorkflowAbort, WorkflowFact, WorkflowOutput>({
      actor: (settings) => createActor(heard(workflowMachine), { input, ...settings }),
      perform: () => Promise.reject(new Error('a replay performs nothing')),
      driver: (...parts) => {
        const core = new DriverCore(...parts);
        this.core = core;
        return {
          start: (startTree) => {
            this.next = () => {
              startTree();
              core.drain();
            };
          },
          command: () => {},
          answer: () => {},
        };
      },
      clock: systemClock,
      random: () => 0,
      signal: undefined,
      abortCommand: (reason) => ({ type: 'workflow.abort', reason: messageOf(reason) }),
      inspect: follower === null ? undefined : (event) => follower.inspect(event),
      owner: {
        takeFact: (fact) => {
          this.facts.push(fact);
          follower?.fact(fact, this.at);
        },
        delivering: () => {},
        tooLate: () => {},
        late: () => {},
        describeDefect: messageOf,
        userCodeFailed: () => {},
      },
    });
    machine.start();
  }

  private compare({ facts, digest }: Extract<JournalEntry, { type: 'stepped' }>): void {
    const replayed = factsSummary(this.facts);
    if (replayed.digest === digest) return;
    const said = replayed.facts === facts ? `${facts} with other contents` : replayed.facts;
    this.difference = { entry: this.entry, scope: '', recorded: facts, replayed: said };
  }
}
