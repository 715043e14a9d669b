/** Kinds of resources that the current test file may leave behind. */
export const allowed = new Set<string>();

/** Lets a file leave some kind behind, such as the timers of a process whose death is simulated. */
export function mayLeave(kind: string): void {
  allowed.add(kind);
}
