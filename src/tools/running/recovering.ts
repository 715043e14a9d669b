import type { CatalogTool, UndoneCall } from '../catalog-tool.ts';
import type { InterruptedCall, Reconciled } from './reconcile.ts';

/** What a tool can say and do about its calls once their session is over, or its process. */
export type RecoveryFields = {
  /** After a crash: asks the destination what became of a call that was in flight, before the model is told (D-7). */
  reconcile?(call: InterruptedCall): Reconciled | Promise<Reconciled>;
  /** Takes back what a call did, where a person asks for it after the session did not succeed (D-7c). */
  undo?(call: UndoneCall): unknown;
};

/** Returns how a tool of the catalog asks for its interrupted calls, and takes back those that were carried out. */
export function recovering(
  tool: RecoveryFields,
  contextOf: (context: unknown) => unknown,
): Pick<CatalogTool, 'afterCrash' | 'reconcile' | 'undo'> {
  return {
    ...(tool.reconcile !== undefined && {
      afterCrash: 'reconcile' as const,
      reconcile: (input, { idempotencyKey, signal, context }) =>
        tool.reconcile?.({ idempotencyKey, input, context: contextOf(context), signal }),
    }),
    ...(tool.undo !== undefined && {
      undo: async (call) => await tool.undo?.({ ...call, context: contextOf(call.context) }),
    }),
  } satisfies Pick<CatalogTool, 'afterCrash' | 'reconcile' | 'undo'>;
}
