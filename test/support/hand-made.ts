import type { Fact, WorkflowFact } from '../../machines/index.ts';
import type { CounterChange } from '../../src/inspect/recorded/counts.ts';
import { emptyRecordingPart, type Microstep, type RecordingPart } from '../../src/inspect/recorded/recording-data.ts';
import { ShownRecording } from '../../src/inspect/recorded/shown-recording.ts';
import type { SessionHead } from '../../src/journal/journal.ts';

/** A recording written by hand: so many facts after each frame, one entry a frame unless said. */
export function handMade(
  frames: readonly (Partial<Microstep> & { facts: number })[],
  facts: readonly (Fact | { scope: string; fact: Fact } | { runFact: WorkflowFact })[],
  own: Partial<RecordingPart> = {},
): ShownRecording {
  const recorded = new ShownRecording();
  recorded.takePart({
    ...emptyRecordingPart(),
    microsteps: frames.map((frame, index) => ({ ...noFrame, entry: index + 1, ...frame })),
    told: facts.map((one, index) => {
      const place = { scope: '', at: (index + 1) * 1_000, entry: index + 1 };
      return 'type' in one ? { ...place, fact: one } : { ...place, ...one };
    }),
    ...own,
  });
  return recorded;
}

const noFrame: Omit<Microstep, 'facts' | 'entry'> = {
  scope: '',
  actor: '',
  machine: 'session',
  states: [],
  arrows: [],
  isStart: false,
  isActive: true,
};

/** The head of a session with a bound. */
export function headOf(maxTurns: number, maxRetries: number, own: Partial<SessionHead> = {}): SessionHead {
  return { input: { bound: { maxTurns, maxRetries }, at: 500 }, ...own } as SessionHead;
}

/** A session's numbers that changed with a fact, by their paths. */
export function changed(told: number, values: Record<string, number | null>, scope = ''): CounterChange[] {
  return Object.entries(values).map(([path, value]) => ({ scope, told, path, value }));
}
