import type { ActorLogic, AnyActorRef, AnyEventObject, EventObject, PromiseSnapshot, Snapshot } from 'xstate';
import type { Delivered, Effect, EffectKind, EffectKinds, EffectOf } from './effects.ts';

/**
 * Events that a leaf, an inert actor of the tree, emits to the host (D-1). A leaf requests one effect when it starts
 * and ends when the host answers. If it is stopped first, it cancels its request. It reaches the host only
 * through emitted events, so the machines can be read, drawn and explored without a host.
 */
export type HostEvent =
  | { type: 'effect.requested'; effect: Effect; leaf: LeafRef }
  | { type: 'effect.cancelled'; key: string };

/** The two events that a host may send to a leaf. */
export type LeafEvent =
  | { type: 'effect.delivered'; delivered: Delivered<EffectKind> }
  /** A defect in the effect's code, never an expected fault. The leaf fails, and its invoker takes `onError`. */
  | { type: 'effect.broke'; message: string };

export type LeafRef = { send(event: LeafEvent): void };

export type LeafInput<K extends EffectKind> = { key: string; request: EffectKinds[K]['request'] };
export type LeafSnapshot<K extends EffectKind> = Snapshot<Delivered<K>> & LeafInput<K>;
/**
 * What a leaf is to its machine: like a promise, it has an input and ends with an output. So a machine takes
 * a promise actor in the place of a leaf (`provide`). An interface, so that the machines' declarations can name it.
 */
export interface LeafLogic<K extends EffectKind>
  extends ActorLogic<
    PromiseSnapshot<Delivered<K>, AnyInput>,
    AnyEventObject,
    LeafInput<K>,
    AnyActorRef['system'],
    EventObject
  > {}

/** A promise keeps its input in its snapshot, where no machine looks at it. */
type AnyInput = AnyEventObject[string];

/** What a leaf is to its host. */
type HostedLeaf<K extends EffectKind> = ActorLogic<
  LeafSnapshot<K>,
  LeafEvent | { type: 'xstate.stop' },
  LeafInput<K>,
  AnyActorRef['system'],
  HostEvent
>;

/**
 * Builds the logic of a leaf that requests effects of `kind`. The type assertions on effects trust the host to deliver to
 * a leaf only the outcome of the effect that it requested.
 */
export function effectLeaf<K extends EffectKind>(kind: K): LeafLogic<K> {
  const hosted: HostedLeaf<K> = {
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
  return hosted as unknown as LeafLogic<K>;
}

/** The leaves, by the names that the machines use to invoke them. */
export const leaves = {
  prepare: effectLeaf('prepare'),
  compact: effectLeaf('compact'),
  plan: effectLeaf('plan'),
  admission: effectLeaf('admission'),
  model: effectLeaf('model'),
  tool: effectLeaf('tool'),
  approval: effectLeaf('approval'),
  wait: effectLeaf('wait'),
  close: effectLeaf('close'),
};

/** The leaves of a workflow run. */
export const workflowLeaves = {
  restore: effectLeaf('restore'),
  scan: effectLeaf('scan'),
  take: effectLeaf('take'),
  work: effectLeaf('work'),
  archive: effectLeaf('archive'),
  setAside: effectLeaf('setAside'),
  capture: effectLeaf('capture'),
  review: effectLeaf('review'),
  summarise: effectLeaf('summarise'),
  wait: leaves.wait,
};
