import type { Evidence } from '../../../machines/index.ts';
import type { KindLayout } from './item-kinds.ts';
import type { WorkItem } from './work-item-input.ts';

export type Duplicate = { id: string; title: string; folder: string; isOpen: boolean; similarity: number };

/** Facts about an item that its creator does not provide. */
export type ItemFacts = {
  id: string;
  createdAt: string;
  duplicates: readonly Duplicate[];
  /** Report fields by which a run finds its items. */
  extra: Record<string, unknown>;
  /** The text of PROMPT.md or INSTRUCTIONS.md; null to build it from the item. */
  prompt: string | null;
};

/** Builds all files of a new item, by name. */
export function itemFiles(layout: KindLayout, item: WorkItem, facts: ItemFacts): Map<string, string> {
  const { id } = facts;
  return new Map([
    [layout.reportFile, reportText(layout, item, facts)],
    [layout.promptFile, facts.prompt ?? promptText(item, id)],
    ['PLAN.md', `# Plan for ${id}\n\nNo plan yet.\n`],
    ['TASKS.md', `# Tasks of ${id}\n\n- [ ] Read ${layout.promptFile}\n`],
    ['comments.md', commentsText(facts)],
  ]);
}

function reportText(layout: KindLayout, item: WorkItem, { id, createdAt, duplicates, extra }: ItemFacts): string {
  const { title, component, priority, description, evidence, metadata } = item;
  const core = {
    [layout.idField]: id,
    title,
    component,
    priority,
    status: 'new',
    created_date: createdAt,
    updated_date: createdAt,
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

function promptText({ title, description, evidence, metadata }: WorkItem, id: string): string {
  return sections([
    [`# ${id}: ${title}`, description],
    ...Object.entries(metadata).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' || Array.isArray(value)
        ? [[`## ${sentence(name)}`, Array.isArray(value) ? listed(value.map(String)) : value]]
        : [],
    ),
    ['## Evidence', evidenceList(evidence)],
  ]);
}

function commentsText({ id, duplicates }: ItemFacts): string {
  return sections([
    [`# Comments on ${id}`, ''],
    [
      duplicates.length === 0 ? '' : '## Possible duplicates',
      listed(
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

export function listed(lines: readonly string[]): string {
  return lines.map((one) => `- ${one.replace(/\s+/g, ' ').trim()}`).join('\n');
}

/** Joins parts under their headings and leaves out empty ones. */
export function sections(parts: readonly (readonly [heading: string, body: string])[]): string {
  const told = parts.filter(([heading, body]) => heading.startsWith('# ') || (heading !== '' && body.trim() !== ''));
  return `${told.map(([heading, body]) => [heading, body.trim()].filter((part) => part !== '').join('\n\n')).join('\n\n')}\n`;
}

function sentence(name: string): string {
  const text = name.replaceAll('_', ' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
