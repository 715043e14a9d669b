import type { Evidence } from '../../machines/index.ts';
import type { KindLayout } from './item-kinds.ts';
import type { WorkItem } from './work-item-input.ts';

export type Duplicate = { id: string; title: string; folder: string; similarity: number };

/** What is known of an item beside what its creator said. */
export type ItemFacts = {
  id: string;
  createdAt: string;
  duplicates: readonly Duplicate[];
  /** Fields of the report file that a run finds its items by. */
  extra: Record<string, unknown>;
  /** What stands in PROMPT.md or INSTRUCTIONS.md; by default it is made of the description and the evidence. */
  prompt: string | null;
};

/** All files of a new item, by name. */
export function itemFiles(layout: KindLayout, item: WorkItem, facts: ItemFacts): Map<string, string> {
  const { id } = facts;
  return new Map([
    [layout.reportFile, reportText(layout, item, facts)],
    [layout.promptFile, facts.prompt ?? promptText(item, id)],
    ['PLAN.md', `# Plan for ${id}\n\nNothing is planned yet.\n`],
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
  // What the creator says of its own never stands in the place of what Pawl says; the core comes first for the reader.
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
      duplicates.length === 0 ? '' : '## Perhaps known already',
      listed(duplicates.map((one) => `${one.id} "${one.title}", ${Math.round(one.similarity * 100)} % alike`)),
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

/** Text of others, so that it reads as such whatever is in it: a fence longer than any within. */
export function quoted(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([fence]) => fence.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.trim()}\n${fence}\n`;
}

export function listed(lines: readonly string[]): string {
  return lines.map((one) => `- ${one.replace(/\s+/g, ' ').trim()}`).join('\n');
}

/** Headed parts; those that say nothing are left out. */
export function sections(parts: readonly (readonly [heading: string, body: string])[]): string {
  const told = parts.filter(([heading, body]) => heading.startsWith('# ') || (heading !== '' && body.trim() !== ''));
  return `${told.map(([heading, body]) => [heading, body.trim()].filter((part) => part !== '').join('\n\n')).join('\n\n')}\n`;
}

function sentence(name: string): string {
  const text = name.replaceAll('_', ' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
