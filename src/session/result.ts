import {
  type Counters,
  countSubAgent,
  type Fact,
  type Failure,
  replyFiles,
  type SessionOutput,
} from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import type { MachineEnd } from '../host/run-machine.ts';
import { messageOf } from '../input/errors.ts';
import type { ScopeLog } from '../journal/scope-log.ts';
import type { Observer } from '../observe/observer.ts';
import { syntheticReport } from '../report/synthetic.ts';
import { redact, withoutSecrets } from '../secrets/redact.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import type { AcceptedReport, SessionResult, SyntheticReport } from './session.ts';
import type { Wired } from './wiring.ts';

/** The parts that a result is built from. */
export type Ended<Report> = {
  readonly sessionId: string;
  readonly agent: Agent<Report>;
  readonly prompt: string | null;
  readonly metadata: Metadata;
  readonly observer: Observer;
  readonly secrets: readonly string[];
  readonly counters: Counters;
};

/** How a session ended, or was let go of. */
export type Ending = SessionOutput | { status: 'suspended'; failure: Failure };

/** Returns the counters of a session with those of the sub-agents that still run: a copy, since budgets are counted by them. */
export function countersOf({ observer, subSessions }: Pick<Wired, 'observer' | 'subSessions'>): Counters {
  const counters = structuredClone(observer.counters);
  for (const { name, session } of subSessions?.subAgents.children ?? [])
    countSubAgent(counters, name, session.counters);
  return counters;
}

/** Builds the result of an ended session from the machines' output and the folds over their facts. */
export function sessionResult<Report>(session: Ended<Report>, ending: Ending): SessionResult<Report> {
  const { sessionId, agent, observer } = session;
  const { conversation, records, slices } = observer.folds;
  const account = {
    sessionId,
    agent: agent.name,
    metadata: session.metadata,
    counters: session.counters,
    conversation: conversation.messages,
    handedTo: conversation.speaker,
    turns: records.turns,
    slices: { ...slices.states },
  };
  if (ending.status === 'succeeded') {
    return { ...account, status: 'succeeded', success: true, slugs: [], report: acceptedReport(session) };
  }
  const { status, failure } = ending;
  return { ...account, status, success: false, slugs: failure.slugs, report: writtenReport(session, ending), failure };
}

/** Returns the report that the agent delivered: a session succeeds by nothing else (F-1). */
function acceptedReport<Report>({ agent, observer, secrets }: Ended<Report>): AcceptedReport<Report> {
  const { accepted } = observer.folds.records;
  if (accepted === null || accepted.source === 'synthetic') throw new Error('a session succeeded without a report');
  const { source } = accepted;
  const content = withoutSecrets(accepted.content, secrets) as Report;
  const reply = source === 'text_fallback' ? (observer.folds.records.attempt()?.reply ?? null) : null;
  const files = reply === null ? [] : replyFiles(reply);
  return { source, format: agent.format.name, content, accepted: true, ...(files.length > 0 && { files }) };
}

/** Writes the report of a session that did not succeed (F-5). */
function writtenReport<Report>(
  { agent, prompt, observer, secrets, counters }: Ended<Report>,
  { status, failure }: Exclude<Ending, { status: 'succeeded' }>,
): SyntheticReport {
  const { turns } = observer.folds.records;
  const task = observer.folds.conversation.promptOr(prompt);
  const clean = (text: string) => redact(text, secrets);
  const content = syntheticReport(status, task, failure, counters, turns, clean);
  return { source: 'synthetic', format: agent.format.name, content, accepted: false };
}

/** Returns how the machines ended. If they broke, fails the session with its one ERROR line (S-3). */
export function outputOf(end: MachineEnd<SessionOutput>, observer: Observer, log: ScopeLog | null): SessionOutput {
  if ('output' in end) return end.output;
  const failure: Failure = { slugs: ['internal_error'], retryAt: null, detail: messageOf(end.defect) };
  const fact: Fact = { type: 'session.failed', turns: observer.counters.turns, failure };
  if (log === null) observer.take(fact);
  else log.applying(() => observer.take(fact));
  return { status: 'failed', failure };
}
