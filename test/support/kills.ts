import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { SessionResult } from '../../src/index.ts';
import { replaySession, sqliteJournal } from '../../src/index.ts';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';
import { brokenPromises, startModelServer } from '../../src/testing/index.ts';
import { everyStep } from './every-step.ts';

const program = join(import.meta.dirname, 'living-process.ts');

/** A number from 0 to below 1, the same for the same seed. */
export function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

const linesOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);

export type Killed = {
  /** A journal's file or address; default: a new file. */
  where?: string;
  ids?: readonly string[];
  /** Processes that run at once, for the same sessions. */
  processes?: number;
  kills: number;
  /** The longest life before a kill, in ms, counted from when the program begins. */
  lifeMs: number;
  chance: () => number;
  /** Called before each kill, such as to stop the journal's server. */
  disturb?: () => Promise<void>;
  /** The conversation of a life without kills: that of a session in which nothing was interrupted, too. */
  expected?: string | null;
};

/** Lives sessions in processes that are killed, until all have ended. Returns what the sessions broke, as sentences. */
export async function killedLives(killed: Killed) {
  const { where, ids = ['s'], processes = 1, kills, lifeMs, chance, disturb, expected = null } = killed;
  const folder = mkdtempSync(join(tmpdir(), 'pawl-kills-'));
  const journal = where ?? join(folder, 'pawl.db');
  for (const id of ids) writeFileSync(join(folder, `${id}.effects`), '');
  const mcpTool = ids.length === 1 ? 'notes__note' : null;
  const scripts = new Map<string, ReturnType<typeof everyStep>>();
  const requests = new Map<string, number>();
  await using server = await startModelServer((request) => {
    // The sessions share the server; each is told apart by the key of its requests.
    const id = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    requests.set(id, (requests.get(id) ?? 0) + 1);
    const script = scripts.get(id) ?? everyStep(mcpTool);
    scripts.set(id, script);
    return script(request);
  });
  const left = { kills };
  const process_ = async () => {
    for (;;) {
      const child = spawn(process.execPath, ['--no-warnings', program, journal, folder, server.url, ...ids], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      await new Promise((resolve) => child.stdout.once('data', resolve));
      if (left.kills > 0) {
        left.kills -= 1;
        await Promise.race([ended, setTimeout(Math.floor(chance() * lifeMs))]);
        await disturb?.();
        child.kill('SIGKILL');
      }
      const code = await ended;
      if (code === 0) return;
      if (code !== null) throw new Error(`the process ended with code ${code}`);
    }
  };
  await Promise.all(Array.from({ length: processes }, process_));
  const lines = linesOf(join(folder, 'log')).map((line) => JSON.parse(line));
  const ends = ids.map((id) => linesOf(join(folder, `${id}.result`))[0] ?? '');
  const broken: string[] = [];
  for (const id of ids) broken.push(...(await brokenIn(id, journal, folder, lines, requests.get(id) ?? 0)));
  for (const [index, end] of ends.entries()) {
    const differs = expected !== null && interruptionsIn(end) === 0 && conversationOf(end) !== expected;
    if (differs) broken.push(`${ids[index]}: its conversation is not that of a life without kills`);
  }
  return {
    broken,
    folder,
    interrupted: interruptionsIn(ends.join()),
    conversation: conversationOf(ends[0] ?? ''),
  };
}

const interruptionsIn = (end: string) => end.split('"interrupted"').length - 1;

const conversationOf = (end: string) => (end === '' ? '' : JSON.stringify(JSON.parse(end).conversation));

type Line = { level: string; event: string; sessionId: string; turn: number; attempt: number; slugs: string[] };

async function brokenIn(
  id: string,
  where: string,
  folder: string,
  lines: readonly Line[],
  requests: number,
): Promise<string[]> {
  const results = linesOf(join(folder, `${id}.result`)).map((line): SessionResult => JSON.parse(line));
  const [result] = results;
  if (result === undefined) return [`${id} did not end`];
  const once = linesOf(join(folder, `${id}.effects`)).filter((effect) => !effect.startsWith('read'));
  const own = lines.filter(({ sessionId }) => sessionId === id || sessionId.startsWith(`${id}/`));
  const warned = own
    .filter(({ level }) => level === 'warn')
    .map(({ sessionId, turn, attempt }) => `${sessionId} ${turn} ${attempt}`);
  const errors = own.filter(({ level, slugs }) => level === 'error' && !slugs.includes('journal_failed'));
  const journal = where.startsWith('postgres:') ? postgresJournal(where) : sqliteJournal(where);
  const replayed = await replaySession(journal, id);
  const [row] = await journal.list({ sessionId: id });
  await journal.close();
  const promises: [boolean, string][] = [
    [
      result.success && result.report.content === 'Everything is done.',
      `it ${result.status}: ${result.slugs.join(', ')}`,
    ],
    [
      results.every((other) => JSON.stringify(other.conversation) === JSON.stringify(result.conversation)),
      'its results differ',
    ],
    [requests <= result.counters.tree.requests, `${requests} requests, ${result.counters.tree.requests} counted`],
    [new Set(once).size === once.length, `an effect came twice: ${once.join(', ')}`],
    [new Set(warned).size === warned.length, `a WARN came twice: ${warned.join(', ')}`],
    [errors.length === 0, `ERROR lines: ${JSON.stringify(errors)}`],
    [replayed.difference === null, `its journal leads elsewhere: ${JSON.stringify(replayed.difference)}`],
    [JSON.stringify(replayed.counters) === JSON.stringify(result.counters), 'its journal counts otherwise'],
    [row?.status === 'succeeded', `its row says ${row?.status}`],
  ];
  return [...brokenPromises(result), ...promises.flatMap(([holds, what]) => (holds ? [] : [what]))].map(
    (what) => `${id}: ${what}`,
  );
}
