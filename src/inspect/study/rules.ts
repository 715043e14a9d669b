import type { Fact, WorkflowFact } from '../../../machines/index.ts';
import type { Pictures } from '../recorded/pictures.ts';
import { contentOfObservation } from '../recorded/recording-data.ts';
import type { ShownRecording } from '../recorded/shown-recording.ts';

/** The facts that show that a rule decided. Other rules are found by the arrows that cite them. */
export const ruleFacts: Record<string, readonly (Fact | WorkflowFact)['type'][]> = {
  'B-3': ['turn.exhausted'],
  'B-4': ['session.collapsed'],
  'B-8': ['admission.requested'],
  'F-1': ['report.accepted'],
  'F-2': ['report.rejected'],
  'P-2': ['target.excluded', 'piece.replaced'],
  'P-3': ['wait.started'],
  'P-7': ['admission.requested'],
  'T-6': ['results.omitted'],
  'T-7': ['turn.planned'],
  'T-9': ['conversation.compacted', 'compaction.failed'],
  'W-2': ['incident.noted', 'workItem.created'],
};

/** Returns the steps in which a rule decided, from 0. */
export function framesOf(recorded: ShownRecording, pictures: Pictures, rule: string): number[] {
  const facts = ruleFacts[rule];
  if (facts === undefined) {
    return recorded.microsteps.flatMap(({ arrows }, frame) =>
      arrows.some((name) => pictures.arrows[name]?.rules.includes(rule)) ? [frame] : [],
    );
  }
  const told = recorded.told.flatMap((one, index) =>
    facts.some((type) => type === contentOfObservation(one).type) ? [recorded.frameOf(index + 1)] : [],
  );
  return [...new Set(told)];
}
