import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { check } from '../input/check.ts';
import { milliseconds, oneOf, text } from '../input/shapes.ts';
import { type RecordedRequest, startModelServer, type Wire } from '../testing/model-server.ts';
import type { ScriptedResponse } from '../testing/scripted-response.ts';
import { chances, faultFor, faultNames, isReplyFault, type ToolFault } from './faults.ts';
import { type Judgement, judgementOf, judgements } from './judge.ts';
import { runOf, type TortureTask } from './loop-process.ts';
import { nextReply } from './scripted-model.ts';
import { startToolServer } from './tool-server.ts';
import { toolsIn } from './transcript.ts';
import { inputSchema, LivedWorld, type Task, type World } from './world.ts';
import { worlds } from './worlds/index.ts';

export type TortureOptions = {
  /** The loop: a program and its arguments. It is started for each task, with the task in `TORTURE_TASK`. */
  command: readonly string[];
  /** What the model's server speaks. Default: `openai`, chat completions. */
  wire?: Wire;
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
};

export type TaskResult = {
  id: string;
  judgement: Judgement;
  requests: number;
  /** The characters of its requests, and those that a provider's cache would have: the beginning of the one before. */
  sent: number;
  cached: number;
  toolCalls: number;
  /** The faults that came, by the number of the request or call. */
  faults: string[];
  /** What the loop said at the end; empty if it hung. */
  answer: string;
};

export type TortureReport = {
  suite: 'loop-torture';
  version: 1;
  command: readonly string[];
  wire: Wire;
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
const ids = worlds.flatMap(({ tasks }) => tasks.map(({ id }) => id));
const taskName = z.string().refine((name) => name !== '' && ids.some((id) => id.startsWith(name)), {
  error: `the id of a task, or its beginning, such as 'bank' or 'shop-03'`,
});
const faultName = z.enum(faultNames, { error: `one of ${faultNames.join(', ')}` });
const few = z.int({ error: 'an integer from 1 to 64' }).min(1, { error: 'an integer from 1 to 64' }).max(64, {
  error: 'an integer from 1 to 64',
});
const some = z.int({ error: 'an integer of at least 1' }).min(1, { error: 'an integer of at least 1' });
const optionsSchema = z.strictObject({
  command: z.array(text, { error: 'a program and its arguments' }).min(1, { error: 'a program and its arguments' }),
  wire: oneOf('openai', 'anthropic').default('openai'),
  seed: text.default('1'),
  rate: share.default(0.15),
  toolRate: share.optional(),
  tasks: z.array(taskName, { error: 'an array of ids' }).optional(),
  faults: z.array(faultName, { error: 'an array of names' }).optional(),
  kills: oneOf('request', 'effect').optional(),
  maxRequests: some.default(40),
  timeoutMs: milliseconds.default(60_000),
  jobs: few.default(2),
  settings: text.default('best'),
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
  const { tasks: wanted = [''], command, wire, settings, seed, rate, kills = null } = given;
  const chosen = worlds.flatMap((world) =>
    world.tasks.filter(({ id }) => wanted.some((name) => id.startsWith(name))).map((task) => ({ world, task })),
  );
  const tasks: TaskResult[] = [];
  const left = [...chosen];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const result = await taskResult(next.world, next.task, given);
      tasks.push(result);
      onTask(result);
    }
  };
  await Promise.all(Array.from({ length: given.jobs }, work));
  tasks.sort((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id));
  const totals = Object.fromEntries(
    judgements.map((judgement) => [judgement, tasks.filter((one) => one.judgement === judgement).length]),
  ) as Record<Judgement, number>;
  const sum = (field: 'requests' | 'sent' | 'cached') => tasks.reduce((all, one) => all + one[field], 0);
  const spent = { requests: sum('requests'), sent: sum('sent'), cached: sum('cached') };
  const head = { suite: 'loop-torture', version: 1, command, wire, settings, seed, rate, kills } as const;
  return { ...head, totals, ...spent, tasks };
}

async function taskResult(world: World, task: Task, given: Given): Promise<TaskResult> {
  const { wire, seed, rate, toolRate = rate / 3, faults: names = faultNames, maxRequests, kills } = given;
  const lived = new LivedWorld(world);
  const faults: string[] = [];
  const chance = chances(`${seed} ${task.id} kill`)();
  const killAt = kills === 'request' ? 2 + Math.floor(chance * task.rounds.length) : null;
  const killAfter = kills === 'effect' ? 1 + Math.floor(chance * task.rounds.flat().length) : null;
  let [requests, made, sent, cached] = [0, 0, 0, 0];
  const tries = new Map<string, number>();
  let before = '';
  let kill = () => {};
  const model = async (request: RecordedRequest): Promise<ScriptedResponse> => {
    const { path, body } = request;
    if (!/\/(?:chat\/completions|messages)$/.test(path))
      return { status: 404, error: { message: `nothing is at ${path}` } };
    requests += 1;
    if (request.wire !== wire)
      return {
        status: 404,
        error: { type: 'not_found_error', message: `This run speaks ${wire}, not ${request.wire}.` },
      };
    const text = textOf(request);
    sent += text.length;
    cached += commonStart(before, text);
    before = text;
    // One that is beyond its bound is not waited for.
    if (requests === killAt || requests > 2 * maxRequests) {
      kill();
      return { hang: true };
    }
    const reply = nextReply(task, request);
    const asked = {
      ...{ wire, streams: body.stream === true, report: toolsIn(body).get('final_report') ?? null },
      mustCall: /^"?(?:required|any)"?$/.test(JSON.stringify(choiceIn(body))),
    };
    const at = { seed: `${seed} ${task.id} ${requests}`, rate, names: names.filter(isReplyFault), asked };
    const fault = faultFor(reply, at);
    if (fault !== null) faults.push(`${requests}: ${fault.name}`);
    return fault?.response ?? reply;
  };
  const toolFaultNames = names.filter((name) => !isReplyFault(name)) as ToolFault[];
  // Calls that are made at once arrive in any order, so what goes wrong follows from the call.
  const faultOf = (name: string, input: string): ToolFault | null => {
    const call = `${name} ${input}`;
    const tried = (tries.get(call) ?? 0) + 1;
    tries.set(call, tried);
    const next = chances(`${seed} ${task.id} ${call} ${tried}`);
    if (next() >= toolRate) return null;
    const fault = toolFaultNames[Math.floor(next() * toolFaultNames.length)] ?? null;
    if (fault !== null) faults.push(`${name}: ${fault}`);
    return fault;
  };
  const onEffect = () => {
    made += 1;
    if (made === killAfter) kill();
    return made !== killAfter;
  };
  const state = mkdtempSync(join(tmpdir(), 'torture-'));
  const server = await startModelServer(model);
  const tools = await startToolServer(lived, { faultOf, onEffect });
  try {
    const told: Omit<TortureTask, 'run'> = {
      ...{
        id: task.id,
        instructions: world.instructions,
        prompt: task.prompt,
        toolUrl: tools.url,
        baseUrl: server.url,
      },
      ...{ model: 'torture', wire, maxRequests, settings: given.settings, state },
      tools: Object.entries(world.tools).map(([name, tool]) => ({
        ...{ name, description: tool.description, inputSchema: inputSchema(tool) },
      })),
    };
    let end = await runOf(given, { ...told, run: 1 }, (how) => {
      kill = how;
    });
    if (end === 'killed' && requests <= maxRequests) {
      faults.push(`${requests}: killed`);
      end = await runOf(given, { ...told, run: 2 }, (how) => {
        kill = how;
      });
    }
    const judgement = judgementOf({ world, task, lived, end, requests, maxRequests });
    const answer = end === null || end === 'killed' ? '' : end.answer;
    return { id: task.id, judgement, requests, sent, cached, toolCalls: lived.ledger.length, faults, answer };
  } finally {
    await server.close();
    await tools.close();
    rmSync(state, { recursive: true, force: true });
  }
}

/** A request in the order in which providers cache it: tools, instructions, messages. */
function textOf({ body: { tools, system, messages } }: RecordedRequest): string {
  return JSON.stringify([tools, system, messages]);
}

/** What a request says of calls: OpenAI as a word, Anthropic as `{ type }`. */
function choiceIn({ tool_choice: choice }: RecordedRequest['body']): unknown {
  return typeof choice === 'object' && choice !== null && 'type' in choice ? choice.type : (choice ?? null);
}

function commonStart(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
