import type { ItemKind, ItemType } from '../../../machines/index.ts';

/** The folder and the file names of one kind of item. */
export type KindLayout = {
  kind: ItemKind;
  type: ItemType;
  folder: string;
  /** The prefix of ids, such as `BUG` in `BUG-007`. */
  prefix: string;
  /** The field of the report file that holds the id. */
  idField: string;
  reportFile: string;
  /** The file to read first when working on the item. */
  promptFile: string;
  summaryFile: string;
  summaryTitle: string;
};

export const layouts: readonly KindLayout[] = [
  {
    kind: 'bug',
    type: 'bug',
    folder: 'bugs',
    prefix: 'BUG',
    idField: 'bug_id',
    reportFile: 'bug_report.json',
    promptFile: 'PROMPT.md',
    summaryFile: 'bugs/bugs.md',
    summaryTitle: 'Bugs',
  },
  {
    kind: 'feature',
    type: 'feature',
    folder: 'features',
    prefix: 'FEAT',
    idField: 'feature_id',
    reportFile: 'feature_request.json',
    promptFile: 'PROMPT.md',
    summaryFile: 'features/features.md',
    summaryTitle: 'Features',
  },
  {
    kind: 'human-action',
    type: 'human_action',
    folder: 'human-actions',
    prefix: 'ACTION',
    idField: 'action_id',
    reportFile: 'action_report.json',
    promptFile: 'INSTRUCTIONS.md',
    summaryFile: 'human-actions/actions.md',
    summaryTitle: 'Human actions',
  },
  // An inquiry is a question to people. Pawl reads it, but neither works on one nor creates one.
  {
    kind: 'human-action',
    type: 'human_action',
    folder: 'inquiries',
    prefix: 'INQ',
    idField: 'inquiry_id',
    reportFile: 'inquiry_report.json',
    promptFile: 'PROMPT.md',
    summaryFile: 'inquiries/inquiries.md',
    summaryTitle: 'Inquiries',
  },
];

export function layoutOf(kind: ItemKind | ItemType): KindLayout {
  const found = layouts.find((layout) => layout.kind === kind || layout.type === kind);
  if (found === undefined) throw new Error(`unknown kind ${kind}`);
  return found;
}

/** The folders of finished items, whose ids are never reused. */
export const restingFolders = ['completed', 'deprecated'] as const;
