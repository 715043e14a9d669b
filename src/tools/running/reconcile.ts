import { messageOf, shown } from '../../input/errors.ts';
import { isRecord } from '../../platform/plain-json.ts';
import type { CatalogTool, ToolRun } from '../catalog-tool.ts';

/** A call that ran when its process died. */
export type InterruptedCall = {
  /** The key that the tool was given as its context's `idempotencyKey`. */
  idempotencyKey: string;
  /** The input as the tool had it. */
  input: unknown;
  /** What the session was given as its `context`. */
  context: unknown;
  /** Aborts on the tool's timeout and when the session is aborted. */
  signal: AbortSignal;
};

/**
 * The outcome of such a call (D-7). `done`: it was carried out, and this is what the tool would have returned. `notDone`: it
 * was not, so the tool runs now. `unknown`: the outcome cannot be determined; the model gets this reason.
 */
export type Reconciled = { done: unknown } | { notDone: true } | { unknown: string };

/** What the model reads of a call with an unknown outcome (D-4). */
export const interruptedText =
  'interrupted, outcome unknown: the process ended while the tool ran, and it was not run again.';

/** Asks a tool what became of an interrupted call. An error or an invalid answer counts as unknown. */
export async function reconciled(tool: CatalogTool, input: unknown, run: ToolRun): Promise<Reconciled> {
  try {
    const said: unknown = await tool.reconcile?.(input, run);
    if (isRecord(said) && Object.keys(said).length === 1) {
      if ('done' in said) return { done: said.done };
      if (said.notDone === true) return { notDone: true };
      if (typeof said.unknown === 'string') return { unknown: said.unknown };
    }
    return {
      unknown: `reconcile() must return { done }, { notDone: true } or { unknown: reason }; got ${shown(said)}`,
    };
  } catch (error) {
    return { unknown: `reconcile() failed: ${messageOf(error)}` };
  }
}
