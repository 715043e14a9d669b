import { join } from 'node:path';
import type { RunState, WorkPhase } from '../../../machines/index.ts';
import { counted } from '../../platform/text.ts';
import type { BacklogItem } from '../backlog/backlog.ts';
import { sections } from '../backlog/item-files.ts';
import { itemText } from '../backlog/reading/item-text.ts';

/** Maximum bytes of each file in the prompt. The agent can read the rest itself. */
const mostOfFile = 100_000;

/**
 * Builds the prompt for work on an item from the current text of its files. An agent may work on a copy of the backlog,
 * in `place`; the run adds comments only to the backlog itself.
 */
export function workPrompt(backlog: string, place: string, item: BacklogItem, phase: WorkPhase): string {
  const { id, title, folder, layout, description } = item;
  const file = (name: string, from = place) => itemText(from, `${folder}/${name}`, mostOfFile) ?? '';
  const task =
    phase === 'processing'
      ? `Do the work of ${id}. If a person has to do something first, report { "status": "blocked", "message": what they have to do }; if it cannot be done, { "status": "failed", "message": why }; if it is done, { "status": "succeeded", "message": what you did }.`
      : `Test what was done for ${id}. Report { "status": "succeeded", "message": what you tested } if all is well, else { "status": "failed", "message": what fails }.`;
  return sections([
    [`# ${id}: ${title}`, `${task}\n\nIts folder is ${join(place, folder)}.`],
    ['## Task', file(layout.promptFile) || description],
    ['## Plan', file('PLAN.md')],
    ['## Tasks', file('TASKS.md')],
    ['## Comments', file('comments.md', backlog)],
  ]);
}

/** Builds the prompt for the agent that decides the order. */
export function scanPrompt(items: readonly BacklogItem[]): string {
  const lines = items.map(
    ({ id, priority, kind, title, createdAt }) => `- ${id} (${priority}, ${kind}, ${createdAt ?? 'no date'}): ${title}`,
  );
  return `These items are open, in their usual order. Report { "order": [ids] }: the order in which to work on them.\n\n${lines.join('\n')}\n`;
}

/** Builds the prompt for an ending agent from the run's state and the document without the agent's part. */
export function endingPrompt(
  role: 'retrospective' | 'summary',
  state: RunState,
  document: string,
  open: readonly BacklogItem[],
): string {
  const task =
    role === 'retrospective'
      ? 'Look back at this run: what went well, what failed and why, what recurs, what should be done next. Report { "text": your findings }; if open items should have another priority (P0, P1, P2, P3), also "priorities": [{ "id", "priority", "reason" }].'
      : 'Summarize this run in a few sentences for the top of its report.';
  const early = state.early_exit_triggered ? ` It exited early: ${state.early_exit_reason}.` : '';
  return `${task}${early} It worked on ${counted(state.iteration_count, 'item')}.\n\n${document}\n\n${openList(open)}The state of the run:\n\n${JSON.stringify(state, null, 2)}\n`;
}

/** Maximum number of open items in the prompt of an ending agent. */
const mostListed = 200;

function openList(items: readonly BacklogItem[]): string {
  if (items.length === 0) return '';
  const lines = items.slice(0, mostListed).map(({ id, priority, title }) => `- ${id} (${priority}): ${title}`);
  const more = items.length > mostListed ? `\n- and ${items.length - mostListed} more` : '';
  return `Open now:\n\n${lines.join('\n')}${more}\n\n`;
}
