import type { ItemKind, ItemType } from '../../machines/index.ts';

/** Where the items of a kind live, and how their files are called. */
export type KindLayout = {
  kind: ItemKind;
  type: ItemType;
  folder: string;
  /** Of ids: `BUG-007`. */
  prefix: string;
  /** The field of its id in the report file. */
  idField: string;
  reportFile: string;
  /** What whoever does it reads first. */
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
];

export function layoutOf(kind: ItemKind | ItemType): KindLayout {
  const found = layouts.find((layout) => layout.kind === kind || layout.type === kind);
  if (found === undefined) throw new Error(`there is no kind ${kind}`);
  return found;
}

/** Where items end up: their ids are never given again. */
export const restingFolders = ['completed', 'deprecated'] as const;
