import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { styleText } from 'node:util';
import type { JournalEntry, JournaledSession } from '../../journal/journal.ts';
import { billOf, billTotal } from '../../journal/replay/bill.ts';
import { exportSession, listSessions } from '../../journal/sessions.ts';
import { readTape } from '../../journal/tape.ts';
import { counted, tame } from '../../platform/text.ts';
import { forkSession } from '../../session/recovery/fork-session.ts';
import { replayEntries } from '../../session/replay/replay-session.ts';
import type { ReplayedSession, ReplayStep, SentRequest } from '../../session/replay/replayed.ts';
import { exitCodes, type Flags, UsageError } from '../command-line.ts';
import { sessionPage, writeFile } from '../session-page.ts';
import { money } from './cost.ts';
import { journalFile, sessionRow, withJournal } from './opened-journal.ts';

/** `pawl sessions`: lists the sessions of a journal, the latest first. */
export async function sessionsCommand(rest: readonly string[], flags: Flags): Promise<number> {
  if (rest.length > 0) throw new UsageError(`pawl sessions takes no argument; got ${rest.join(' ')}.`);
  return withJournal(flags, async (journal) => {
    const sessions: ListedSession[] = [];
    for (const row of await listSessions(journal)) sessions.push(withBill(row, await journal.read(row.sessionId)));
    if (flags.json) return print(JSON.stringify(sessions));
    if (sessions.length === 0) return print('The journal holds no session.');
    return print(sessions.map(rowOf).join('\n'));
  });
}

/** `pawl replay`: plays a session of the journal, or an exported one, and shows each step. */
export async function replayCommand([what, ...rest]: readonly string[], flags: Flags): Promise<number> {
  if (what === undefined || rest.length > 0) throw new UsageError('Pass one session or file: pawl replay ID.');
  const until = flags.until === undefined ? {} : { until: flags.until };
  const replayed = statSync(what, { throwIfNoEntry: false })?.isFile()
    ? replayEntries(readTape(await readFile(what, 'utf8')), until)
    : await withJournal(flags, async (journal) => {
        const { sessionId } = await sessionRow(journal, what);
        return replayEntries(await journal.read(sessionId), until);
      });
  const { difference } = replayed;
  if (flags.json) print(JSON.stringify(replayed));
  else print(storyOf(replayed, flags.until !== undefined));
  if (difference === null) return exitCodes.succeeded;
  const { entry, recorded, replayed: now } = difference;
  process.stderr.write(
    `pawl: the machines take another way at entry ${entry}: it was "${recorded}", and is "${now}".\n`,
  );
  return exitCodes.failed;
}

/** `pawl export`: prints a session as a file, or writes it to one; with `--html` as a page. */
export async function exportCommand([id, ...rest]: readonly string[], flags: Flags): Promise<number> {
  const { html, output } = flags;
  if (id === undefined || rest.length > 0) throw new UsageError('Pass one session: pawl export ID -o FILE.');
  if (html && output === undefined && process.stdout.isTTY === true) {
    throw new UsageError(`A page is no text to read: pawl export ${id} --html -o FILE.html.`);
  }
  return withJournal(flags, async (journal) => {
    const { sessionId } = await sessionRow(journal, id);
    const text = html ? await sessionPage(journal, sessionId) : await exportSession(journal, sessionId);
    if (output === undefined) process.stdout.write(text);
    else writeFile(output, text);
    return exitCodes.succeeded;
  });
}

/** `pawl fork`: starts a new session from a turn of another, and prints its id. */
export async function forkCommand([id, ...rest]: readonly string[], flags: Flags): Promise<number> {
  const { at } = flags;
  if (id === undefined || rest.length > 0 || at === undefined) {
    throw new UsageError('Pass one session and where to leave it: pawl fork ID --at turn-3.');
  }
  return withJournal(flags, async (journal) => {
    const { sessionId } = await sessionRow(journal, id);
    const fork = await forkSession(journal, sessionId, { at });
    process.stderr.write(`To go on: pawl resume ${fork} --journal ${journalFile(flags)}\n`);
    return print(fork);
  });
}

type ListedSession = JournaledSession & {
  prompt: string | null;
  requests: number;
  tokens: number;
  costUsd: number | null;
  durationMs: number;
};

function withBill(row: JournaledSession, entries: readonly JournalEntry[]): ListedSession {
  const { head, requests } = billOf(entries);
  const { usage, costUsd } = billTotal(requests);
  const { createdAt, updatedAt } = row;
  const tokens = usage.input + usage.output;
  const durationMs = updatedAt - createdAt;
  return { ...row, prompt: head?.prompt ?? null, requests: requests.length, tokens, costUsd, durationMs };
}

function rowOf(session: ListedSession): string {
  const { status, slugs, waiting, updatedAt, requests, tokens, costUsd, durationMs } = session;
  const when = new Date(updatedAt).toISOString().replace('T', ' ').slice(0, 19);
  const why = [...slugs, ...(waiting.length > 0 ? [`${waiting.length} waiting for a person`] : [])].join(', ');
  const shown = (text: string) => tame(text).replaceAll(/\s+/g, ' ');
  const task = shown(session.prompt ?? '');
  const spent = [
    counted(requests, 'request'),
    `${tokens} tokens`,
    costUsd === null ? 'no price' : money(costUsd),
    `${(durationMs / 1_000).toFixed(1)} s`,
  ].join(', ');
  const lines = [
    `${shown(session.sessionId).padEnd(36)}  ${when}  ${status.padEnd(9)}  ${shown(session.agent)}${why === '' ? '' : `  ${why}`}`,
    ...(task === '' ? [] : [`  ${task.length > 70 ? `${task.slice(0, 69)}…` : task}`]),
    `  ${dim(spent)}`,
  ];
  return lines.join('\n');
}

/** The steps; and, if the replay stopped on the way, what was there. */
function storyOf(replayed: ReplayedSession, isPartial: boolean): string {
  const steps = replayed.steps.flatMap((step) => stepLines(step, replayed.sessionId));
  if (!isPartial) return [...steps, '', ...counterLines(replayed)].join('\n');
  const sent = replayed.requests.at(-1);
  return [
    ...steps,
    '',
    dim('states'),
    ...replayed.states.map((state) => `  ${state}`),
    dim('pending'),
    ...replayed.pending.map((key) => `  ${key}`),
    ...(sent === undefined ? [] : requestLines(sent)),
    ...counterLines(replayed),
  ].join('\n');
}

function stepLines({ entry, sessionId, cause, facts }: ReplayStep, root: string): string[] {
  const margin = sessionId === root ? '' : '  ';
  const rows = facts.map((fact) => {
    const slugs = 'slugs' in fact && Array.isArray(fact.slugs) ? ` ${fact.slugs.join(', ')}` : '';
    return `${fact.type}${slugs}`;
  });
  return [
    `${String(entry).padStart(6)}  ${margin}${tame(cause)}`,
    ...rows.map((one) => `        ${margin}${dim(tame(one))}`),
  ];
}

function requestLines({
  turn,
  attempt,
  provider,
  instructions,
  messages,
  notice,
  omitted,
  omittedText,
  tools,
}: SentRequest): string[] {
  const shown = (role: string, content: string) => `  ${role.padEnd(10)} ${tame(content)}`;
  return [
    dim(`request of turn ${turn}, attempt ${attempt}, to ${tame(provider)}`),
    ...(instructions === null ? [] : [shown('system', instructions)]),
    ...messages.map(({ role, content }) => shown(role, JSON.stringify(content))),
    ...(notice === null ? [] : [shown('notice', notice)]),
    ...(omitted.length === 0 ? [] : [shown('left out', omitted.join(', '))]),
    ...(omittedText === 0 ? [] : [shown('left out', `${omittedText} tokens of old text`)]),
    shown('tools', tools.map(({ name }) => name).join(', ') || 'none'),
  ];
}

function counterLines({ counters }: ReplayedSession): string[] {
  const { turns, requests, failedAttempts, toolCalls, tokens } = counters;
  return [
    dim('counters'),
    `  ${turns} turns, ${requests} requests, ${failedAttempts} failed attempts, ${toolCalls.answered} of ${toolCalls.requested} calls answered, ${tokens.input + tokens.output} tokens`,
  ];
}

function dim(text: string): string {
  return process.stdout.isTTY === true ? styleText('dim', text) : text;
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return exitCodes.succeeded;
}
