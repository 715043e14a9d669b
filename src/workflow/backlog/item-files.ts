import type { Evidence } from '../../../machines/index.ts';
import type { KindLayout } from './item-kinds.ts';
import type { WorkItem } from './work-item-input.ts';

export type Duplicate = { id: string; title: string; folder: string; isOpen: boolean; similarity: number };

/** Facts about an item that its creator does not provide. */
export type NewItemFacts = {
  id: string;
  createdAt: string;
  duplicates: readonly Duplicate[];
  /** More files, by name. */
  files: ReadonlyMap<string, string>;
  /** Report fields by which a run finds its items. */
  extra: Record<string, unknown>;
  /** The text of PROMPT.md or INSTRUCTIONS.md; null to build it from the item. */
  prompt: string | null;
};

/** Builds all files of a new item, by name. */
export function itemFiles(layout: KindLayout, item: WorkItem, facts: NewItemFacts): Map<string, string> {
  const { id } = facts;
  return new Map([
    [layout.reportFile, reportText(layout, item, facts)],
    [layout.promptFile, facts.prompt ?? promptText(item, id)],
    ['PLAN.md', `# Plan for ${id}\n\nNo plan yet.\n`],
    ['TASKS.md', `# Tasks of ${id}\n\n- [ ] Read ${layout.promptFile}\n`],
    ['comments.md', commentsText(facts)],
    ...facts.files,
  ]);
}

function reportText(layout: KindLayout, item: WorkItem, { id, createdAt, duplicates, extra }: NewItemFacts): string {
  const { title, component, priority, description, evidence, metadata } = item;
  const core = {
    [layout.idField]: id,
    title,
    component,
    priority,
    status: item.item_type === 'human_action' ? 'pending' : 'new',
    created_date: createdAt.slice(0, 10),
    updated_date: createdAt.slice(0, 10),
    ...ofKind(item, createdAt.slice(0, 10)),
    description,
  };
  // Core fields are first for the reader, and repeated last so that metadata cannot override them.
  const report = {
    ...core,
    ...metadata,
    ...core,
    evidence,
    ...(duplicates.length > 0 && { possible_duplicates: duplicates.map((duplicate) => duplicate.id) }),
    ...extra,
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}

/** The fields of one kind of item, by the names that other tools read. */
function ofKind(item: WorkItem, date: string): Record<string, unknown> {
  switch (item.item_type) {
    case 'bug':
      return { reported_date: date };
    case 'human_action':
      return actionFields(item);
    default:
      return {};
  }
}

/** The fields of an action, with what its creator left out. */
export function actionFields({ metadata, priority, description }: Extract<WorkItem, { item_type: 'human_action' }>) {
  const { urgency, reason, required_action: action, blocking_items: blocking, blocks } = metadata;
  return {
    urgency: urgency ?? urgencies[priority],
    reason: reason ?? description,
    required_action: action ?? description,
    blocking_items: blocking ?? blocks ?? [],
  };
}

const urgencies = { P0: 'critical', P1: 'high', P2: 'medium', P3: 'low' } as const;

/** What must hold for the item to be done, unless its creator says so. */
function acceptance({ item_type: type, title, metadata }: WorkItem): string[] {
  if (Array.isArray(metadata.acceptance_criteria)) return [];
  if (type === 'human_action') return [];
  const expected = type === 'bug' ? (metadata.expected_behavior ?? `It no longer happens: ${title}`) : title;
  return [expected, 'A test shows it'].map((line) => `- [ ] ${line.replace(/\s+/g, ' ').trim()}`);
}

function promptText(item: WorkItem, id: string): string {
  const { title, description, evidence, metadata, priority, component, item_type: type } = item;
  const head = `**Priority**: ${priority}\n**Component**: ${component}\n**Type**: ${type.replace('_', ' ')}`;
  return sections([
    [`# ${id}: ${title}`, head],
    // Under a heading, since the lines above the second heading are read for fields.
    ['## Description', description],
    ...Object.entries(metadata).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' || Array.isArray(value)
        ? [[`## ${sentence(name)}`, Array.isArray(value) ? bulletList(value.map(String)) : value]]
        : [],
    ),
    ['## Acceptance Criteria', acceptance(item).join('\n')],
    ['## Evidence', evidenceList(evidence)],
  ]);
}

function commentsText({ id, duplicates }: NewItemFacts): string {
  return sections([
    [`# Comments on ${id}`, ''],
    [
      duplicates.length === 0 ? '' : '## Possible duplicates',
      bulletList(
        duplicates.map(
          (one) =>
            `${one.id} "${one.title}"${one.isOpen ? '' : ' (resolved)'}, ${Math.round(one.similarity * 100)} % similar`,
        ),
      ),
    ],
  ]);
}

export function evidenceList(evidence: readonly Evidence[]): string {
  return evidence
    .map(({ type, location, description }) =>
      type === 'output' ? `- ${description}:\n\n${quoted(location)}` : `- ${description}: \`${location}\``,
    )
    .join('\n');
}

/** Quotes text in a code fence that is longer than any fence in the text. */
export function quoted(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([fence]) => fence.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.trim()}\n${fence}\n`;
}

export function bulletList(lines: readonly string[]): string {
  return lines.map((one) => `- ${one.replace(/\s+/g, ' ').trim()}`).join('\n');
}

/**
 * Joins parts under their headings and leaves out empty ones. A part keeps the indentation of its first line, which may be
 * code.
 */
export function sections(parts: readonly (readonly [heading: string, body: string])[]): string {
  const told = parts.filter(([heading, body]) => heading.startsWith('# ') || (heading !== '' && body.trim() !== ''));
  const written = told.map(([heading, body]) => {
    const text = body.replace(/^\s*\n/, '').trimEnd();
    return text === '' ? heading : `${heading}\n\n${text}`;
  });
  return `${written.join('\n\n')}\n`;
}

function sentence(name: string): string {
  const text = name.replaceAll('_', ' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
