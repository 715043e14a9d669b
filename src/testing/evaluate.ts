import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { type Agent, requireAgent } from '../agent/definition.ts';
import type { BatchInput } from '../batch/options.ts';
import { runBatch } from '../batch/run-batch.ts';
import { check } from '../input/check.ts';
import { messageOf, PawlError, unexpected } from '../input/errors.ts';
import { aFunction, count, nonBlank } from '../input/shapes.ts';
import { formatDollars, inColumns } from '../platform/text.ts';
import type { SessionOptions } from '../session/options.ts';
import type { SessionResult } from '../session/session.ts';

/** A case: what a session is given, and what is expected of it, for the judges. */
export type EvaluationCase<Expected = unknown> = Pick<
  SessionOptions,
  'prompt' | 'messages' | 'metadata' | 'context'
> & {
  name: string;
  expected?: Expected;
};

/** Judges a result: whether it is right, or how good it is, from 0 to 1. */
export type Judge<Report = unknown, Expected = unknown> = (
  result: SessionResult<Report>,
  one: EvaluationCase<Expected>,
) => boolean | number | Promise<boolean | number>;

export type EvaluateOptions<Report = unknown, Expected = unknown> = {
  /** By name. Without any, a case is right if its session succeeds. */
  judges?: Readonly<Record<string, Judge<Report, Expected>>>;
  /** How often each case runs; default: 1. */
  runs?: number;
  /** Sessions that run at once; default: 4. */
  concurrency?: number;
  /** Where the scores are kept, as JSON: they are compared with those of the last time. Default: nowhere. */
  file?: string;
  /** Options of every session. */
  session?: Partial<SessionOptions>;
};

/** The scores of a case, or of all: means from 0 to 1 by judge, over its runs. */
export type Scores = {
  scores: Record<string, number>;
  succeeded: number;
  runs: number;
  requests: number;
  costUsd: number | null;
};

export type Evaluation = {
  cases: Record<string, Scores>;
  all: Scores;
  /** By how much the mean scores differ from those of the last time, by judge; null without a last time. */
  change: Record<string, number> | null;
  /** Cases whose scores are lower than the last time. */
  worse: string[];
  /** All that, to be printed. */
  table: string;
};

const caseSchema = z.looseObject({ name: nonBlank });
const optionsSchema = z.strictObject({
  judges: z.record(nonBlank, aFunction, { error: 'an object of functions' }).optional(),
  runs: count.default(1),
  concurrency: count.default(4),
  file: nonBlank.optional(),
  session: z.record(z.string(), z.unknown()).default({}),
} satisfies Record<keyof EvaluateOptions, z.ZodType>);

/**
 * Runs an agent on each case and has the results judged, also those of sessions that failed. Rejects with what a judge
 * throws, with `invalid_options`, and with `invalid_journal` for a file that holds no scores.
 */
export async function evaluate<Report, Context, Expected>(
  agent: Agent<Report, Context>,
  cases: readonly EvaluationCase<Expected>[],
  options: EvaluateOptions<Report, Expected> = {},
): Promise<Evaluation> {
  requireAgent(agent);
  check<unknown>(z.array(caseSchema, { error: 'an array of cases' }), cases, 'cases', 'invalid_options');
  const { runs, concurrency, file, session } = check<z.output<typeof optionsSchema>>(
    optionsSchema,
    options,
    'options',
    'invalid_options',
  );
  const twice = cases.find(({ name }, index) => cases.findIndex((one) => one.name === name) < index);
  if (twice !== undefined) throw unexpected('invalid_options', 'cases', twice.name, 'cases with different names');
  const judges = options.judges ?? { succeeded: ({ success }: SessionResult<Report>) => success };
  const before = file === undefined ? null : lastTime(file);
  const rows = new Map(cases.map(({ name }): [string, Scores] => [name, emptyScores(Object.keys(judges))]));
  const inputs = cases.flatMap((one, at) =>
    Array.from({ length: runs }, (_, run): BatchInput => {
      const { name: _name, expected: _expected, ...given } = one;
      return { ...given, id: `${at}/${run}` };
    }),
  );
  await runBatch(agent as Agent, inputs, {
    ...{ concurrency, session: { logger: false, ...session }, progress: false },
    onItem: async ({ id, result, error }) => {
      const one = cases[Number(id.split('/')[0])];
      const row = rows.get(one?.name ?? '');
      if (one === undefined || row === undefined) return;
      if (result === null)
        throw new PawlError('invalid_options', `The case "${one.name}" cannot run: ${messageOf(error)}`);
      row.runs += 1;
      row.succeeded += result.success ? 1 : 0;
      row.requests += result.counters.tree.requests;
      const { costUsd } = result.counters.tree;
      row.costUsd = row.costUsd === null || costUsd === null ? null : row.costUsd + costUsd;
      for (const [name, judge] of Object.entries(judges)) {
        const score = await scoreOf(judge, result as SessionResult<Report>, one, name);
        // Read after the wait: runs of a case are judged at once.
        row.scores[name] = (row.scores[name] ?? 0) + score;
      }
    },
  });
  for (const row of rows.values())
    for (const name of Object.keys(row.scores)) row.scores[name] = (row.scores[name] ?? 0) / row.runs;
  const evaluation = compared(Object.fromEntries(rows), before);
  if (file !== undefined) save(file, evaluation);
  return evaluation;
}

async function scoreOf<Report, Expected>(
  judge: Judge<Report, Expected>,
  result: SessionResult<Report>,
  one: EvaluationCase<Expected>,
  name: string,
): Promise<number> {
  const score = await judge(result, one);
  if (typeof score === 'boolean') return score ? 1 : 0;
  if (typeof score === 'number' && score >= 0 && score <= 1) return score;
  throw unexpected(
    'invalid_options',
    `judges.${name}`,
    score,
    'a function that returns a boolean, or a number from 0 to 1',
  );
}

function emptyScores(judges: readonly string[]): Scores {
  return {
    scores: Object.fromEntries(judges.map((name) => [name, 0])),
    succeeded: 0,
    runs: 0,
    requests: 0,
    costUsd: 0,
  };
}

type Kept = { pawl: 'evaluation'; cases: Record<string, Scores>; all: Scores };

function lastTime(file: string): Kept | null {
  if (!existsSync(file)) return null;
  try {
    const kept = JSON.parse(readFileSync(file, 'utf8'));
    if (kept.pawl === 'evaluation') return kept;
  } catch {}
  throw new PawlError('invalid_journal', `${file} holds no scores of an evaluation; it was left as it is.`);
}

function save(file: string, { cases, all }: Evaluation): void {
  const kept: Kept = { pawl: 'evaluation', cases, all };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
}

function compared(cases: Record<string, Scores>, before: Kept | null): Evaluation {
  const all = together(Object.values(cases));
  const names = Object.keys(all.scores);
  const change =
    before === null
      ? null
      : Object.fromEntries(names.map((name) => [name, (all.scores[name] ?? 0) - (before.all.scores[name] ?? 0)]));
  const worse = Object.entries(cases).flatMap(([name, { scores }]) => {
    const last = before?.cases[name]?.scores ?? {};
    return names.some((judge) => (scores[judge] ?? 0) < (last[judge] ?? 0) - 1e-9) ? [name] : [];
  });
  return { cases, all, change, worse, table: tableOf(cases, all, change, worse) };
}

function together(rows: readonly Scores[]): Scores {
  const judges = Object.keys(rows[0]?.scores ?? {});
  const runs = rows.reduce((sum, row) => sum + row.runs, 0);
  const mean = (name: string) =>
    rows.reduce((sum, row) => sum + (row.scores[name] ?? 0) * row.runs, 0) / Math.max(1, runs);
  return {
    scores: Object.fromEntries(judges.map((name) => [name, mean(name)])),
    succeeded: rows.reduce((sum, row) => sum + row.succeeded, 0),
    runs,
    requests: rows.reduce((sum, row) => sum + row.requests, 0),
    costUsd: rows.reduce<number | null>(
      (sum, { costUsd }) => (sum === null || costUsd === null ? null : sum + costUsd),
      0,
    ),
  };
}

function tableOf(
  cases: Record<string, Scores>,
  all: Scores,
  change: Evaluation['change'],
  worse: readonly string[],
): string {
  const judges = Object.keys(all.scores);
  const cells = (name: string, { scores, succeeded, runs, requests, costUsd }: Scores) => [
    name,
    ...judges.map((judge) => (scores[judge] ?? 0).toFixed(2)),
    `${succeeded}/${runs}`,
    String(requests),
    costUsd === null ? 'no price' : formatDollars(costUsd),
    worse.includes(name) ? 'worse than the last time' : '',
  ];
  const rows = [
    ['', ...judges, 'succeeded', 'requests', 'cost', ''],
    ...Object.entries(cases).map(([name, row]) => cells(name, row)),
    cells('all', all),
    ...(change === null
      ? []
      : [['since the last time', ...judges.map((judge) => signed(change[judge] ?? 0)), '', '', '', '']]),
  ];
  return inColumns(rows).join('\n');
}

function signed(change: number): string {
  return `${change < 0 ? '' : '+'}${change.toFixed(2)}`;
}
