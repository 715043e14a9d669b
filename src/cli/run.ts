import { randomUUID } from 'node:crypto';
import { text as readText } from 'node:stream/consumers';
import { defineAgent } from '../agent/define-agent.ts';
import type { Agent, AgentDefinition } from '../agent/definition.ts';
import { sleep, systemClock } from '../host/clock.ts';
import { PawlError } from '../input/errors.ts';
import { MemoryJournal } from '../journal/memory.ts';
import { sqliteJournal } from '../journal/sqlite/sqlite.ts';
import { unavailableTargets } from '../model/targets.ts';
import type { SessionEvent } from '../observe/events.ts';
import { tame } from '../platform/text.ts';
import type { ResumeOptions } from '../session/options.ts';
import { resumeSession } from '../session/recovery/resume-session.ts';
import type { Session, SessionResult } from '../session/session.ts';
import { startSession } from '../session/start-session.ts';
import { readingTools } from '../workspace/file-tools.ts';
import { readAgentFile } from './agent-file.ts';
import type { Flags } from './command-line.ts';
import { sessionExitCode, UsageError } from './command-line.ts';
import { commandLogger } from './log.ts';
import { chosenModel } from './models.ts';
import { checkWritable, keepOpenUntilInterrupted, openInspector, sessionPage, writeFile } from './session-page.ts';
import { Approver, type Decision } from './terminal/approver.ts';
import { TerminalView } from './terminal/view.ts';

/** `pawl run`: runs the agent in a file, or else a default agent that can read the current folder. */
export async function runCommand(positionals: readonly string[], flags: Flags): Promise<number> {
  const prompt = await promptOf(positionals);
  if (prompt === '') throw new UsageError('Missing prompt: pawl run "prompt", or pawl run - to read it from stdin.');
  return runInTerminal(await runAgent(flags), { prompt }, flags);
}

/** Returns the prompt; `-` stands for what stdin holds. */
async function promptOf(words: readonly string[]): Promise<string> {
  const given = words.includes('-') ? await readText(process.stdin) : '';
  return words
    .map((word) => (word === '-' ? `\n\n${given}\n\n` : word))
    .join(' ')
    .trim();
}

/** The agent of `pawl run`: from the file, or the default one. */
export async function runAgent(flags: Flags): Promise<Agent> {
  const given = flags.agent === undefined ? lookingAround() : await readAgentFile(flags.agent);
  return agentOf(given, flags, flags.agent);
}

/** Builds an agent from a definition, which is in `file`, with the model and the bound from the flags. */
export async function agentOf(given: AgentDefinition, flags: Flags, file?: string): Promise<Agent> {
  const model = await chosenModel(flags);
  // Only a flag overrides the agent's own models; a key in the environment does not.
  const overrides = flags.model !== undefined || flags.baseUrl !== undefined || (given.models ?? []).length === 0;
  const models = overrides && model !== null ? [model] : (given.models ?? []);
  if (models.length === 0) {
    throw new UsageError(
      'No model is set: pass --model or --base-url, add models to the agent file, or set a key such as OPENAI_API_KEY.',
    );
  }
  // The model of --base-url is made here, so the definition does not hold its key.
  const { OPENAI_API_KEY: key } = process.env;
  const secrets = [...(given.secrets ?? []), ...(flags.baseUrl !== undefined && key !== undefined ? [key] : [])];
  const agent = named(file, () => defineAgent(withBound({ ...given, models, secrets }, flags)));
  const missing = unavailableTargets(agent.targets);
  if (missing.length < agent.targets.length) return agent;
  throw new UsageError(missing.map(({ message }) => message).join(' '));
}

/** Names the file in what is wrong with its agent. */
function named(file: string | undefined, define: () => Agent): Agent {
  try {
    return define();
  } catch (error) {
    if (file === undefined || !(error instanceof PawlError)) throw error;
    throw new PawlError(
      error.code,
      error.problems.map((problem) => `${file}: ${problem}`),
      { cause: error },
    );
  }
}

export const defaultAgentName = 'pawl';

/** The definition of the default agent, which can read the current folder. */
export function lookingAround(): AgentDefinition {
  return {
    name: defaultAgentName,
    instructions: 'You answer questions and do small tasks. You may look at the files in the current folder.',
    models: [],
    tools: readingTools(process.cwd()),
    report: { format: 'markdown' },
  };
}

/** Returns the definition with the bound from the flags. */
export function withBound(definition: AgentDefinition, { maxTurns, maxRetries }: Flags): AgentDefinition {
  const limits = { ...(maxTurns !== undefined && { maxTurns }), ...(maxRetries !== undefined && { maxRetries }) };
  // `defineAgent` refuses limits that are not an object.
  const isUnchanged = Object.keys(limits).length === 0 || typeof (definition.limits ?? {}) !== 'object';
  return isUnchanged ? definition : { ...definition, limits: { ...definition.limits, ...limits } };
}

/** How often to look whether a lease has run out, in ms. */
const leaseLookMs = 250;

/** What a session begins with: a prompt, or its id in the journal. `words`: further arguments of the command that resumes it. */
export type Beginning = ({ prompt: string } | { sessionId: string }) & { words?: readonly string[] };

/**
 * Runs one session in the terminal, with the live view or JSON on stdout and the log on stderr. Ctrl-C aborts it; SIGTERM
 * suspends it if it has a journal.
 */
export async function runInTerminal(agent: Agent, beginning: Beginning, flags: Flags): Promise<number> {
  for (const file of [flags.output, flags.export]) if (file !== undefined) checkWritable(file);
  const view = flags.json ? null : new TerminalView(process.stdout, agent);
  const showsView = view !== null && process.stderr.isTTY === true;
  const logger = commandLogger(flags, showsView ? 'silent' : 'warn');
  const stately = flags.stately ? await (await import('../inspect/index.ts')).statelyInspector() : null;
  const abort = new AbortController();
  const interrupt = (signal: NodeJS.Signals = 'SIGINT') => abort.abort(interruption(signal));
  const journal = flags.journal === undefined ? undefined : sqliteJournal(flags.journal);
  const inspector = flags.inspect ? await openInspector(flags, journal, [agent]) : null;
  for (const shown of [inspector, stately])
    if (shown !== null) process.stderr.write(`Open this in a browser: ${shown.address}\n`);
  const tape = inspector?.journal ?? journal ?? (flags.export === undefined ? undefined : new MemoryJournal());
  const terminate = (signal: NodeJS.Signals) => {
    const { session: one } = running;
    if (journal === undefined || one === null) interrupt(signal);
    else void one.suspend().catch(() => interrupt(signal));
  };
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', terminate);
  const running: { session: Session | null } = { session: null };
  const unattended = (name: string): Decision | null => {
    const denied = { approved: false, reason: 'no terminal is available to ask for approval' };
    if (journal === undefined && inspector === null) return denied;
    // A page may decide, or a person later.
    if (inspector === null) {
      process.stderr.write(`There is no terminal to ask for the approval of ${tame(name)}.\n`);
      void running.session?.suspend().catch(() => interrupt());
    }
    return null;
  };
  const approve = (callId: string, decision: Decision) => running.session?.approve(callId, decision);
  const approver = new Approver(approve, interrupt, unattended);
  const onEvent = (event: SessionEvent) => {
    view?.show(event);
    approver.heed(event);
  };
  const options = { logger, signal: abort.signal, onEvent, ...(stately !== null && { inspect: stately.inspect }) };
  const sessionId = 'sessionId' in beginning ? beginning.sessionId : randomUUID();
  const again = journal === undefined ? null : resumption([sessionId, ...(beginning.words ?? [])], flags);
  if (journal !== undefined && tape !== undefined && 'sessionId' in beginning) {
    running.session = await resumed(agent, { ...options, journal: tape, sessionId });
    // What waits was asked before the session could be answered.
    approver.begin();
  } else if ('prompt' in beginning) {
    if (again !== null) process.stderr.write(`${killHint(again)}\n`);
    running.session = startSession(agent, {
      ...options,
      prompt: beginning.prompt,
      sessionId,
      ...(tape !== undefined && { journal: tape }),
      ...(flags.maxSeconds !== undefined && { budget: { wallClockMs: flags.maxSeconds * 1_000 } }),
    });
    approver.begin();
  }
  if (running.session === null) throw new UsageError('A session is resumed from a journal: pass --journal.');
  const begun = running.session;
  view?.watch(() => begun.counters);
  const result = await running.session.result;
  process.off('SIGINT', interrupt);
  process.off('SIGTERM', terminate);
  if (result.status === 'suspended') process.stderr.write(`Suspended. To go on: ${again}\n`);
  if (view === null) process.stdout.write(`${JSON.stringify(result)}\n`);
  else view.end(result);
  if (flags.output !== undefined) writeReport(flags.output, result);
  if (flags.export !== undefined && tape !== undefined) {
    writeFile(flags.export, await sessionPage(tape, sessionId));
    process.stderr.write(`The session is in ${flags.export}: open it in a browser.\n`);
  }
  const address = inspector?.address ?? stately?.address ?? null;
  if (!abort.signal.aborted) await keepOpenUntilInterrupted(address);
  await inspector?.close();
  stately?.stop();
  await journal?.close();
  return sessionExitCode(result satisfies SessionResult);
}

/** Writes the accepted report: a text as it is, anything else as JSON. */
function writeReport(file: string, { success, report }: SessionResult): void {
  if (!success) {
    process.stderr.write(`${file} is not written, since no report was accepted.\n`);
    return;
  }
  const { content } = report;
  const text = typeof content === 'string' && !file.endsWith('.json') ? content : JSON.stringify(content, null, 2);
  writeFile(file, `${text.replace(/\n$/, '')}\n`);
}

/** Resumes a session. One whose process has just died can be taken when its lease has run out. */
async function resumed(agent: Agent, options: ResumeOptions): Promise<Session> {
  const until = Date.now() + 2 * options.journal.leaseMs;
  for (let isReported = false; ; isReported = true) {
    try {
      return await resumeSession(agent, options);
    } catch (error) {
      const isTaken = error instanceof PawlError && error.code === 'session_taken' && Date.now() < until;
      if (!isTaken || options.signal?.aborted === true) throw error;
      if (!isReported)
        process.stderr.write('Another process runs the session, or has just died: waiting for its lease.\n');
      await sleep(systemClock, leaseLookMs, options.signal);
    }
  }
}

/** Returns the command that resumes a session, for a shell. */
function resumption(words: readonly string[], flags: Flags): string {
  const { journal, agent, model, baseUrl, maxTurns, maxRetries, rehearsal } = flags;
  const given = { journal, agent, model, 'base-url': baseUrl, 'max-turns': maxTurns, 'max-retries': maxRetries };
  const typed = Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined) return [];
    // A value with a dash would be taken for a flag.
    return `${value}`.startsWith('-') ? [`--${name}=${value}`] : [`--${name}`, `${value}`];
  });
  const quoted = (word: string) => (/^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  return ['pawl', 'resume', ...words, ...typed, ...(rehearsal ? ['--rehearsal'] : [])].map(quoted).join(' ');
}

function killHint(again: string): string {
  return `The session is written down. Try kill -9 ${process.pid}, and then: ${again}`;
}

/** Returns the abort reason for a signal. */
export function interruption(signal: NodeJS.Signals): Error {
  return new Error(signal === 'SIGINT' ? 'interrupted at the keyboard' : `ended by ${signal}`);
}
