import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { CreatedItem, Incident, ItemFailure, RunState } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import { readIfThere, writeAtomically } from './files.ts';

export const stateFile = '.agent-state.json';

const texts = z.array(z.string());
const count = z.int().min(0);
/** What is nested was written by the same hand: that it is there, and a list, is enough. */
const listOf = <T>() => z.array(z.custom<T>((value) => typeof value === 'object' && value !== null)).default([]);

const schema = z.looseObject({
  current_phase: z.string(),
  current_item: z.string().nullable(),
  iteration_count: count,
  failure_count: count,
  last_failures: texts,
  early_exit_triggered: z.boolean(),
  early_exit_reason: z.string().nullable(),
  run: z.string().optional(),
  succeeded: texts.default([]),
  set_aside: texts.default([]),
  tried: texts.default([]),
  failures: listOf<ItemFailure>(),
  incidents: listOf<Incident>(),
  created: listOf<CreatedItem>(),
});

const phases = new Set<string>([
  'restoring',
  'scanning',
  'processing',
  'testing',
  'archiving',
  'settingAside',
  'capturing',
  'reviewing',
  'summarising',
] satisfies RunState['current_phase'][]);

/** `ended`: the last run came to its end, or there was none, or the file is of another tool that has the same fields. */
export type FoundState = { kind: 'ended' } | { kind: 'died'; state: RunState } | { kind: 'corrupt'; message: string };

export function readState(backlog: string): FoundState {
  const text = readIfThere(join(backlog, stateFile));
  if (text === null) return { kind: 'ended' };
  const found = parsed(text);
  if (typeof found === 'string') return { kind: 'corrupt', message: `${stateFile} is corrupt: ${found}` };
  const { run, current_phase } = found;
  if (run === undefined || !phases.has(current_phase)) return { kind: 'ended' };
  return { kind: 'died', state: { ...found, run, current_phase: current_phase as RunState['current_phase'] } };
}

function parsed(text: string): z.infer<typeof schema> | string {
  try {
    const result = schema.safeParse(JSON.parse(text));
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    return `${issue?.path.join('.') || 'the value'}: ${issue?.message}`;
  } catch (error) {
    return messageOf(error);
  }
}

/** Atomically: whoever reads it sees the state before or the state after (W-4). */
export function writeState(backlog: string, state: RunState): void {
  writeAtomically(join(backlog, stateFile), `${JSON.stringify(state, null, 2)}\n`);
}

/** A corrupt state file is kept, and never overwritten (W-4). Gives its new name. */
export function keepAside(backlog: string): string {
  const kept = `${stateFile}.corrupt-${timestamp(new Date())}`;
  renameSync(join(backlog, stateFile), join(backlog, kept));
  return kept;
}

/** Such as `2026-01-31T12-00-00-000Z`: a name on every file system, and sorted by time. */
export function timestamp(date: Date): string {
  return date.toISOString().replaceAll(/[:.]/g, '-');
}
