import type { CreatedItem, PriorityChange, RunState, Slug } from '../../../../machines/index.ts';
import { counted } from '../../../platform/text.ts';
import { bulletList, sections } from '../../backlog/item-files.ts';
import type { RunSpending } from '../spending.ts';
import { incidentsText } from './debugging-context.ts';

/** The input for the two documents of a run. */
export type RunFacts = {
  state: RunState;
  created: readonly CreatedItem[];
  /** The priorities that the retrospective changed. */
  priorities: readonly PriorityChange[];
  problems: readonly string[];
  spending: RunSpending;
  /** The text that an agent wrote; null if there is no agent or it failed. */
  words: string | null;
};

/** Builds the retrospective, which needs no model: counts, failures and recurring causes (W-3). */
export function retrospectiveText({ state, created, priorities, spending, words }: RunFacts): string {
  const { succeeded, failures, set_aside: setAside } = state;
  const open = leftOpen(state).length;
  const bySlug = tally(failures.flatMap(({ slugs }) => slugs));
  const byComponent = tally(failures.flatMap(({ component }) => component ?? []));
  const repeated = [...bySlug, ...byComponent].filter(([, count]) => count > 1);
  return sections([
    [`# Retrospective of run ${state.run}`, outcome(state)],
    [
      '## In numbers',
      bulletList([
        `${counted(state.iteration_count, 'item')} processed: ${succeeded.length} succeeded, ${failures.length} failed, ${setAside.length} set aside${open === 0 ? '' : `, ${open} left open`}`,
        `${counted(spending.sessions, 'session')}, ${counted(spending.requests, 'LLM request')}, ${spending.inputTokens} tokens in, ${spending.outputTokens} out`,
        ...[...bySlug].map(([slug, count]) => `failed with ${slug}: ${count}`),
      ]),
    ],
    [
      '## Recurring causes',
      bulletList(repeated.map(([name, count]) => `${name}: ${count} failures, possibly a common cause`)),
    ],
    ['## Created', createdList(created)],
    ['## In words', closed(words)],
    ['## Priorities Changed', priorityList(priorities)],
    ['## Next', bulletList(recommendations(state, created))],
  ]);
}

/** The additional input of the report. `findings`: the words of the retrospective agent, or null. */
export type ReportFacts = { backlog: BacklogCount; warnings: ReadonlySet<string>; findings: string | null };

/** Builds the report of a run, which always includes "Issues Created" (W-3). */
export function sessionReportText(
  { state, created, priorities, problems, spending, words }: RunFacts,
  { backlog, warnings, findings }: ReportFacts,
): string {
  const { succeeded, failures, set_aside: setAside } = state;
  return sections([
    [`# Session report: ${state.run}`, outcome(state)],
    ['## Summary', closed(words)],
    [
      '## Items',
      [
        '| Item | Outcome | Why |',
        '| --- | --- | --- |',
        ...succeeded.map((id) => `| ${id} | succeeded | |`),
        ...failures.map(
          ({ id, phase, slugs, message }) =>
            `| ${id} | failed in ${phase} | ${cell(message.startsWith(slugs.join(', ')) ? [message] : [...slugs, message])} |`,
        ),
        ...setAside.map((id) => `| ${id} | set aside | waits for a person |`),
        ...leftOpen(state).map((id) => `| ${id} | left open when the run ended | |`),
      ].join('\n'),
    ],
    ['## Incidents', incidentsText(state.incidents)],
    ['## Issues Created', created.length === 0 ? 'None.' : createdList(created)],
    ['## Priorities Changed', priorityList(priorities)],
    ['## What the Retrospective Found', closed(findings)],
    ['## Problems', problems.join('\n\n')],
    ['## Warnings', bulletList([...warnings])],
    [
      '## Spent',
      bulletList([
        `${counted(spending.sessions, 'session')}, ${counted(spending.requests, 'LLM request')}`,
        `${spending.inputTokens} tokens in, ${spending.outputTokens} out`,
        ...(spending.costUsd === null || spending.costUsd === 0 ? [] : [`$${spending.costUsd.toFixed(4)}`]),
      ]),
    ],
    [
      '## Backlog',
      bulletList([
        `${counted(backlog.open, 'item')} open, ${backlog.blocked} of them blocked`,
        ...backlog.unreadable.map(({ folder, problem }) => `unreadable: ${folder}: ${problem}`),
        ...backlog.notes,
      ]),
    ],
  ]);
}

export type BacklogCount = {
  open: number;
  blocked: number;
  unreadable: readonly { folder: string; problem: string }[];
  notes: readonly string[];
};

function outcome({ early_exit_triggered: early, early_exit_reason: reason, iteration_count: taken }: RunState): string {
  return early ? `The run exited early: ${reason}.` : `The run finished after ${counted(taken, 'item')}.`;
}

/** Returns the items that were taken, but neither succeeded nor failed nor were set aside. */
function leftOpen({ tried, succeeded, failures, set_aside: setAside }: RunState): string[] {
  const settled = new Set([...succeeded, ...setAside, ...failures.map(({ id }) => id)]);
  return tried.filter((id) => !settled.has(id));
}

function createdList(created: readonly CreatedItem[]): string {
  return bulletList(
    created.map(
      ({ id, title, folder, isNew, why }) =>
        `${id} "${title}" (${folder}): ${isNew ? why : `already known, new evidence: ${why}`}`,
    ),
  );
}

/** Closes an open code block in an agent's text, which would otherwise extend to the end of the document. */
function closed(words: string | null): string {
  let fence: string | null = null;
  for (const line of (words ?? '').split('\n')) {
    // A line with more backticks after the first is a span of code.
    const [, mark = null] = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line) ?? [];
    if (fence === null) fence = mark;
    else if (mark?.startsWith(fence) && line.trim() === mark) fence = null;
  }
  return fence === null ? (words ?? '') : `${words}\n${fence}`;
}

function priorityList(changes: readonly PriorityChange[]): string {
  return bulletList(
    changes.map(({ id, from, to, reason }) => `${id}: ${to} instead of ${from}${reason === '' ? '' : `, ${reason}`}`),
  );
}

function recommendations({ failures }: RunState, created: readonly CreatedItem[]): string[] {
  return [
    ...created.map(({ id, title }) => `Look at ${id} first: ${title}`),
    ...failures.map(
      ({ id, slugs }) => `${id} is still open${slugs[0] === undefined ? '' : `; it failed with ${slugs[0]}`}`,
    ),
  ];
}

function cell(parts: readonly string[]): string {
  const text = parts
    .filter((part) => part !== '')
    .join(', ')
    .replace(/\s+/g, ' ')
    .replaceAll('|', '\\|');
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}

function tally<T extends Slug | string>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
