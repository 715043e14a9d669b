import { randomUUID } from 'node:crypto';
import type { Agent } from '../../agent/definition.ts';
import { sleep, systemClock } from '../../host/clock.ts';
import { PawlError } from '../../input/errors.ts';
import type { Inspector } from '../../inspect/inspector.ts';
import type { StatelyInspector } from '../../inspect/stately.ts';
import type { Journal } from '../../journal/journal.ts';
import { MemoryJournal } from '../../journal/memory.ts';
import { tame } from '../../platform/text.ts';
import type { ResumeOptions } from '../../session/options.ts';
import { resumeSession } from '../../session/recovery/resume-session.ts';
import type { Session, SessionResult } from '../../session/session.ts';
import { startSession } from '../../session/start-session.ts';
import { declineQuestion } from '../../session/unasked.ts';
import { type Flags, sessionExitCode, UsageError } from '../command-line.ts';
import { commandLogger } from '../log.ts';
import {
  checkWritable,
  keepOpenUntilInterrupted,
  openInspector,
  sessionPage,
  tellPage,
  writeFile,
} from '../session-page.ts';
import { openJournal } from '../sessions/opened-journal.ts';
import { Approver, type Decision } from './approver.ts';
import { Ledger } from './ledger.ts';
import { previewOf } from './preview.ts';
import { TerminalView } from './view.ts';

/** How often to look whether a lease has run out, in ms. */
const leaseLookMs = 250;

/** What a session begins with: a prompt, or its id in the journal. `words`: further arguments of the command that resumes it. */
export type Beginning = ({ prompt: string } | { sessionId: string }) & { words?: readonly string[] };

/**
 * Runs one session in the terminal, with the live view or JSON on stdout and the log on stderr. Ctrl-C aborts it; SIGTERM
 * suspends it if it has a journal.
 */
export async function runInTerminal(agent: Agent, beginning: Beginning, flags: Flags): Promise<number> {
  for (const file of [flags.output, flags.export, flags.ledger]) if (file !== undefined) checkWritable(file);
  const running = await Running.of(agent, beginning, flags);
  const session = await running.begin();
  return running.finish(await running.attend(session));
}

/** The pages that show a session: the inspector, and Stately's. */
type Pages = { inspector: Inspector | null; stately: StatelyInspector | null };

/** A session in the terminal, from its beginning to what is left behind by it. */
class Running {
  private readonly agent: Agent;
  private readonly beginning: Beginning;
  private readonly flags: Flags;
  private readonly pages: Pages;
  /** The journal of `--journal`, and where the entries are, which may be in memory; undefined for nowhere. */
  private readonly journal: Journal | undefined;
  private readonly tape: Journal | undefined;
  private readonly sessionId: string;
  private readonly view: TerminalView | null;
  private readonly approver: Approver;
  private readonly abort = new AbortController();
  /** Null until it has begun. */
  private session: Session | null = null;

  private constructor(agent: Agent, beginning: Beginning, flags: Flags, journal: Journal | undefined, pages: Pages) {
    this.agent = agent;
    this.beginning = beginning;
    this.flags = flags;
    this.pages = pages;
    this.journal = journal;
    this.tape = pages.inspector?.journal ?? journal ?? (flags.export === undefined ? undefined : new MemoryJournal());
    this.sessionId = 'sessionId' in beginning ? beginning.sessionId : randomUUID();
    this.view = flags.json ? null : new TerminalView(process.stdout, agent);
    this.approver = new Approver(
      (callId, decision) => this.session?.approve(callId, decision),
      this.interrupt,
      (name) => this.unattended(name),
      (call, withdrawn) => previewOf(agent, call, process.stderr, withdrawn),
    );
  }

  /** Opens the journal and the pages of a session. */
  static async of(agent: Agent, beginning: Beginning, flags: Flags): Promise<Running> {
    const stately = flags.stately ? await (await import('../../inspect/index.ts')).statelyInspector() : null;
    const journal = flags.journal === undefined ? undefined : await openJournal(flags.journal);
    const inspector = flags.inspect ? await openInspector(flags, journal, [agent]) : null;
    for (const page of [inspector, stately]) if (page !== null) tellPage(page.address);
    return new Running(agent, beginning, flags, journal, { inspector, stately });
  }

  private readonly interrupt = (signal: NodeJS.Signals = 'SIGINT'): void => this.abort.abort(interruption(signal));

  private readonly terminate = (signal: NodeJS.Signals): void => {
    if (this.journal === undefined || this.session === null) this.interrupt(signal);
    else void this.session.suspend().catch(() => this.interrupt(signal));
  };

  /** Starts or resumes the session. */
  async begin(): Promise<Session> {
    process.once('SIGINT', this.interrupt);
    process.once('SIGTERM', this.terminate);
    this.session = 'sessionId' in this.beginning ? await this.resume() : this.start(this.beginning.prompt);
    // What waits was asked before the session could be answered.
    this.approver.begin();
    return this.session;
  }

  /** Shows the session until it ends. */
  async attend(session: Session): Promise<SessionResult> {
    this.view?.watch(() => session.counters);
    const result = await session.result;
    process.off('SIGINT', this.interrupt);
    process.off('SIGTERM', this.terminate);
    return result;
  }

  /** Prints the result, writes the files that were asked for, and closes all that was opened. Returns the exit code. */
  async finish(result: SessionResult): Promise<number> {
    const { flags, pages, tape, view } = this;
    if (result.status === 'suspended') process.stderr.write(`Suspended. To go on: ${this.again}\n`);
    if (flags.output !== undefined) writeReport(flags.output, result);
    if (view === null) process.stdout.write(`${JSON.stringify(result)}\n`);
    else view.end(result);
    if (flags.export !== undefined && tape !== undefined) {
      writeFile(flags.export, await sessionPage(tape, this.sessionId));
      process.stderr.write(`The session is in ${flags.export}: open it in a browser.\n`);
    }
    const address = pages.inspector?.address ?? pages.stately?.address ?? null;
    if (!this.abort.signal.aborted) await keepOpenUntilInterrupted(address);
    await pages.inspector?.close();
    pages.stately?.stop();
    await this.journal?.close();
    return sessionExitCode(result);
  }

  private start(prompt: string): Session {
    const { flags, tape } = this;
    if (this.journal !== undefined)
      process.stderr.write(`The session is written down. Try kill -9 ${process.pid}, and then: ${this.again}\n`);
    return startSession(this.agent, {
      ...this.options,
      ...{ prompt, sessionId: this.sessionId },
      ...(tape !== undefined && { journal: tape }),
      ...(flags.maxSeconds !== undefined && { budget: { wallClockMs: flags.maxSeconds * 1_000 } }),
    });
  }

  private async resume(): Promise<Session> {
    if (this.journal === undefined || this.tape === undefined)
      throw new UsageError('A session is resumed from a journal: pass --journal.');
    return resumed(this.agent, { ...this.options, journal: this.tape, sessionId: this.sessionId });
  }

  private get options(): Omit<ResumeOptions, 'journal' | 'sessionId'> {
    const { flags, view, approver, pages } = this;
    const ledger = flags.ledger === undefined ? null : new Ledger(flags.ledger);
    return {
      logger: commandLogger(flags, { isShown: view !== null }),
      signal: this.abort.signal,
      onEvent: (event) => {
        view?.show(event);
        approver.heed(event);
        ledger?.heed(event);
        declineQuestion(event, this.session);
      },
      ...(pages.stately !== null && { inspect: pages.stately.inspect }),
    };
  }

  /** The decision on a call that needs approval where no terminal can ask; null lets it wait. */
  private unattended(name: string): Decision | null {
    if (this.journal === undefined && this.pages.inspector === null)
      return { approved: false, reason: 'no terminal is available to ask for approval' };
    // A page may decide, or a person later.
    if (this.pages.inspector === null) {
      process.stderr.write(`There is no terminal to ask for the approval of ${tame(name)}.\n`);
      void this.session?.suspend().catch(() => this.interrupt());
    }
    return null;
  }

  /** The command that resumes the session, for a shell. */
  private get again(): string {
    const { journal, agent, model, baseUrl, maxTurns, maxRetries, rehearsal } = this.flags;
    const given = { journal, agent, model, 'base-url': baseUrl, 'max-turns': maxTurns, 'max-retries': maxRetries };
    const typed = Object.entries(given).flatMap(([name, value]) => {
      if (value === undefined) return [];
      // A value with a dash would be taken for a flag.
      return `${value}`.startsWith('-') ? [`--${name}=${value}`] : [`--${name}`, `${value}`];
    });
    const quoted = (word: string) => (/^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
    const words = [this.sessionId, ...(this.beginning.words ?? [])];
    return ['pawl', 'resume', ...words, ...typed, ...(rehearsal ? ['--rehearsal'] : [])].map(quoted).join(' ');
  }
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

/** Returns the abort reason for a signal. */
export function interruption(signal: NodeJS.Signals): Error {
  return new Error(signal === 'SIGINT' ? 'interrupted at the keyboard' : `ended by ${signal}`);
}
