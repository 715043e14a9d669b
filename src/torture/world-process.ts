import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Json, JsonObject } from '../../machines/index.ts';
import { systemClock } from '../host/clock.ts';
import { check } from '../input/check.ts';
import { PawlError } from '../input/errors.ts';
import { endGroup, startGroup } from '../platform/node-only/process-groups.ts';
import { canonical, Refused, type Task, type World, type WorldDatabase } from './world.ts';

/** Characters of what it wrote to standard error that an error shows. */
const mostErrors = 2_000;

const words = z.string().min(1);
const anObject = z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value));
const toolSchema = z.object({ name: words, description: z.string(), inputSchema: anObject });
const worldSchema = z.object({
  name: words,
  instructions: z.string(),
  tools: z.array(toolSchema),
  tasks: z.array(
    z.object({
      id: words,
      prompt: words,
      rounds: z.array(z.array(z.object({ name: words, input: anObject }))),
      answer: words,
      tools: z.array(toolSchema).optional(),
    }),
  ),
});

const anAnswer = z.custom<object>((value) => typeof value === 'object' && value !== null, { error: 'an object' });
const callSchema = z.union(
  [
    z.object({ ok: z.literal(true), result: z.json().default(null) }),
    z.object({ ok: z.literal(false), error: z.string().default('refused') }),
  ],
  {
    error: '{ ok: true, result } or { ok: false, error }',
  },
);
const hashSchema = z.object({ hash: words }, { error: '{ hash }' });

/** A world that a program of its own holds, in any language. */
export type ProgramWorld = World & { end(): Promise<void> };

/** A program that answers each line with a line. */
class AnsweringProcess {
  private readonly commandLine: string;
  private readonly longestMs: number;
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly ended: Promise<void>;
  private readonly waiting: { resolve: (answer: unknown) => void; reject: (error: Error) => void }[] = [];
  private errors = '';
  private why: Error | null = null;

  constructor(commandLine: string, longestMs: number) {
    this.commandLine = commandLine;
    this.longestMs = longestMs;
    // A group of its own: the shell starts the program.
    this.child = startGroup(() => spawn(commandLine, { shell: true, stdio: ['pipe', 'pipe', 'pipe'], detached: true }));
    const { stdin, stdout, stderr } = this.child;
    stderr.setEncoding('utf8').on('data', (text) => {
      this.errors = `${this.errors}${text}`.slice(-mostErrors);
    });
    createInterface({ input: stdout }).on('line', (line) => this.take(line));
    // Told by the end of the process.
    stdin.on('error', () => {});
    this.child.once('error', ({ message }) => this.fail(`does not start: ${message}`));
    // What has left its group may hold its output open.
    this.ended = new Promise((resolve) => this.child.once('exit', () => resolve()));
    this.child.once('close', (code) => this.fail(`ended (exit code ${code})`));
  }

  /** Rejects with `invalid_options` if the program ends, is silent for too long, or says something else. */
  async ask<Value>(question: object, schema: z.ZodType<Value>, longestMs = this.longestMs): Promise<Value> {
    const late = systemClock.alarm(longestMs, () => {
      this.fail(`answered nothing to ${JSON.stringify(question).slice(0, 200)} within ${longestMs} ms`);
    });
    const answer = await new Promise<unknown>((resolve, reject) => {
      if (this.why !== null) return reject(this.why);
      this.waiting.push({ resolve, reject });
      this.child.stdin.write(`${JSON.stringify(question)}\n`);
    }).finally(late);
    return check(schema, answer, `what \`${this.commandLine}\` answers`, 'invalid_options');
  }

  async end(): Promise<void> {
    this.kill();
    if (this.child.pid !== undefined) await this.ended;
    for (const stream of [this.child.stdout, this.child.stderr]) stream.destroy();
  }

  /** A line that is no answer would be taken for that of the next question. */
  private take(line: string): void {
    const [next] = this.waiting;
    try {
      const answer = JSON.parse(line);
      if (next === undefined) this.fail(`said what it was not asked: ${line.slice(0, 200)}`);
      this.waiting.shift();
      next?.resolve(answer);
    } catch {
      this.fail(`answered no JSON: ${line.slice(0, 200)}`);
    }
  }

  /** Ends it, and rejects what waits for it. */
  fail(message: string): void {
    const said = this.errors === '' ? '' : `: ${this.errors.trim()}`;
    this.why ??= new PawlError('invalid_options', `options.world: \`${this.commandLine}\` ${message}${said}`);
    for (const { reject } of this.waiting.splice(0)) reject(this.why);
    this.kill();
  }

  private kill(): void {
    if (this.child.pid !== undefined) endGroup(this.child.pid);
  }
}

/**
 * Starts a program that holds a world, and asks it for its tasks. It reads a line of JSON for each question, and answers
 * each by a line: `{"describe":true}`, then `{"begin":1}`, `{"database":1,"call":{name,input}}`,
 * `{"database":1,"hash":true}`, `{"end":1}`. It may take `timeoutMs` to begin, and half of it for an answer, so that a loop
 * that waits for it is not taken for one that hangs.
 */
export async function startWorld(commandLine: string, timeoutMs: number, signal?: AbortSignal): Promise<ProgramWorld> {
  const program = new AnsweringProcess(commandLine, timeoutMs / 2);
  const stop = () => program.fail('was stopped');
  signal?.addEventListener('abort', stop, { once: true });
  const end = async () => {
    signal?.removeEventListener('abort', stop);
    await program.end();
  };
  try {
    const world = await program.ask({ describe: true }, worldSchema, timeoutMs);
    const problem = world.tasks
      .map((task, at) => problemOf(task, world.tasks.slice(0, at)))
      .find((one) => one !== null);
    if (problem !== undefined) throw new PawlError('invalid_options', `options.world: ${problem}`);
    let databases = 0;
    const begin = () => {
      databases += 1;
      return databaseOf(program, databases);
    };
    await checkHash(begin);
    return { ...world, begin, end };
  } catch (error) {
    await end();
    signal?.throwIfAborted();
    throw error;
  }
}

/** What is wrong with a task; null if nothing is. */
function problemOf({ id, rounds }: Task, before: readonly Task[]): string | null {
  if (before.some((other) => other.id === id)) return `two tasks have the id '${id}'`;
  const calls = rounds.flat().map(({ name, input }) => canonical([name, input]));
  if (calls.length === 0) return `the task '${id}' has no calls`;
  const again = calls.find((call, at) => calls.indexOf(call) < at);
  // The model sees what was answered, so it would never ask for the second.
  return again === undefined ? null : `the task '${id}' has the same call twice: ${again}`;
}

/** Databases in which nothing has happened must be alike. */
async function checkHash(begin: () => WorldDatabase): Promise<void> {
  const [one, other] = [begin(), begin()];
  const [hash, again, third] = [await one.hash(), await one.hash(), await other.hash()];
  if (hash !== again || hash !== third)
    throw new PawlError(
      'invalid_options',
      'options.world: databases in which nothing has happened have different hashes',
    );
  await one.close();
  await other.close();
}

function databaseOf(program: AnsweringProcess, database: number): WorldDatabase {
  const begun = program.ask({ begin: database }, anAnswer);
  // Told by the first question, which waits for it.
  begun.catch(() => {});
  return {
    async call(name, input) {
      await begun;
      const answer = await program.ask({ database, call: { name, input } }, callSchema);
      if (!answer.ok) throw new Refused(answer.error);
      return answer.result as Json;
    },
    async hash() {
      await begun;
      return (await program.ask({ database, hash: true }, hashSchema)).hash;
    },
    async close() {
      await begun;
      await program.ask({ end: database }, anAnswer);
    },
  };
}
