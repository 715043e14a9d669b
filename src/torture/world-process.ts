import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Json, JsonObject } from '../../machines/index.ts';
import { systemClock } from '../host/clock.ts';
import { check } from '../input/check.ts';
import { PawlError } from '../input/errors.ts';
import { Refused, type World, type WorldDatabase } from './world.ts';

/** How long a program may take to say what its world is, in ms: it may load a large database. */
const describeMs = 60_000;
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

type Answer = { ok?: boolean; result?: Json; error?: string; hash?: string };

/** A world that a program of its own holds, in any language. */
export type ProgramWorld = World & { end(): Promise<void> };

/**
 * Starts a program that holds a world, and asks it for its tasks. It reads a line of JSON for each question, and answers
 * each by a line: `{"describe":true}`, then `{"begin":1}`, `{"database":1,"call":{name,input}}`,
 * `{"database":1,"hash":true}`, `{"end":1}`. Rejects with `invalid_options` if it says something else.
 */
export async function startWorld(commandLine: string): Promise<ProgramWorld> {
  const child = spawn(commandLine, { shell: true, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const waiting: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  let errors = '';
  let why: Error | null = null;
  const fail = (message: string) => {
    why ??= new PawlError(
      'invalid_options',
      `options.world: \`${commandLine}\` ${message}${errors === '' ? '' : `: ${errors.trim()}`}`,
    );
    for (const { reject } of waiting.splice(0)) reject(why);
  };
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors = `${errors}${text}`.slice(-mostErrors);
  });
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(line));
  child.stdin.on('error', () => {});
  child.once('error', ({ message }) => fail(`does not start: ${message}`));
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.once('close', (code) => fail(`ended (exit code ${code})`));
  const killAll = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  };
  process.once('exit', killAll);
  const end = async () => {
    killAll();
    await closed;
    process.off('exit', killAll);
  };
  const ask = async (question: object): Promise<unknown> => {
    const line = await new Promise<string>((resolve, reject) => {
      if (why !== null) return reject(why);
      waiting.push({ resolve, reject });
      child.stdin.write(`${JSON.stringify(question)}\n`);
    });
    try {
      return JSON.parse(line);
    } catch {
      throw new PawlError(
        'invalid_options',
        `options.world: \`${commandLine}\` answered no JSON: ${line.slice(0, 200)}`,
      );
    }
  };
  try {
    const late = systemClock.alarm(describeMs, () => {
      fail(`said nothing of its world within ${describeMs / 1_000} s`);
    });
    const said = await ask({ describe: true }).finally(late);
    const world = check(worldSchema, said, `the world of \`${commandLine}\``, 'invalid_options');
    let databases = 0;
    const begin = (): WorldDatabase => {
      databases += 1;
      const database = databases;
      const begun = ask({ begin: database });
      // Told by the first question that waits for it.
      begun.catch(() => {});
      const asked = async (question: object) => {
        await begun;
        return (await ask({ database, ...question })) as Answer;
      };
      return {
        async call(name, input) {
          const { ok, result = null, error = 'refused' } = await asked({ call: { name, input } });
          if (ok !== true) throw new Refused(error);
          return result;
        },
        hash: async () => (await asked({ hash: true })).hash ?? '',
        close: async () => {
          await ask({ end: database });
        },
      };
    };
    return { ...world, begin, end };
  } catch (error) {
    await end();
    throw error;
  }
}
