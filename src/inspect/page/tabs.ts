import type { Row } from '../recorded/row-list.ts';
import type { Unit } from '../study/steps.ts';

/** The details of a session, and of a run. */
export const tabs = {
  session: ['overview', 'attempt', 'request', 'reply', 'answers', 'why', 'facts', 'context', 'counters', 'what if'],
  run: ['items', 'why', 'facts', 'context'],
} as const;
export type Tab = (typeof tabs)['session' | 'run'][number];

/** What they show belongs to one step of a machine. */
export const stepTabs: readonly Tab[] = ['why', 'facts', 'context', 'counters', 'what if'];

export const units: Record<'session' | 'run', readonly Unit[]> = {
  session: ['step', 'delivery', 'attempt', 'turn'],
  run: ['step', 'delivery', 'item'],
};

/** The panes of a narrow page, which shows one at a time. The middle has the time or the machines. */
export const panes = ['details', 'events', 'middle'] as const;
export type Pane = (typeof panes)[number];

/** The first attempt of a turn; the line itself for one within an attempt. */
export function firstAttempt(row: Row): Row | null {
  if (row.kind === 'attempt' || row.kind === 'call') return row;
  for (const child of row.children) if (child.kind === 'attempt') return child;
  return null;
}
