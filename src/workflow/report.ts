import type { CreatedItem, RunState, Slug } from '../../machines/index.ts';
import { counted } from './debugging-context.ts';
import { listed, sections } from './item-files.ts';

/** What the sessions of a run took together. */
export type RunSpending = { sessions: number; requests: number; inputTokens: number; outputTokens: number };

/** What the two documents of a run are made of. */
export type RunFacts = {
  state: RunState;
  created: readonly CreatedItem[];
  problems: readonly string[];
  spending: RunSpending;
  /** What an agent wrote; null where there is none, or it failed. */
  words: string | null;
};

/** The retrospective that needs no model: counts, what failed and how, what comes up again (W-3). */
export function retrospectiveText({ state, created, spending, words }: RunFacts): string {
  const { succeeded, failures, set_aside: setAside } = state;
  const bySlug = tally(failures.flatMap(({ slugs }) => slugs));
  const byComponent = tally(failures.flatMap(({ component }) => component ?? []));
  const repeated = [...bySlug, ...byComponent].filter(([, count]) => count > 1);
  return sections([
    [`# Retrospective of the run ${state.run}`, outcome(state)],
    [
      '## In numbers',
      listed([
        `${counted(state.iteration_count, 'item')} taken: ${succeeded.length} succeeded, ${failures.length} failed, ${setAside.length} set aside`,
        `${counted(spending.sessions, 'session')}, ${counted(spending.requests, 'LLM request')}, ${spending.inputTokens} tokens in, ${spending.outputTokens} out`,
        ...[...bySlug].map(([slug, count]) => `failed by ${slug}: ${count}`),
      ]),
    ],
    [
      '## What comes up again',
      listed(repeated.map(([name, count]) => `${name}: in ${count} failures; one cause may be behind them`)),
    ],
    ['## Created', createdList(created)],
    ['## In words', words ?? ''],
    ['## Next', listed(recommendations(state, created))],
  ]);
}

/** The report of a run; "Issues Created" is always in it (W-3). */
export function sessionReportText(
  { state, created, problems, spending, words }: RunFacts,
  backlog: BacklogCount,
): string {
  const { succeeded, failures, set_aside: setAside } = state;
  return sections([
    [`# Session report: ${state.run}`, outcome(state)],
    ['## Summary', words ?? ''],
    [
      '## Items',
      [
        '| Item | Outcome | Why |',
        '| --- | --- | --- |',
        ...succeeded.map((id) => `| ${id} | succeeded | |`),
        ...failures.map(
          ({ id, phase, slugs, message }) => `| ${id} | failed in ${phase} | ${cell([...slugs, message])} |`,
        ),
        ...setAside.map((id) => `| ${id} | set aside | waits for a person |`),
        ...underWay(state).map((id) => `| ${id} | under way when the run ended | |`),
      ].join('\n'),
    ],
    ['## Issues Created', created.length === 0 ? 'None.' : createdList(created)],
    ['## Problems', problems.join('\n\n')],
    [
      '## Spent',
      listed([
        `${counted(spending.sessions, 'session')}, ${counted(spending.requests, 'LLM request')}`,
        `${spending.inputTokens} tokens in, ${spending.outputTokens} out`,
      ]),
    ],
    [
      '## Backlog',
      listed([
        `${counted(backlog.open, 'item')} open, of which ${backlog.blocked} blocked`,
        ...backlog.unreadable.map(({ folder, problem }) => `not readable: ${folder}: ${problem}`),
      ]),
    ],
  ]);
}

export type BacklogCount = {
  open: number;
  blocked: number;
  unreadable: readonly { folder: string; problem: string }[];
};

function outcome({ early_exit_triggered: early, early_exit_reason: reason, iteration_count: taken }: RunState): string {
  return early ? `The run exited early: ${reason}.` : `The run came to its end after ${counted(taken, 'item')}.`;
}

/** The item that was neither done nor failed nor set aside when the run ended. */
function underWay({ current_item: id, succeeded, failures, set_aside: setAside }: RunState): string[] {
  const settled = [...succeeded, ...setAside, ...failures.map((failure) => failure.id)];
  return id === null || settled.includes(id) ? [] : [id];
}

function createdList(created: readonly CreatedItem[]): string {
  return listed(
    created.map(
      ({ id, title, folder, isNew, why }) =>
        `${id} "${title}" (${folder}): ${isNew ? why : `known already, new evidence: ${why}`}`,
    ),
  );
}

function recommendations({ failures }: RunState, created: readonly CreatedItem[]): string[] {
  return [
    ...created.map(({ id, title }) => `Look at ${id} first: ${title}`),
    ...failures.map(
      ({ id, slugs }) => `${id} is still open${slugs[0] === undefined ? '' : `; it failed by ${slugs[0]}`}`,
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
