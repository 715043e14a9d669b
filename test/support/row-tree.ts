import type { Fact, WorkflowFact } from '../../machines/index.ts';
import type { Row, RowList } from '../../src/inspect/recorded/row-list.ts';
import type { Sighting } from '../../src/observe/events.ts';

/** What was told, without its time and place in the journal. */
export type Said = { scope: string } & ({ fact: Fact } | { sighting: Sighting } | { runFact: WorkflowFact });

/** Takes what was told into a list, one second after the other, and returns its lines, indented as on the page. */
export function linesOf(list: RowList, told: readonly Said[]): string[] {
  for (const [index, one] of told.entries())
    list.takeObservation({ ...one, at: (index + 1) * 1_000, entry: index + 1 }, index + 1);
  return list.root === null ? [] : lines(list.root, '');
}

function lines(
  { kind, title, detail, slugs, state, told, ended, at, endedAt, children }: Row,
  indent: string,
): string[] {
  if (at !== told * 1_000 || endedAt !== (ended === null ? null : ended * 1_000))
    throw new Error(`the times of ${kind} ${title} are not those of its facts`);
  const said = [kind, title, ...(detail === '' ? [] : [`(${detail})`]), ...slugs.map((slug) => `!${slug}`)].join(' ');
  return [
    `${indent}${said} ${told}-${ended ?? ''} ${state}`,
    ...children.flatMap((child) => lines(child, `${indent}  `)),
  ];
}
