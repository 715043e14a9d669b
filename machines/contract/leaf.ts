import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate';
import type { Delivered, Effect, EffectKind, EffectKinds, EffectOf } from './effects.ts';

/**
 * The leaves of the actor tree (D-1): inert. A leaf asks the host for one effect when it starts and ends when the host
 * delivers; when it is stopped before, it takes its request back. It speaks to the host by emitted events alone, so
 * that the machines need no host to be read, drawn or walked through.
 */
export type HostEvent =
  | { type: 'effect.requested'; effect: Effect; leaf: LeafRef }
  | { type: 'effect.cancelled'; key: string };

/** The two things that a host may send to a leaf. */
export type LeafEvent =
  | { type: 'effect.delivered'; delivered: Delivered<EffectKind> }
  /** A defect of the effect's own code, never an expected fault: the leaf fails, which is its invoker's `onError`. */
  | { type: 'effect.broke'; message: string };

export type LeafRef = { send(event: LeafEvent): void };

export type LeafInput<K extends EffectKind> = { key: string; request: EffectKinds[K]['request'] };
export type LeafSnapshot<K extends EffectKind> = Snapshot<Delivered<K>> & LeafInput<K>;
/** An interface, so that the declarations of the machines can name it. */
export interface LeafLogic<K extends EffectKind>
  extends ActorLogic<
    LeafSnapshot<K>,
    LeafEvent | { type: 'xstate.stop' },
    LeafInput<K>,
    AnyActorRef['system'],
    HostEvent
  > {}

/**
 * The logic of a leaf that requests effects of `kind`. The two assertions are the place where a key's kind is trusted:
 * the host delivers to a leaf nothing but the outcome of the effect that the leaf asked for.
 */
export function effectLeaf<K extends EffectKind>(kind: K): LeafLogic<K> {
  return {
    getInitialSnapshot: (_scope, input) => ({ status: 'active', output: undefined, error: undefined, ...input }),
    start: ({ key, request }, scope) => {
      const effect: EffectOf<K> = { kind, key, request };
      scope.emit({ type: 'effect.requested', effect: effect as Effect, leaf: scope.self });
    },
    transition: (snapshot, event, scope) => {
      switch (event.type) {
        case 'effect.delivered':
          return { ...snapshot, status: 'done', output: event.delivered as Delivered<K>, error: undefined };
        case 'effect.broke':
          return { ...snapshot, status: 'error', output: undefined, error: event.message };
        case 'xstate.stop':
          scope.emit({ type: 'effect.cancelled', key: snapshot.key });
          return { ...snapshot, status: 'stopped', output: undefined, error: undefined };
        default:
          return event satisfies never;
      }
    },
    getPersistedSnapshot: (snapshot) => snapshot,
  };
}

/** The leaves, by the name that the machines invoke them by. */
export const leaves = {
  prepare: effectLeaf('prepare'),
  model: effectLeaf('model'),
  tool: effectLeaf('tool'),
  approval: effectLeaf('approval'),
  wait: effectLeaf('wait'),
  close: effectLeaf('close'),
};

/** Those of a workflow run. */
export const workflowLeaves = {
  restore: effectLeaf('restore'),
  scan: effectLeaf('scan'),
  work: effectLeaf('work'),
  archive: effectLeaf('archive'),
  setAside: effectLeaf('setAside'),
  capture: effectLeaf('capture'),
  review: effectLeaf('review'),
  summarise: effectLeaf('summarise'),
  wait: leaves.wait,
};
