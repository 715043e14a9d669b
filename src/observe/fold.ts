import type { Fact } from '../../machines/index.ts';
import type { SessionEvent, Sighting } from './events.ts';

/**
 * Something known about a session, folded over what happens in it. A fold with a `fact` method alone can be rebuilt from a
 * journal. To add one: its file, and a row in folds.ts.
 */
export type Fold = {
  /** A fact of the machines; `at` is the time of its delivery, in epoch ms. */
  fact?(fact: Fact, at: number): void;
  /** Something seen that no machine decided. */
  sighting?(sighting: Sighting): void;
  /** An event as listeners get it: a fact or a sighting in its envelope, or an event of a sub-agent (its `path` tells). */
  event?(event: SessionEvent): void;
};
