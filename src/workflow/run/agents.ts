import { basename } from 'node:path';
import type { Slug, WorkOutcome, WorkPhase } from '../../../machines/index.ts';
import { slugs } from '../../../machines/index.ts';
import { type Agent, isAgent } from '../../agent/definition.ts';
import { given, messageOf, shown } from '../../input/errors.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { LoggerOption } from '../../observe/log/logger.ts';
import { headOf } from '../../platform/text.ts';
import { redact } from '../../secrets/redact.ts';
import type { SessionOptions } from '../../session/options.ts';
import type { Session, SessionResult } from '../../session/session.ts';
import { startSession } from '../../session/start-session.ts';
import { declineQuestion } from '../../session/unasked.ts';
import type { BacklogItem } from '../backlog/backlog.ts';
import { RunSessionLog } from './documents/session-log.ts';
import type { Place } from './places/places.ts';
import type { Grant } from './spending.ts';
import { schemas, stating, verdictIn } from './stated.ts';

/** An agent that is loaded on demand, so that the run handles a missing agent (W-1). */
export type NamedAgent = {
  name: string;
  /** The places that are searched, shown if the agent is not found. */
  lookedFor?: readonly string[];
  /** `place`: the folders that the agent's tools must use. */
  load: (place: Place) => Agent | Promise<Agent>;
};

/** The input of a function that replaces an agent. */
export type WorkTask = {
  phase: WorkPhase;
  item: BacklogItem;
  /** The item's folder, absolute. */
  folder: string;
  /** The root of the work tree to work in, absolute; without a repository, the backlog. */
  root: string;
  /** The prompt an agent would receive. */
  prompt: string;
  /** Aborts when the run is ended from outside. */
  signal: AbortSignal;
};

/** The outcome that a function returns. Only `succeeded` counts as success. */
export type WorkResult = {
  status: 'succeeded' | 'failed' | 'blocked' | 'unavailable';
  message?: string;
  slugs?: Slug[];
  /** The places that were searched for an unavailable agent. */
  lookedFor?: string[];
};

export type WorkFunction = (task: WorkTask) => WorkResult | Promise<WorkResult>;

/** A tool call that needs approval, as passed to `approve`. */
export type ApprovalQuestion = Extract<SessionEvent, { type: 'tool.approvalRequested' }>;
export type ApprovalDecision = { approved: boolean; reason?: string };

/** Settings that the sessions of a run share. */
export type RunSessions = {
  /** The folder of the run, absolute. */
  folder: string;
  place: Place;
  signal: AbortSignal;
  logger: LoggerOption | undefined;
  options: Pick<SessionOptions, 'inspect' | 'telemetry' | 'journal' | 'clock' | 'random'>;
  onSessionEvent: SessionOptions['onEvent'];
  approve: (question: ApprovalQuestion) => ApprovalDecision | Promise<ApprovalDecision>;
  /** Grants a session its budget, or returns the limit that the run has reached. */
  grant: () => Promise<Grant | { spent: string }>;
  /** Tells a person what may be wrong. */
  warn: (message: string) => void;
};

/** Slugs of a session whose agent could not work at all. A retry may help; another item will not. */
const unavailableSlugs: readonly Slug[] = ['no_targets', 'tools_unavailable'];

export type Done = Omit<WorkOutcome, 'stops' | 'changed'>;

/** Builds an outcome. Its message is redacted and cut, since it goes into the state file and into work items. */
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

/**
 * Runs an agent, or the function that replaces it, on an item. Never throws: a failure is an outcome too. `onOutcome` gets
 * the outcome before anything else is done with it.
 */
export async function workOnItem(
  agent: Agent | NamedAgent | WorkFunction,
  task: WorkTask,
  sessions: RunSessions,
  onOutcome: (outcome: Done) => void,
): Promise<Done> {
  if (typeof agent === 'function') {
    const outcome = await functionWork(agent, task);
    onOutcome(outcome);
    return outcome;
  }
  const ready = await resultOrAborted(sessions.signal, () => readyAgent(agent, sessions.place));
  if (ready === wasAborted) return done(agent.name, abortedWork);
  if ('problem' in ready) return unreadyOutcome(ready);
  if (!hasTools(ready)) sessions.warn(`The agent ${ready.name} has no tools, so it can only report.`);
  const first = (result: SessionResult) => onOutcome(sessionOutcome(result));
  const ended = await runLoggedSession(
    stating(ready, schemas.verdict),
    task.prompt,
    { role: task.phase, item: task.item.id },
    sessions,
    first,
  );
  return 'problem' in ended ? done(ready.name, ended.problem) : sessionOutcome(ended.result);
}

/** Whether an agent can do more than report. */
function hasTools({ definition, agents, mcpServers }: Agent): boolean {
  return Object.keys({ ...definition.tools, ...agents, ...mcpServers }).length > 0;
}

type Unready = { name: string; problem: string; lookedFor: readonly string[] };

function unreadyOutcome({ name, problem, lookedFor }: Unready): Done {
  return done(name, { verdict: 'unavailable', message: problem, lookedFor: [...lookedFor] });
}

/** Returns the agent, loaded if necessary, or why it is unavailable. */
async function readyAgent(agent: Agent | NamedAgent, place: Place): Promise<Agent | Unready> {
  if (isAgent(agent)) return agent;
  const { name, lookedFor = [] } = agent;
  try {
    const loaded = await agent.load(place);
    if (isAgent(loaded)) return loaded;
    return { name, problem: `${name} must load as an agent; got ${given(loaded)}`, lookedFor };
  } catch (error) {
    return { name, problem: messageOf(error), lookedFor };
  }
}

/** Asks for a decision on a tool call. An error in `approve` denies the call. */
async function asked(approve: RunSessions['approve'], question: ApprovalQuestion): Promise<ApprovalDecision> {
  try {
    return await approve(question);
  } catch (error) {
    return denied(messageOf(error));
  }
}

const denied = (reason: string): ApprovalDecision => ({ approved: false, reason });

/** Runs one session of a run and writes its log. A log that cannot be written is a critical error. */
async function runLoggedSession(
  agent: Agent,
  prompt: string,
  { role, item }: { role: string; item: string | null },
  { folder, signal, logger, options, onSessionEvent, approve, grant }: RunSessions,
  first: (result: SessionResult) => void = () => {},
): Promise<{ result: SessionResult } | { problem: Partial<Done> }> {
  let log: RunSessionLog;
  try {
    log = new RunSessionLog(folder, role, item);
  } catch (error) {
    return { problem: { verdict: 'critical', message: messageOf(error) } };
  }
  const started = Promise.withResolvers<Session>();
  const decide = async (question: ApprovalQuestion) => {
    const { callId, sessionId } = question;
    // Without a decision the call is denied.
    const { approved, reason } = (await asked(approve, question)) ?? denied('no decision was made');
    const why = typeof reason === 'string' ? { reason } : {};
    (await started.promise).approve(callId, { approved: approved === true, sessionId, ...why });
  };
  const granted = await grant();
  if ('spent' in granted) {
    const message = `The budget of the run is spent (${granted.spent}), so ${agent.name} was not started.`;
    log.close();
    return { problem: { verdict: 'unstarted', slugs: ['budget_exhausted'], message } };
  }
  let result: SessionResult | null = null;
  try {
    const running = startSession(agent, {
      ...options,
      prompt,
      metadata: { run: basename(folder), role, ...(item !== null && { item }) },
      signal,
      budget: granted.budget,
      ...(logger !== undefined && { logger }),
      onEvent: (event, own) => {
        log.write(event);
        if (event.type === 'tool.approvalRequested') void decide(event);
        if (event.type === 'tool.asked') void started.promise.then((session) => declineQuestion(event, session));
        return onSessionEvent?.(event, own);
      },
    });
    started.resolve(running);
    result = await running.result;
    first(result);
    log.end(result);
    return log.problem === null ? { result } : { problem: { verdict: 'critical', message: log.problem } };
  } catch (error) {
    return { problem: { verdict: 'unavailable', message: messageOf(error) } };
  } finally {
    granted.end(result);
    log.close();
  }
}

/** What an agent was asked for and reported, or the outcome if it failed. */
export type Reply = { report: object | string } | { failed: Done };

/** What the agents that are asked something report, if they bring no report of their own; null for a text. */
const asksFor = { scan: schemas.order, retrospective: schemas.findings, summary: null };

/** Runs an agent in a separate session. Returns its report, or the outcome if it failed. */
export async function askAgent(
  agent: Agent | NamedAgent,
  role: keyof typeof asksFor,
  prompt: string,
  sessions: RunSessions,
): Promise<Reply> {
  const ready = await resultOrAborted(sessions.signal, () => readyAgent(agent, sessions.place));
  if (ready === wasAborted) return { failed: done(agent.name, abortedWork) };
  if ('problem' in ready) return { failed: unreadyOutcome(ready) };
  const schema = asksFor[role];
  const asked = schema === null ? ready : stating(ready, schema);
  const ended = await runLoggedSession(asked, prompt, { role, item: null }, sessions);
  if ('problem' in ended) return { failed: done(ready.name, ended.problem) };
  const { success, report } = ended.result;
  if (!success) return { failed: sessionOutcome(ended.result) };
  const { content } = report;
  return { report: typeof content === 'object' && content !== null ? content : String(content) };
}

function sessionOutcome(result: SessionResult): Done {
  const { agent, status, success, report, slugs: reasons, failure, counters } = result;
  const { requests } = counters.tree;
  if (status === 'aborted') return done(agent, { ...abortedWork, requests });
  if (!success) {
    const why = [reasons.join(', '), ...(failure?.detail == null ? [] : [failure.detail])].join(': ');
    const message = `${why}\n\n${report.content}`;
    const verdict = reasons.some((slug) => unavailableSlugs.includes(slug)) ? 'unavailable' : 'failed';
    return done(agent, { verdict, slugs: reasons, requests, message });
  }
  return done(agent, { ...verdictIn(report.content), requests });
}

const results: readonly unknown[] = ['succeeded', 'failed', 'blocked', 'unavailable'];

async function functionWork(run: WorkFunction, task: WorkTask): Promise<Done> {
  const name = run.name || task.phase;
  try {
    const result: unknown = await resultOrAborted(task.signal, () => run(task));
    if (result === wasAborted) return done(name, abortedWork);
    const stated: Partial<WorkResult> = typeof result === 'object' && result !== null ? result : {};
    if (!results.includes(stated.status)) {
      const message = `${name} must return { status: 'succeeded', 'failed', 'blocked' or 'unavailable' }; got ${shown(result)}.`;
      return done(name, { slugs: ['internal_error'], message });
    }
    return done(name, {
      verdict: stated.status ?? 'failed',
      slugs: listOf(stated.slugs).filter((slug) => slugs.includes(slug)),
      message: String(stated.message ?? ''),
      lookedFor: listOf(stated.lookedFor).map(String),
    });
  } catch (error) {
    return done(name, { slugs: ['internal_error'], message: messageOf(error) });
  }
}

function listOf<T>(value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? value : [];
}

export const wasAborted = Symbol('aborted');

/** Returns the result of `run`, or `wasAborted` on an abort, without waiting for a function that ignores its signal. */
export async function resultOrAborted<T>(
  signal: AbortSignal,
  run: () => T | Promise<T>,
): Promise<T | typeof wasAborted> {
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
