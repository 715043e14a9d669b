import type { Fact } from '../../../machines/index.ts';
import { contentOfObservation } from '../recorded/recording-data.ts';
import type { Row } from '../recorded/row-list.ts';
import type { ShownRecording } from '../recorded/shown-recording.ts';
import { textsIn } from './written.ts';

/** Which lines are shown: all, what failed, calls, what waited for a person or a target, all but plans and other notes. */
export const lineFilters = ['all', 'failed', 'tools', 'waits', 'no notes'] as const;
export type LineFilter = (typeof lineFilters)[number];

const passes: Record<LineFilter, (row: Row) => boolean> = {
  all: () => true,
  failed: ({ state, slugs }) => state === 'failed' || slugs.length > 0,
  tools: ({ kind }) => kind === 'call',
  waits: ({ kind, spans }) => kind === 'wait' || spans.some((span) => span.kind === 'person'),
  'no notes': ({ kind }) => kind !== 'note',
};

/** Returns the ids of the lines that pass a filter and have a text, or where it was written; null if that is all of them. */
export function linesWith(recorded: ShownRecording, text: string, filter: LineFilter): ReadonlySet<number> | null {
  const needle = text.trim().toLowerCase();
  if (needle === '' && filter === 'all') return null;
  const rows = recorded.rows.byId.filter(passes[filter]);
  if (needle === '') return new Set(rows.map(({ id }) => id));
  const written = linesThatWrote(recorded, needle);
  return new Set(
    rows
      .filter((row) => written.has(row) || [row.title, row.detail, ...row.slugs].some((one) => has(one, needle)))
      .map(({ id }) => id),
  );
}

/** The lines in whose facts a text is: a call, an attempt, or else whatever the session told last. */
function linesThatWrote(recorded: ShownRecording, needle: string): Set<Row> {
  const found = new Set<Row>();
  const last = new Map<string, Row>();
  const rows = recorded.rows.byId;
  let next = 0;
  const keyOf = (scope: string, fact: { type: string; callId?: unknown }) => {
    if (fact.type.startsWith('tool.') && typeof fact.callId === 'string') return `${scope} call ${fact.callId}`;
    return fact.type.startsWith('attempt.') ? `${scope} attempt` : scope;
  };
  for (const [index, one] of recorded.told.entries()) {
    for (; (rows[next]?.told ?? Number.POSITIVE_INFINITY) <= index + 1; next += 1) {
      const row = rows[next] as Row;
      last.set(row.scope, row);
      if (row.kind === 'call' || row.kind === 'attempt') last.set(`${row.scope} ${nameOf(row)}`, row);
    }
    const texts: string[] = [];
    const content = contentOfObservation(one);
    textsIn(content, texts);
    if (!texts.some((text) => has(text, needle))) continue;
    const row = last.get(keyOf(one.scope, content as Fact)) ?? last.get(one.scope);
    if (row !== undefined) found.add(row);
  }
  const { root } = recorded.rows;
  if (root !== null && has(recorded.heads.get('')?.prompt ?? '', needle)) found.add(root);
  return found;
}

function nameOf({ kind, callId }: Row): string {
  return kind === 'call' ? `call ${callId}` : 'attempt';
}

function has(text: string, needle: string): boolean {
  return text.toLowerCase().includes(needle);
}
