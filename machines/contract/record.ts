import { type EventObject, enqueueActions, type MachineContext, type NonReducibleUnknown } from 'xstate';

/** What a rule does to a machine: how its context changes, and the facts to state, in order. */
export type Change<Context, Emitted> = { change: Partial<Context>; facts: readonly Emitted[] };

/** The one action that carries out a rule: assigns its change, then states its facts. */
export function record<
  Context extends MachineContext,
  Event extends EventObject,
  Params extends NonReducibleUnknown | undefined,
  Emitted extends EventObject,
>(rule: (context: Context, params: Params) => Change<Context, Emitted>) {
  return enqueueActions<Context, Event, Params, Event, never, never, never, never, Emitted>(
    ({ context, enqueue }, params) => {
      const { change, facts } = rule(context, params);
      enqueue.assign(change);
      for (const fact of facts) enqueue.emit(fact);
    },
  );
}
