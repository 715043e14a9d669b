import type { Row } from '../recorded/row-list.ts';
import type { ShownRecording } from '../recorded/shown-recording.ts';

/** How far a step of the page goes. */
export type Unit = 'step' | 'delivery' | 'attempt' | 'turn' | 'item';

/** Returns the frame that a step of some size leads to, from a frame, forwards (1) or back (-1). */
export function stepFrom(recorded: ShownRecording, frame: number, unit: Unit, direction: 1 | -1): number {
  const { microsteps } = recorded;
  const last = microsteps.length - 1;
  switch (unit) {
    case 'step':
      return clamped(frame + direction, last);
    case 'delivery': {
      const entry = microsteps[frame]?.entry;
      let to = frame + direction;
      while (to > 0 && to < last && microsteps[to]?.entry === entry) to += direction;
      return clamped(to, last);
    }
    default: {
      const begins = recorded.rows.byId.filter(({ kind }) => kind === unit).map(({ told }) => recorded.frameOf(told));
      return nextOf(begins, frame, direction) ?? (direction === 1 ? last : 0);
    }
  }
}

/** Returns the frame of the next failure, or of the one before; null if there is none. */
export function failureFrom(recorded: ShownRecording, frame: number, direction: 1 | -1): number | null {
  const failures = recorded.rows.byId.flatMap((row) =>
    isFailure(row) ? [recorded.frameOf(row.ended ?? row.told)] : [],
  );
  return nextOf(failures, frame, direction);
}

function isFailure({ kind, state, slugs }: Row): boolean {
  if (kind === 'item') return state === 'failed';
  return (kind === 'attempt' || kind === 'call') && state === 'failed' && slugs.length > 0;
}

function nextOf(frames: readonly number[], from: number, direction: 1 | -1): number | null {
  const sorted = [...frames].sort((one, other) => one - other);
  return (direction === 1 ? sorted.find((one) => one > from) : sorted.findLast((one) => one < from)) ?? null;
}

function clamped(frame: number, last: number): number {
  return Math.max(0, Math.min(last, frame));
}
