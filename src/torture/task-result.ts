import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PawlError } from '../input/errors.ts';
import { type RecordedRequest, startModelServer, type Wire } from '../testing/model-server.ts';
import type { ScriptedResponse } from '../testing/scripted-response.ts';
import { chances, faultFor, faultNames, isReplyFault, type ToolFault } from './faults.ts';
import { type Judgement, judgementOf } from './judge.ts';
import { runOf, type TortureTask } from './loop-process.ts';
import { nextReply } from './scripted-model.ts';
import { StoredResponses } from './stored-responses.ts';
import { startToolServer } from './tool-server.ts';
import { cachedText, mustCall, toolsIn } from './transcript.ts';
import { LivedWorld, type Task, type World } from './world.ts';

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

/** How a task is run. */
type How = {
  command: readonly string[];
  wire: Wire;
  seed: string;
  rate: number;
  toolRate?: number | undefined;
  faults?: readonly string[] | undefined;
  kills?: 'request' | 'effect' | undefined;
  maxRequests: number;
  timeoutMs: number;
  settings: string;
  signal?: AbortSignal | undefined;
};

/** Bytes that Linux takes in one variable of the environment, less some room. */
const mostTask = 128_000;

/** What arrives at the model's server. */
const paths: Record<Wire, RegExp> = {
  openai: /\/chat\/completions(?:\?|$)/,
  'openai-responses': /\/responses(?:\?|$)/,
  anthropic: /\/messages(?:\?|$)/,
  gemini: /:(?:stream)?generateContent(?:\?|$)/i,
};

/** Lets a loop carry out a task, in a process of its own, and judges it. */
export async function taskResult(world: World, task: Task, how: How): Promise<TaskResult> {
  const run = new TaskRun(world, task, how);
  const state = mkdtempSync(join(tmpdir(), 'torture-'));
  const server = await startModelServer((request, index) => run.response(request, index));
  const tools = await startToolServer(run.lived, {
    faultOf: (name, input) => run.toolFault(name, input),
    onEffect: () => run.isAnswered(),
  });
  try {
    const { wire, maxRequests, settings } = how;
    const told: Omit<TortureTask, 'run'> = {
      ...{ id: task.id, instructions: world.instructions, prompt: task.prompt },
      ...{ toolUrl: tools.url, baseUrl: server.url, model: 'torture', wire, maxRequests, settings, state },
      tools: task.tools ?? world.tools,
    };
    const length = Buffer.byteLength(JSON.stringify(told));
    if (length > mostTask)
      throw new PawlError(
        'invalid_options',
        `The task ${task.id} has ${length} bytes: an environment variable takes ${mostTask}.`,
      );
    const started = async (count: number) => {
      const end = await runOf(how, { ...told, run: count }, (kill) => run.killedBy(kill));
      how.signal?.throwIfAborted();
      return end;
    };
    let end = await started(1);
    if (end === 'killed' && run.requests <= maxRequests) {
      run.faults.push(`${run.requests}: killed`);
      end = await started(2);
    }
    const { lived, requests, sent, cached, faults } = run;
    const judgement = await judgementOf({ world, task, lived, end, requests, maxRequests });
    const answer = end === null || end === 'killed' ? '' : end.answer;
    return { id: task.id, judgement, requests, sent, cached, toolCalls: lived.ledger.length, faults, answer };
  } finally {
    rmSync(state, { recursive: true, force: true });
    await server.close();
    await tools.close();
    await run.lived.close();
  }
}

/** What comes over the wires of one task: replies, faults, and the moment at which the loop is killed. */
class TaskRun {
  readonly lived: LivedWorld;
  readonly faults: string[] = [];
  requests = 0;
  sent = 0;
  cached = 0;
  private readonly task: Task;
  private readonly how: How;
  private readonly replyFaults: readonly string[];
  private readonly toolFaults: readonly ToolFault[];
  private readonly killAt: number | null;
  private readonly killAfter: number | null;
  private readonly stored = new StoredResponses();
  private readonly tries = new Map<string, number>();
  private before = '';
  private effects = 0;
  private kill = () => {};

  constructor(world: World, task: Task, how: How) {
    const { faults: names = faultNames, kills, seed } = how;
    this.lived = new LivedWorld(world);
    this.task = task;
    this.how = how;
    this.replyFaults = names.filter(isReplyFault);
    this.toolFaults = names.filter((name): name is ToolFault => !isReplyFault(name));
    const chance = chances(`${seed} ${task.id} kill`)();
    this.killAt = kills === 'request' ? 2 + Math.floor(chance * task.rounds.length) : null;
    this.killAfter = kills === 'effect' ? 1 + Math.floor(chance * task.rounds.flat().length) : null;
  }

  killedBy(kill: () => void): void {
    this.kill = kill;
  }

  /** What the model's server sends. `index`: the number of the request there. */
  response(request: RecordedRequest, index: number): ScriptedResponse {
    const { wire, seed, rate, maxRequests } = this.how;
    const notFound = (message: string) => ({ status: 404, error: { type: 'not_found_error', message } });
    if (!Object.values(paths).some((path) => path.test(request.path))) return notFound(`nothing is at ${request.path}`);
    this.requests += 1;
    if (request.wire !== wire) return notFound(`This run speaks ${wire}, not ${request.wire}.`);
    const text = cachedText(request.body);
    this.sent += text.length;
    this.cached += commonStart(this.before, text);
    this.before = text;
    // One that is beyond its bound is not waited for.
    if (this.requests === this.killAt || this.requests > 2 * maxRequests) {
      this.kill();
      return { hang: true };
    }
    const input = wire === 'openai-responses' ? this.stored.inputOf(request) : [];
    if (typeof input === 'string') return notFound(input);
    const body = wire === 'openai-responses' ? { ...request.body, input } : request.body;
    const reply = nextReply(this.task, { body, wire });
    const fault = faultFor(reply, {
      ...{ seed: `${seed} ${this.task.id} ${this.requests}`, rate, names: this.replyFaults },
      asked: {
        ...{ wire, streams: request.streams, mustCall: mustCall(body) },
        report: toolsIn(body).get('final_report') ?? null,
      },
    });
    if (fault !== null) this.faults.push(`${this.requests}: ${fault.name}`);
    const response = fault?.response ?? reply;
    if (isWhole(response)) this.stored.keep(index, input, response);
    return response;
  }

  /** What goes wrong with a call. Calls that are made at once arrive in any order, so it follows from the call. */
  toolFault(name: string, input: string): ToolFault | null {
    const { seed, rate, toolRate = rate / 3 } = this.how;
    const call = `${name} ${input}`;
    const tried = (this.tries.get(call) ?? 0) + 1;
    this.tries.set(call, tried);
    const next = chances(`${seed} ${this.task.id} ${call} ${tried}`);
    if (next() >= toolRate) return null;
    const fault = this.toolFaults[Math.floor(next() * this.toolFaults.length)] ?? null;
    if (fault !== null) this.faults.push(`${name}: ${fault}`);
    return fault;
  }

  /** A call was carried out. False if the loop is killed before it has the answer. */
  isAnswered(): boolean {
    this.effects += 1;
    if (this.effects === this.killAfter) this.kill();
    return this.effects !== this.killAfter;
  }
}

/** Whether all of a reply arrives, so that a server keeps it. */
function isWhole({ status = 200, body, errorEvent, cut, reset, hang }: ScriptedResponse): boolean {
  return status === 200 && [body, errorEvent, cut, reset, hang].every((fault) => fault === undefined);
}

function commonStart(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
