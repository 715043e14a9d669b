import { renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { itemPhases, phases, type RunState, slugs } from '../../../machines/index.ts';
import { messageOf } from '../../input/errors.ts';
import { readIfThere, writeAtomically } from './files.ts';

export const stateFile = '.agent-state.json';

const phase = z.enum(phases);
const texts = z.array(z.string());
const count = z.int().min(0);

const failure = z.object({
  id: z.string(),
  folder: z.string(),
  component: z.string().nullable(),
  phase,
  slugs: z.array(z.enum(slugs)),
  message: z.string(),
  requests: count,
});
const stop = z.object({
  file: z.string(),
  item: z.string().nullable(),
  request: z.string(),
  component: z.string().nullable(),
});
const incident = z.discriminatedUnion('kind', [
  z
    .object({ kind: z.literal('consecutive_failures'), count: count.optional(), failures: z.array(failure) })
    // Earlier versions did not write it.
    .transform((one) => ({ ...one, count: one.count ?? one.failures.length })),
  z.object({ kind: z.literal('stop'), stop }),
  z.object({ kind: z.literal('critical_error'), phase, item: z.string().nullable(), message: z.string() }),
  z.object({
    kind: z.literal('agent_unavailable'),
    agent: z.string(),
    item: z.string().nullable(),
    tries: count,
    lookedFor: texts,
    errors: texts.default([]),
  }),
  z.object({ kind: z.literal('crash'), phase, item: z.string().nullable() }),
]);
const created = z.object({
  id: z.string(),
  title: z.string(),
  folder: z.string(),
  isNew: z.boolean(),
  why: z.string(),
});

/** The fields of W-4. Other tools write a file with the same name and these fields. */
const shared = z.looseObject({
  current_phase: z.string(),
  current_item: z.string().nullable(),
  iteration_count: count,
  failure_count: count,
  last_failures: z.array(z.unknown()),
  early_exit_triggered: z.boolean(),
  early_exit_reason: z.string().nullable(),
});

const runName = /^[\w.-]*\w$/;

/** The state file of Pawl, which has additional fields. */
const schema = shared.extend({
  run: z.string().regex(runName, { error: 'the name of a folder' }),
  in_progress: z.array(z.object({ id: z.string(), phase: z.enum(itemPhases) })).optional(),
  concurrency: count.default(1),
  succeeded: texts.default([]),
  set_aside: texts.default([]),
  tried: texts.default([]),
  failures: z.array(failure).default([]),
  incidents: z.array(incident).default([]),
  created: z.array(created).default([]),
  changed: texts.default([]),
});

const ends: readonly string[] = ['completed', 'exitedEarly'] satisfies RunState['current_phase'][];

/**
 * `ended`: the last run finished, or there was none. `foreign`: a file of another tool; `says` describes it for a person,
 * and `failures` lists the items that failed last.
 */
export type FoundState =
  | { kind: 'ended' }
  | { kind: 'foreign'; says: string; failures: string[] }
  | { kind: 'died'; state: RunState }
  | { kind: 'corrupt'; message: string };

export function readState(backlog: string): FoundState {
  const path = join(backlog, stateFile);
  const corrupt = (why: string): FoundState => ({ kind: 'corrupt', message: `${stateFile} is corrupt: ${why}` });
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return corrupt('it is a folder');
  const text = readIfThere(path);
  if (text === null) return { kind: 'ended' };
  const file = parsed(text, z.looseObject({}));
  if (typeof file === 'string') return corrupt(file);
  if (typeof file.run !== 'string') return foreignState(text);
  const found = parsed(text, schema);
  if (typeof found === 'string') return corrupt(found);
  const { run } = found;
  const died = phase.safeParse(found.current_phase);
  if (ends.includes(found.current_phase)) return { kind: 'ended' };
  if (!died.success) return corrupt(`current_phase is ${found.current_phase}`);
  const ids = new Set(found.failures.map(({ id }) => id));
  const last_failures = found.last_failures.filter((id): id is string => typeof id === 'string' && ids.has(id));
  // The count must not exceed the listed failures.
  const failure_count = Math.min(found.failure_count, last_failures.length);
  const current_phase = died.data;
  const in_progress = found.in_progress ?? inProgress(current_phase, found.current_item);
  return { kind: 'died', state: { ...found, run, last_failures, failure_count, current_phase, in_progress } };
}

/** Returns what the file of another tool says, which need not have the fields of W-4. */
function foreignState(text: string): FoundState {
  const file = parsed(text, shared);
  if (typeof file === 'string') return { kind: 'foreign', says: `it lacks fields of W-4 (${file})`, failures: [] };
  return { kind: 'foreign', says: saidIn(file), failures: file.last_failures.flatMap(idIn) };
}

/** Returns the item in progress from the state file of an earlier version. */
function inProgress(phase: RunState['current_phase'], id: string | null): RunState['in_progress'] {
  const own = itemPhases.find((one) => one === phase);
  return own === undefined || id === null ? [] : [{ id, phase: own }];
}

function parsed<Shape extends z.ZodType>(text: string, shape: Shape): z.infer<Shape> | string {
  try {
    const result = shape.safeParse(JSON.parse(text));
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    return `${issue?.path.join('.') || 'the value'}: ${issue?.message}`;
  } catch (error) {
    return messageOf(error);
  }
}

/** Describes the fields of W-4 for a person. */
function saidIn({
  current_phase: phase,
  current_item: item,
  failure_count: failures,
  early_exit_reason: reason,
}: z.infer<typeof shared>): string {
  const place = item === null ? phase : `${phase} of ${item}`;
  const early = reason === null ? '' : `, early exit: ${reason}`;
  return `it was in ${place}, with ${failures} ${failures === 1 ? 'failure' : 'failures'} in a row${early}`;
}

/** Returns the id in an entry, which is an id or an object with one. */
function idIn(failure: unknown): string[] {
  if (typeof failure === 'string') return /\b[A-Z]+-\d+/i.exec(failure)?.map((id) => id.toUpperCase()) ?? [];
  if (typeof failure !== 'object' || failure === null) return [];
  return ['id', 'item_id', 'item', 'bug_id', 'feature_id']
    .flatMap((name) => idIn(Reflect.get(failure, name)))
    .slice(0, 1);
}

/** Writes the state file atomically: readers get the old state or the new one (W-4). */
export function writeState(backlog: string, state: RunState): void {
  writeAtomically(join(backlog, stateFile), `${JSON.stringify(state, null, 2)}\n`);
}

/** Renames a state file that no run can continue from, so it is never overwritten (W-4). Returns the new name. */
export function keepAside(backlog: string): string {
  const kept = `${stateFile}.kept-${timestamp(new Date())}`;
  renameSync(join(backlog, stateFile), join(backlog, kept));
  return kept;
}

/** Formats a date as in `2026-01-31T12-00-00-000Z`, which sorts by time and is a valid file name everywhere. */
export function timestamp(date: Date): string {
  return date.toISOString().replaceAll(/[:.]/g, '-');
}
