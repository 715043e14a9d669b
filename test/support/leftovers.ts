/** Kinds of what keeps a process alive that the file at hand may leave behind. */
export const allowed = new Set<string>();

/** Lets a file leave some kind behind, such as the timers of a process that died only in its story. */
export function mayLeave(kind: string): void {
  allowed.add(kind);
}
