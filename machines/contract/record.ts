import { type EventObject, enqueueActions, type MachineContext, type NonReducibleUnknown } from 'xstate';

/** A rule's effect on a machine: its context changes, and the facts to emit, in order. */
export type Change<Context, Emitted> = { change: Partial<Context>; facts: readonly Emitted[] };

/** The one action that applies a rule: assigns its change, then emits its facts. */
export function record<
  Context extends MachineContext,
  Event extends EventObject,
  Params extends NonReducibleUnknown | undefined,
  Emitted extends EventObject,
>(rule: (context: Context, params: Params) => Change<Context, Emitted>) {
  return enqueueActions<Context, Event, Params, Event, never, never, never, never, Emitted>(
    ({ context, enqueue }, params) => {
      const { change, facts } = rule(context, params);
      // XState makes a new snapshot for every assignment.
      if (Object.keys(change).length > 0) enqueue.assign(() => change);
      for (const fact of facts) enqueue.emit(fact);
    },
  );
}
