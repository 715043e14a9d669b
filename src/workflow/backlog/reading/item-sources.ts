import { type Priority, priorities } from '../../../../machines/index.ts';
import { expected, messageOf } from '../../../input/errors.ts';
import { isRecord } from '../../../platform/plain-json.ts';
import type { KindLayout } from '../item-kinds.ts';
import type { SummaryRow } from '../summary/summary-file.ts';
import { itemText, wholeItemText } from './item-text.ts';
import { type PromptFacts, promptFacts } from './prompt-file.ts';
import { type Meaning, meaningOf } from './statuses.ts';

/** What is known of an item: from its report file, its PROMPT.md, and its row in the summary. */
export type ItemFacts = {
  title: string | null;
  priority: Priority;
  component: string | null;
  createdAt: string | null;
  description: string;
  status: string | null;
  meaning: Meaning;
  /** Where its status stands, and what else is said: for a person who asks why. */
  why: string;
  /** The sources that say something else; null if they agree. */
  disagreement: string | null;
  /** The ids that it names as what it depends on, and the ids that it holds up. */
  dependsOn: string[];
  blocks: string[];
  /** All fields of the report file; empty without one. */
  report: Record<string, unknown>;
};

/** A run writes it both to an item and to its row: an item that is open was opened again by a person since. */
export const leftForReview = 'needs-review';

const finality: Record<Meaning, number> = { open: 0, waiting: 1, done: 2 };

/** Reads an item from all that says something about it. Throws for a folder that holds no item. */
export function itemFacts(
  backlog: string,
  folder: string,
  layout: KindLayout,
  row: Partial<SummaryRow> | undefined,
): ItemFacts {
  const text = wholeItemText(backlog, `${folder}/${layout.reportFile}`);
  const prompts = [layout.promptFile, 'PROMPT.md'].map((name) => ({
    name,
    text: itemText(backlog, `${folder}/${name}`),
  }));
  // The prompt of an agent holds these too, so that an item of which one cannot be read is not taken.
  for (const name of ['PLAN.md', 'TASKS.md']) itemText(backlog, `${folder}/${name}`, 1);
  const { name: promptFile, text: promptText } = prompts.find((one) => one.text !== null) ?? {};
  if (text === null && promptFile === undefined) throw new Error(`${layout.reportFile} and PROMPT.md are missing`);
  const report = text === null ? {} : reportIn(text, layout.reportFile);
  const prompt = promptFacts(promptText ?? '');
  const said = (...names: string[]) => firstText([...names.map((name) => report[name]), ...fieldsOf(prompt, names)]);
  const statuses: [string, string | null][] = [
    [layout.reportFile, firstText([report.status])],
    [promptFile ?? '', firstText(fieldsOf(prompt, ['status']))],
  ];
  const isOver = row?.status === leftForReview && statuses.some(([, status]) => meaningOf(status ?? '') === 'open');
  if (!isOver) statuses.push([layout.summaryFile, firstText([row?.status])]);
  return {
    ...statusIn(statuses),
    title: firstText([report.title, report.name, report.summary, prompt.title, row?.title]),
    priority: priorityOf([report.priority, prompt.fields.get('priority'), row?.priority]),
    component: said('component') ?? firstText([row?.component]),
    createdAt: said('created_date', 'created_at', 'created', 'reported_date', 'date', 'created date', 'reported'),
    description: firstText([report.description]) ?? prompt.description,
    dependsOn: [
      ...[report.dependencies, report.depends_on, report.depends].flatMap(namedIds),
      ...fieldsOf(prompt, ['depends', 'depends on', 'dependencies', 'dependency', 'blocked by']).flatMap(namedIds),
    ],
    blocks: [...namedIds(report.blocking_items), ...namedIds(report.blocks), ...namedIds(prompt.fields.get('blocks'))],
    report,
  };
}

function reportIn(text: string, file: string): Record<string, unknown> {
  let report: unknown;
  try {
    report = JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not JSON: ${messageOf(error)}`);
  }
  if (!isRecord(report)) throw new Error(expected(file, report, 'a JSON object'));
  return { ...report };
}

/** The most final status counts, since people close an item in one place and forget the others. */
function statusIn(
  statuses: readonly (readonly [source: string, status: string | null])[],
): Pick<ItemFacts, 'status' | 'meaning' | 'why' | 'disagreement'> {
  const told = statuses.flatMap(([source, status]) =>
    status === null ? [] : [{ source, status, meaning: meaningOf(status) }],
  );
  const known = told.flatMap(({ meaning, ...one }) => (meaning === null ? [] : [{ ...one, meaning }]));
  const [final] = known.toSorted((one, other) => finality[other.meaning] - finality[one.meaning]);
  if (final === undefined) {
    const [unknown] = told;
    const why = unknown === undefined ? 'no status' : `the status "${unknown.status}" in ${unknown.source} is unknown`;
    return { status: unknown?.status ?? null, meaning: 'open', why: `${why}, so it is open`, disagreement: null };
  }
  const others = known.filter(({ meaning }) => meaning !== final.meaning);
  const disagreement =
    others.length === 0
      ? null
      : `${final.source} says ${final.status}, ${others.map(({ source, status }) => `${source} ${status}`).join(', ')}; taken as ${final.meaning}`;
  return { ...final, why: `${final.status} in ${final.source}`, disagreement };
}

function fieldsOf({ fields }: PromptFacts, names: readonly string[]): string[] {
  return names.flatMap((name) => fields.get(name) ?? []);
}

function firstText(values: readonly unknown[]): string | null {
  const found = values.find((value) => typeof value === 'string' && value.trim() !== '');
  return typeof found === 'string' ? found.trim() : null;
}

const priorityWords: ReadonlyMap<string, Priority> = new Map([
  ...(['critical', 'urgent', 'highest', '0'] as const).map((word) => [word, 'P0'] as const),
  ...(['high', '1'] as const).map((word) => [word, 'P1'] as const),
  ...(['medium', '2'] as const).map((word) => [word, 'P2'] as const),
  ...(['low', 'lowest', '3'] as const).map((word) => [word, 'P3'] as const),
]);

/** Reads the first priority that one knows, whatever signs stand before it; without one, P3. */
function priorityOf(values: readonly unknown[]): Priority {
  for (const value of values) {
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    const [word = ''] = /[\p{L}\p{N}]+/u.exec(String(value).toLowerCase()) ?? [];
    const found = priorities.find((priority) => priority.toLowerCase() === word) ?? priorityWords.get(word);
    if (found !== undefined) return found;
  }
  return 'P3';
}

/** Returns the ids in a text, an object with an id or with ids as keys, or a list of these. */
export function namedIds(value: unknown): string[] {
  if (typeof value === 'string') return [...value.matchAll(/\b[A-Za-z]{2,12}-\d+\b/g)].map(([id]) => id.toUpperCase());
  if (Array.isArray(value)) return value.flatMap(namedIds);
  if (typeof value !== 'object' || value === null) return [];
  const fields: Record<string, unknown> = { ...value };
  const own = ['item_id', 'id', 'bug_id', 'feature_id', 'action_id'].find((name) => fields[name] != null);
  return own === undefined ? Object.keys(fields).flatMap(namedIds) : namedIds(fields[own]);
}
