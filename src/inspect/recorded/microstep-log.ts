import type { AnyActorRef, AnyMachineSnapshot, InspectionEvent } from 'xstate';
import { numberAt } from '../study/watch.ts';
import { arrowName } from './arrow-names.ts';
import type { MachineId, Microstep, Series } from './recording-data.ts';

/** Notes the microsteps of the machines, as XState's inspection tells them. */
export class MicrostepLog {
  readonly microsteps: Microstep[] = [];
  /** The contexts of the machines, by frame. They share what did not change. */
  private readonly contexts: unknown[] = [];
  /** The number of the entry being played, and of the facts and sightings so far. */
  readonly at = { entry: 0, facts: 0 };
  private readonly begun = new WeakSet<AnyActorRef>();
  /** How many frames at the end tell of a start, whose facts come after it. */
  private starting = 0;

  inspect(scope: string, event: InspectionEvent): void {
    if (event.type !== '@xstate.microstep' && event.type !== '@xstate.snapshot') return;
    const actor = event.actorRef as AnyActorRef;
    const machine = machineOf(actor);
    if (machine === null) return;
    const isFirst = !this.begun.has(actor);
    // Later snapshots say what the microsteps before them said.
    if (event.type === '@xstate.snapshot' && !isFirst) {
      if (event.event.type === 'xstate.init') this.settle();
      return;
    }
    this.begun.add(actor);
    this.settle();
    const snapshot = event.snapshot as AnyMachineSnapshot;
    const isStart = event.event.type === 'xstate.init';
    this.microsteps.push({
      scope,
      actor: pathOf(actor),
      machine,
      states: snapshot._nodes.map(({ id }) => id),
      arrows: event.type === '@xstate.microstep' ? event._transitions.map((one) => arrowName(one as never)) : [],
      isStart: isFirst,
      isActive: snapshot.status === 'active',
      ...this.at,
    });
    this.contexts.push(snapshot.context);
    this.starting = isStart ? this.starting + 1 : 0;
  }

  /** The context of the machine that made a step, after it. */
  contextAt(frame: number): unknown {
    return this.contexts[frame];
  }

  /** The number of the entry that a step followed from. */
  entryOf(frame: number): number {
    return this.microsteps[frame]?.entry ?? 0;
  }

  /** Returns where numbers in the contexts of the session's machines changed, by paths such as `turn.attempt`. */
  valuesOf(paths: readonly string[]): Record<string, Series> {
    const found = paths.map((path): [string, Series] => {
      const [machine, ...names] = path.split('.');
      const series: Series = [];
      for (const [number, frame] of this.microsteps.entries()) {
        if (frame.scope !== '' || frame.machine !== machine) continue;
        const value = numberAt(this.contexts[number], names);
        if (series.at(-1)?.[1] !== value) series.push([number, value]);
      }
      return [path, series];
    });
    return Object.fromEntries(found);
  }

  /** A machine that starts emits its facts after its first frames. */
  private settle(): void {
    for (const frame of this.starting === 0 ? [] : this.microsteps.slice(-this.starting)) frame.facts = this.at.facts;
    this.starting = 0;
  }

  /** Assigns the facts and sightings so far to the last frame. A machine that ends emits facts after its last frame. */
  close(): void {
    this.settle();
    const last = this.microsteps.at(-1);
    if (last !== undefined) last.facts = this.at.facts;
  }
}

const machineIds: readonly MachineId[] = ['session', 'turn', 'attempt', 'toolCall', 'workflow', 'item'];

function machineOf(actor: AnyActorRef): MachineId | null {
  const { id } = (actor as unknown as { logic: { id?: string; config?: object } }).logic;
  return machineIds.find((one) => one === id) ?? null;
}

function pathOf(actor: AnyActorRef): string {
  const { _parent: parent } = actor as { _parent?: AnyActorRef };
  if (parent === undefined) return '';
  const above = pathOf(parent);
  return above === '' ? actor.id : `${above}/${actor.id}`;
}
