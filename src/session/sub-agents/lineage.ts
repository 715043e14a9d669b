/** A session's place in the tree of sub-agents. */
export type Lineage = {
  parentSessionId: string | null;
  /** 1 for the root session. */
  depth: number;
  maxDepth: number;
  /** The secrets of the sessions above, since a task or a report may repeat them (S-5). */
  secrets: readonly string[];
  /** Returns a result that a session above keeps, by its id; null if none does (B-7e). */
  resultAbove: (id: string) => string | null;
};

/** The lineage of a session without a parent. */
export const root: Lineage = {
  parentSessionId: null,
  depth: 1,
  maxDepth: Number.POSITIVE_INFINITY,
  secrets: [],
  resultAbove: () => null,
};
