/** The ids of the drawings' elements (`npm run draw`), by which a page finds a state or an arrow. */

export function stateId(state: string): string {
  return `state-${state}`;
}

/** The line that all arrows from one state to another share. */
export function edgeId(source: string, target: string | null): string {
  return `edge-${source}-${target}`;
}

/** The text of one arrow, by its number in its machine. Graphviz adds the `a_`. */
export function arrowId(machine: string, number: number): string {
  return `a_${cellId(machine, number)}`;
}

/** The id as the drawing's source has it. */
export function cellId(machine: string, number: number): string {
  return `arrow-${machine}-${number}`;
}
