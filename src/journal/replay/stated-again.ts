import { isSameDecision, isSameJson } from '../../../machines/index.ts';

/**
 * A step that is replayed (D-3): what its entry says was stated takes the place of what the machines state again, so that
 * words which a release changed stay as they were said (D-6).
 */
export class StatedAgain<Stated extends { type: string }> {
  private recorded: readonly Stated[] = [];
  private stated: Stated[] = [];
  /** How many facts the machines stated as they were recorded. */
  private same = 0;

  begin(recorded: readonly Stated[]): void {
    this.recorded = recorded;
    this.stated = [];
    this.same = 0;
  }

  /** Returns what was recorded in the place of a fact that the machines state; null once they take another way. */
  take(fact: Stated): Stated | null {
    const recorded = this.recorded[this.same];
    const isOnTheWay = this.same === this.stated.length;
    this.stated.push(fact);
    if (recorded === undefined || !isOnTheWay || !isSameDecision(recorded, fact)) return null;
    this.same += 1;
    return recorded;
  }

  /** What was recorded and the machines did not state. */
  get rest(): readonly Stated[] {
    return this.recorded.slice(this.same);
  }

  /** What was recorded and what was stated, if the machines took another way; else null. */
  get difference(): { recorded: string; replayed: string } | null {
    if (this.same === this.stated.length && this.rest.length === 0) return null;
    const [recorded, replayed] = [typesOf(this.recorded), typesOf(this.stated)];
    if (recorded !== replayed) return { recorded, replayed };
    return { recorded: shortOf(this.recorded[this.same]), replayed: shortOf(this.stated[this.same]) };
  }

  /** The facts that say the same in other words. */
  get reworded(): { recorded: Stated; replayed: Stated }[] {
    return this.stated.slice(0, this.same).flatMap((replayed, index) => {
      const recorded = this.recorded[index];
      return recorded === undefined || isSameJson(recorded, replayed) ? [] : [{ recorded, replayed }];
    });
  }
}

const mostShown = 400;

function shortOf(fact: unknown): string {
  const text = JSON.stringify(fact);
  return text.length <= mostShown ? text : `${text.slice(0, mostShown)}…`;
}

function typesOf(facts: readonly { type: string }[]): string {
  return facts.map(({ type }) => type).join(' ');
}
