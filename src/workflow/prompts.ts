import { join } from 'node:path';
import type { RunState, WorkPhase } from '../../machines/index.ts';
import type { BacklogItem } from './backlog.ts';
import { counted } from './debugging-context.ts';
import { readIfThere } from './files.ts';
import { sections } from './item-files.ts';

/** What an agent is asked to do with an item: its files, as they are now. */
export function workPrompt(backlog: string, item: BacklogItem, phase: WorkPhase): string {
  const { id, title, folder, layout, description } = item;
  const file = (name: string) => readIfThere(join(backlog, folder, name)) ?? '';
  const task =
    phase === 'processing'
      ? `Do the work of ${id}. If a person has to do something first, report { "status": "blocked", "reason": what they have to do }; if it cannot be done, { "status": "failed", "reason": why }.`
      : `Test what was done for ${id}. Report { "status": "failed", "reason": what fails } unless all is well.`;
  return sections([
    [`# ${id}: ${title}`, `${task}\n\nIts folder is ${join(backlog, folder)}.`],
    ['## Task', file(layout.promptFile) || description],
    ['## Plan', file('PLAN.md')],
    ['## Tasks', file('TASKS.md')],
    ['## Comments', file('comments.md')],
  ]);
}

/** What the agent is asked that decides about the order. */
export function scanPrompt(items: readonly BacklogItem[]): string {
  const lines = items.map(
    ({ id, priority, kind, title, createdAt }) => `- ${id} (${priority}, ${kind}, ${createdAt ?? 'no date'}): ${title}`,
  );
  return `These items are open, in their usual order. Report { "order": [ids] }: the order in which they are to be taken.\n\n${lines.join('\n')}\n`;
}

/** What the agents of the ending are asked: the run as it stands, and the document that is there without them. */
export function endingPrompt(role: 'retrospective' | 'summary', state: RunState, document: string): string {
  const task =
    role === 'retrospective'
      ? 'Look back at this run: what went well, what failed and why, what comes up again, what should be done next.'
      : 'Sum up this run in a few sentences for whoever reads the report first.';
  const early = state.early_exit_triggered ? ` It exited early: ${state.early_exit_reason}.` : '';
  return `${task}${early} It took ${counted(state.iteration_count, 'item')}.\n\n${document}\n\nThe state of the run:\n\n${JSON.stringify(state, null, 2)}\n`;
}
