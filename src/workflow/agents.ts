import type { Slug, WorkOutcome, WorkPhase } from '../../machines/index.ts';
import { slugs } from '../../machines/index.ts';
import type { Agent } from '../agent-definition.ts';
import { messageOf, shown } from '../errors.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { redact } from '../observe/redact.ts';
import type { Session, SessionOptions, SessionResult } from '../session.ts';
import { isAgent } from '../session-input.ts';
import { startSession } from '../start-session.ts';
import { headOf } from '../text.ts';
import type { BacklogItem } from './backlog.ts';
import { SessionLog } from './session-log.ts';

/** An agent that is looked up when it is needed, so that one that is missing fails the run as it should (W-1). */
export type NamedAgent = {
  name: string;
  /** Where it is looked for, for whoever wonders why it was not found. */
  lookedFor?: readonly string[];
  load: () => Agent | Promise<Agent>;
};

/** What a function is given that stands in the place of an agent. */
export type WorkTask = {
  phase: WorkPhase;
  item: BacklogItem;
  /** Absolute. */
  folder: string;
  /** What an agent in its place would be asked. */
  prompt: string;
  /** Aborts when the run is ended from outside. */
  signal: AbortSignal;
};

/** What a function says of its work; nothing is taken for a success but `succeeded`. */
export type WorkResult = {
  status: 'succeeded' | 'failed' | 'blocked' | 'unavailable';
  message?: string;
  slugs?: Slug[];
  /** Of an agent that is unavailable: where it was looked for. */
  lookedFor?: string[];
};

export type WorkFunction = (task: WorkTask) => WorkResult | Promise<WorkResult>;

/** A tool call that needs approval, as whoever decides about it sees it. */
export type ApprovalQuestion = Extract<SessionEvent, { type: 'tool.approvalRequested' }>;
export type ApprovalDecision = { approved: boolean; reason?: string };

/** What the sessions of a run have in common. */
export type Sessions = {
  /** The folder of the run, absolute. */
  folder: string;
  signal: AbortSignal;
  logger: Logger | undefined;
  options: Pick<SessionOptions, 'inspect' | 'clock' | 'random'>;
  onSessionEvent: SessionOptions['onEvent'];
  approve: (question: ApprovalQuestion) => ApprovalDecision | Promise<ApprovalDecision>;
  /** Told of each session that has ended. */
  onResult: (result: SessionResult) => void;
};

/** Slugs of a session whose agent could not work at all: another try may help, another item does not. */
const unavailableSlugs: readonly Slug[] = ['no_targets', 'tools_unavailable'];

type Done = Omit<WorkOutcome, 'stops'>;

/** What is said goes into the state file and into work items: without credentials, and not at any length. */
const done = (agent: string, { message = '', ...over }: Partial<Done>): Done => ({
  verdict: 'failed',
  agent,
  slugs: [],
  requests: 0,
  lookedFor: [],
  ...over,
  message: headOf(redact(message), messageBytes),
});

const messageBytes = 4_000;
const abortedWork = { verdict: 'aborted', slugs: ['aborted'], message: 'aborted' } satisfies Partial<Done>;

/** Has an agent, or the function in its place, work on an item. Never throws: whatever happens is an outcome. */
export async function work(
  agent: Agent | NamedAgent | WorkFunction,
  task: WorkTask,
  sessions: Sessions,
): Promise<Done> {
  if (typeof agent === 'function') return functionWork(agent, task);
  const ready = await unlessAborted(sessions.signal, () => readied(agent));
  if (ready === wasAborted) return done(agent.name, abortedWork);
  if ('problem' in ready) {
    return done(ready.name, { verdict: 'unavailable', message: ready.problem, lookedFor: [...ready.lookedFor] });
  }
  const ended = await session(ready, task.prompt, { role: task.phase, item: task.item.id }, sessions);
  return 'problem' in ended ? done(ready.name, ended.problem) : sessionOutcome(ended.result, task.phase);
}

type Unready = { name: string; problem: string; lookedFor: readonly string[] };

/** The agent itself, loaded where it has to be. */
async function readied(agent: Agent | NamedAgent): Promise<Agent | Unready> {
  if (isAgent(agent)) return agent;
  const { name, lookedFor = [] } = agent;
  try {
    const loaded = await agent.load();
    if (isAgent(loaded)) return loaded;
    return { name, problem: `${name} is ${shown(loaded)}, not an agent`, lookedFor };
  } catch (error) {
    return { name, problem: messageOf(error), lookedFor };
  }
}

/** One session of a run, with its log. A log that cannot be written is a critical error. */
async function asked(approve: Sessions['approve'], question: ApprovalQuestion): Promise<ApprovalDecision> {
  try {
    return await approve(question);
  } catch (error) {
    return denied(messageOf(error));
  }
}

const denied = (reason: string): ApprovalDecision => ({ approved: false, reason });

async function session(
  agent: Agent,
  prompt: string,
  { role, item }: { role: string; item: string | null },
  { folder, signal, logger, options, onSessionEvent, approve, onResult }: Sessions,
): Promise<{ result: SessionResult } | { problem: Pick<Done, 'verdict' | 'message'> }> {
  let log: SessionLog;
  try {
    log = new SessionLog(folder, role, item);
  } catch (error) {
    return { problem: { verdict: 'critical', message: messageOf(error) } };
  }
  const started = Promise.withResolvers<Session>();
  const decide = async (question: ApprovalQuestion) => {
    const { callId, sessionId } = question;
    // A decision that cannot be had is a no.
    const decision = await asked(approve, question);
    const { approved, reason } = decision ?? denied('nobody decided');
    (await started.promise).approve(callId, {
      approved: approved === true,
      sessionId,
      ...(typeof reason === 'string' && { reason }),
    });
  };
  try {
    const running = startSession(agent, {
      ...options,
      prompt,
      signal,
      ...(logger !== undefined && { logger }),
      onEvent: (event) => {
        log.write(event);
        if (event.type === 'tool.approvalRequested') void decide(event);
        return onSessionEvent?.(event);
      },
    });
    started.resolve(running);
    const result = await running.result;
    log.end(result);
    onResult(result);
    return log.problem === null ? { result } : { problem: { verdict: 'critical', message: log.problem } };
  } catch (error) {
    return { problem: { verdict: 'unavailable', message: messageOf(error) } };
  } finally {
    log.close();
  }
}

/** What an agent reports in a session of its own. Throws where it does not succeed. */
export async function spoken(
  agent: Agent | NamedAgent,
  role: string,
  prompt: string,
  sessions: Sessions,
): Promise<object | string> {
  const ready = await unlessAborted(sessions.signal, () => readied(agent));
  if (ready === wasAborted) throw new Error('the run was ended');
  if ('problem' in ready) throw new Error(`${ready.name} could not be invoked: ${ready.problem}`);
  const ended = await session(ready, prompt, { role, item: null }, sessions);
  if ('problem' in ended) throw new Error(ended.problem.message);
  const { success, slugs: reasons, report } = ended.result;
  if (!success) throw new Error(reasons.join(', '));
  return typeof report.content === 'object' && report.content !== null ? report.content : String(report.content);
}

function sessionOutcome(result: SessionResult, phase: WorkPhase): Done {
  const { agent, status, success, report, slugs: reasons, failure, counters } = result;
  const { requests } = counters.tree;
  if (status === 'aborted') return done(agent, { ...abortedWork, requests });
  if (!success) {
    const why = [reasons.join(', '), ...(failure?.detail == null ? [] : [failure.detail])].join(': ');
    const message = `${why}\n\n${report.content}`;
    const verdict = reasons.some((slug) => unavailableSlugs.includes(slug)) ? 'unavailable' : 'failed';
    return done(agent, { verdict, slugs: reasons, requests, message });
  }
  return done(agent, { ...reported(report.content, phase), requests });
}

/**
 * What an agent's report says of the work: a JSON object, or a text that is one, with a `status` that says `failed` or
 * `blocked`, and a `reason` or a `message`. Whether the session itself succeeded is not up to the report (F-6); whether the
 * tests passed is, so that of a test a status that is not understood is no success.
 */
function reported(content: unknown, phase: WorkPhase): Pick<Done, 'verdict' | 'message'> {
  const fields = fieldsOf(content);
  if (fields === null) return { verdict: 'succeeded', message: typeof content === 'string' ? content : shown(content) };
  const message = [fields.reason, fields.message].find((text) => typeof text === 'string') ?? shown(content);
  return { verdict: verdictOf(fields.status, phase), message: String(message) };
}

function verdictOf(status: unknown, phase: WorkPhase): Done['verdict'] {
  const said = String(status ?? 'succeeded')
    .trim()
    .toLowerCase();
  if (/^block/.test(said)) return 'blocked';
  if (/^(fail|error)/.test(said)) return 'failed';
  return phase === 'processing' || /^(succe|pass|ok$|done$|complete)/.test(said) ? 'succeeded' : 'failed';
}

/** The fields of a JSON object, or of a text that holds one and nothing else, in a fence or not. */
export function fieldsOf(content: unknown): Record<string, unknown> | null {
  let value = content;
  if (typeof content === 'string') {
    try {
      value = JSON.parse(content.trim().replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/, '$1'));
    } catch {
      return null;
    }
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
}

const results: readonly unknown[] = ['succeeded', 'failed', 'blocked', 'unavailable'];

async function functionWork(run: WorkFunction, task: WorkTask): Promise<Done> {
  const name = run.name || task.phase;
  try {
    const result: unknown = await unlessAborted(task.signal, () => run(task));
    if (result === wasAborted) return done(name, abortedWork);
    const said: Partial<WorkResult> = typeof result === 'object' && result !== null ? result : {};
    if (!results.includes(said.status)) {
      const message = `${name} gave ${shown(result)}: { status: 'succeeded', 'failed', 'blocked' or 'unavailable' } is allowed`;
      return done(name, { slugs: ['internal_error'], message });
    }
    return done(name, {
      verdict: said.status ?? 'failed',
      slugs: listOf(said.slugs).filter((slug) => slugs.includes(slug)),
      message: String(said.message ?? ''),
      lookedFor: listOf(said.lookedFor).map(String),
    });
  } catch (error) {
    return done(name, { slugs: ['internal_error'], message: messageOf(error) });
  }
}

function listOf<T>(value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? value : [];
}

export const wasAborted = Symbol('aborted');

/** What `run` gives, or that the run was ended meanwhile: a function that does not listen to its signal is not waited for. */
export async function unlessAborted<T>(signal: AbortSignal, run: () => T | Promise<T>): Promise<T | typeof wasAborted> {
  if (signal.aborted) return wasAborted;
  const { promise, resolve } = Promise.withResolvers<typeof wasAborted>();
  const end = () => resolve(wasAborted);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([promise, run()]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
