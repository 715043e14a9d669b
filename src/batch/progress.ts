import { formatDollars, formatDuration } from '../platform/text.ts';

/** How far a batch is. */
export type BatchState = {
  total: number;
  succeeded: number;
  failed: number;
  running: number;
  costUsd: number | null;
  elapsedMs: number;
};

/** Returns the line that shows how far a batch is, of at most `width` characters. */
export function progressLine(state: BatchState, width: number): string {
  const { total, succeeded, failed, running, costUsd, elapsedMs } = state;
  const done = succeeded + failed;
  const leftMs = done === 0 ? null : (elapsedMs / done) * (total - done);
  const parts = [
    `${done} of ${total}`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(running > 0 ? [`${running} running`] : []),
    ...(costUsd === null || costUsd === 0 ? [] : [formatDollars(costUsd)]),
    ...(leftMs === null || done === total ? [] : [`${formatDuration(leftMs)} left`]),
  ];
  const text = parts.join(' · ');
  const room = Math.min(40, width - text.length - 2);
  if (room < 8) return text.slice(0, width);
  const full = total === 0 ? room : Math.floor((room * done) / total);
  return `${'█'.repeat(full)}${'░'.repeat(room - full)}  ${text}`;
}

/** Shows a line on a terminal, in the place of the one before. */
export class ProgressBar {
  private readonly out: NodeJS.WriteStream | null;

  /** `given`: where to show it; true for stderr, and without it stderr if that is a terminal. */
  constructor(given: boolean | NodeJS.WriteStream | undefined) {
    const stderr = globalThis.process?.stderr;
    if (typeof given === 'object') this.out = given;
    else this.out = given === true || (given === undefined && stderr?.isTTY === true) ? (stderr ?? null) : null;
  }

  show(state: BatchState): void {
    this.out?.write(`\r\u001b[K${progressLine(state, Math.max(20, (this.out.columns || 80) - 1))}`);
  }

  end(): void {
    this.out?.write('\n');
  }
}
