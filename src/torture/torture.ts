import { z } from 'zod';
import { check } from '../input/check.ts';
import { PawlError } from '../input/errors.ts';
import { milliseconds, oneOf, text } from '../input/shapes.ts';
import { commonOptions } from '../session/common-options.ts';
import { type Wire, wires } from '../testing/model-server.ts';
import { faultNames } from './faults.ts';
import { type Judgement, judgements } from './judge.ts';
import { type TaskResult, taskResult } from './task-result.ts';
import type { World } from './world.ts';
import { startWorld } from './world-process.ts';
import { worlds } from './worlds/index.ts';

export type TortureOptions = {
  /** The loop: a program and its arguments. It is started for each task, with the task in `TORTURE_TASK`. */
  command: readonly string[];
  /** What the model's server speaks: `openai` is chat completions. Default: `openai`. */
  wire?: Wire;
  /**
   * A world of your own in place of the four: a command, run by the shell, that answers questions on its standard input
   * (docs/guides/torture.md).
   */
  world?: string;
  /** Says which faults come when. Default: `1`. */
  seed?: string;
  /** How many replies of the model go wrong, from 0 to 1. Default: 0.15. 0 is the control that every loop should pass. */
  rate?: number;
  /** How many calls of tools go wrong, from 0 to 1. Default: a third of `rate`. */
  toolRate?: number;
  /** Which tasks: ids, or what they begin with. Default: all. */
  tasks?: readonly string[];
  /** Which faults, by name (`faultNames`). Default: all. */
  faults?: readonly string[];
  /**
   * Kills the loop once in each task, and starts it again: while it waits for the model (`request`), or after a call was
   * carried out and before its answer (`effect`). A loop that ends before that point is not killed. Default: never.
   */
  kills?: 'request' | 'effect';
  /** The requests that a loop may send for a task; more is a judgement. Default: 40. */
  maxRequests?: number;
  /** After which time a loop hangs, in ms. Default: 60,000. */
  timeoutMs?: number;
  /** How many tasks are worked on at once. Default: 2. */
  jobs?: number;
  /** Passed on to the loop, which says what it means. Default: `best`. */
  settings?: string;
  /** Ends the run: the loops end, and `torture` rejects with its reason. */
  signal?: AbortSignal;
};

export type TortureReport = {
  suite: 'loop-torture';
  version: 1;
  command: readonly string[];
  wire: Wire;
  /** The program that held the world; null for the four of the suite. */
  world: string | null;
  settings: string;
  seed: string;
  rate: number;
  kills: 'request' | 'effect' | null;
  totals: Record<Judgement, number>;
  requests: number;
  sent: number;
  cached: number;
  tasks: TaskResult[];
};

const share = z.number({ error: 'a number from 0 to 1' }).min(0, { error: 'a number from 0 to 1' }).max(1, {
  error: 'a number from 0 to 1',
});
const faultName = z.enum(faultNames, { error: `one of ${faultNames.join(', ')}` });
const few = z.int({ error: 'an integer from 1 to 64' }).min(1, { error: 'an integer from 1 to 64' }).max(64, {
  error: 'an integer from 1 to 64',
});
const some = z.int({ error: 'an integer of at least 1' }).min(1, { error: 'an integer of at least 1' });
const optionsSchema = z.strictObject({
  command: z.array(text, { error: 'a program and its arguments' }).min(1, { error: 'a program and its arguments' }),
  wire: oneOf(...wires).default('openai'),
  world: text.optional(),
  seed: text.default('1'),
  rate: share.default(0.15),
  toolRate: share.optional(),
  tasks: z.array(text, { error: 'an array of ids' }).optional(),
  faults: z.array(faultName, { error: 'an array of names' }).optional(),
  kills: oneOf('request', 'effect').optional(),
  maxRequests: some.default(40),
  timeoutMs: milliseconds.default(60_000),
  jobs: few.default(2),
  settings: text.default('best'),
  signal: commonOptions.signal,
} satisfies Record<keyof TortureOptions, z.ZodType>);

type Given = z.infer<typeof optionsSchema>;

/**
 * Runs a loop on tasks in small worlds, with a model that does each task right and a wire that does not, and judges by
 * what is then in the world. `onTask` hears of each task as it ends. Rejects with `invalid_options`.
 */
export async function torture(
  options: TortureOptions,
  onTask: (result: TaskResult) => void = () => {},
): Promise<TortureReport> {
  const given = check(optionsSchema, options, 'options', 'invalid_options');
  given.signal?.throwIfAborted();
  if (given.world === undefined) return reportAmong(given, worlds, onTask);
  const world = await startWorld(given.world, given.timeoutMs, given.signal);
  try {
    return await reportAmong(given, [world], onTask);
  } finally {
    await world.end();
  }
}

async function reportAmong(
  given: Given,
  among: readonly World[],
  onTask: (result: TaskResult) => void,
): Promise<TortureReport> {
  const { tasks: wanted = [''], command, wire, world = null, settings, seed, rate, kills = null } = given;
  const all = among.flatMap((world) => world.tasks.map((task) => ({ world, task })));
  const isMeant = (id: string) => wanted.some((name) => id.startsWith(name));
  const unknown = wanted.find((name) => !all.some(({ task }) => task.id.startsWith(name)));
  if (unknown !== undefined) {
    const example = all[0]?.task.id ?? 'none: the world has no tasks';
    throw new PawlError(
      'invalid_options',
      `options.tasks must have ids of tasks, or what they begin with, such as '${example}', not '${unknown}'`,
    );
  }
  const chosen = all.filter(({ task }) => isMeant(task.id));
  const results = new Map<string, TaskResult>();
  const left = [...chosen];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const result = await taskResult(next.world, next.task, given);
      results.set(next.task.id, result);
      onTask(result);
    }
  };
  const working = Array.from({ length: given.jobs }, () =>
    work().catch((error) => {
      // No other task begins, and those that are being worked on end first.
      left.length = 0;
      return { error };
    }),
  );
  const failed = (await Promise.all(working)).find((one) => one !== undefined);
  if (failed !== undefined) throw failed.error;
  const tasks = chosen.flatMap(({ task }) => results.get(task.id) ?? []);
  const totals = Object.fromEntries(
    judgements.map((judgement) => [judgement, tasks.filter((one) => one.judgement === judgement).length]),
  ) as Record<Judgement, number>;
  const sum = (field: 'requests' | 'sent' | 'cached') => tasks.reduce((total, one) => total + one[field], 0);
  const spent = { requests: sum('requests'), sent: sum('sent'), cached: sum('cached') };
  const head = { suite: 'loop-torture', version: 1, command, wire, world, settings, seed, rate, kills } as const;
  return { ...head, totals, ...spent, tasks };
}
