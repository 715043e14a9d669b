import { createActor, type InspectionEvent } from 'xstate';
import {
  type Delivery,
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
import type { Difference } from '../../journal/replay/replay.ts';
import { StatedAgain } from '../../journal/replay/stated-again.ts';
import { restoredFacts } from '../../journal/replay/stored-facts.ts';

/** Follows the replay of a run, closer than its steps. */
export type RunFollower = {
  inspect(event: InspectionEvent): void;
  /** `at` is the time of its delivery (epoch ms). */
  fact(fact: WorkflowFact, at: number): void;
};

/** Plays the entries of a workflow run: its machine alone says what happened. */
export class RunReplay {
  private readonly follower: RunFollower | null;
  private core: DriverCore<WorkflowAbort> | null = null;
  /** The step to take next: the machine's start, or a delivery. */
  private next: (() => void) | null = null;
  private delivery: Delivery<WorkflowAbort> | null = null;
  private readonly again = new StatedAgain<WorkflowFact>();
  private facts: WorkflowFact[] = [];
  private at = 0;
  /** The number of the entry that is played, from 1. */
  entry = 0;
  difference: Difference | null = null;

  constructor(follower: RunFollower | null) {
    this.follower = follower;
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
        this.delivery = delivery;
        this.next = () => {
          this.at = delivery.at;
          this.core?.deliver(delivery);
        };
        return null;
      }
      case 'stepped': {
        this.facts = [];
        this.again.begin(restoredFacts<WorkflowFact>(entry.facts, this.delivery));
        this.next?.();
        this.next = null;
        this.compare();
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
          this.again.take(fact);
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

  private compare(): void {
    const { difference } = this.again;
    if (difference !== null) this.difference = { entry: this.entry, scope: '', ...difference };
  }
}
