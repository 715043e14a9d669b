/**
 * Why a request does not extend the one before, so that a provider's cache is not read (B-5d): another target; another
 * agent has the conversation; other instructions; a plan that offers other tools; an MCP server changed its list; the
 * context guard left out what was sent; a compaction; a refused piece was replaced; the report alone is offered.
 */
export type PrefixBreak =
  | 'target'
  | 'handoff'
  | 'instructions'
  | 'plan'
  | 'tools_changed'
  | 'context_guard'
  | 'compaction'
  | 'refused_piece'
  | 'report_only';

export type BreakTally = Partial<Record<PrefixBreak, number>>;

/** Counts a request that does not extend the one before, in place. */
export function countPrefixBreak(
  { cachePrefixBreaks: breaks }: { cachePrefixBreaks: BreakTally },
  cause: PrefixBreak,
): void {
  breaks[cause] = (breaks[cause] ?? 0) + 1;
}

export function breaksTogether(one: BreakTally, other: BreakTally): BreakTally {
  const causes = Object.keys({ ...one, ...other }) as PrefixBreak[];
  return Object.fromEntries(causes.map((cause) => [cause, (one[cause] ?? 0) + (other[cause] ?? 0)]));
}
