import {
  type Counters,
  countSubAgent,
  type Fact,
  type Failure,
  replyFiles,
  type SessionOutput,
} from '../../machines/index.ts';
import type { MachineEnd } from '../host/run-machine.ts';
import { messageOf } from '../input/errors.ts';
import type { SessionChange } from '../journal/journal.ts';
import type { ScopeLog } from '../journal/scope-log.ts';
import type { Observer } from '../observe/observer.ts';
import { syntheticReport } from '../report/synthetic.ts';
import { redact, withoutSecrets } from '../secrets/redact.ts';
import type { AcceptedReport, SessionResult, SyntheticReport } from './session.ts';
import { undoableIn } from './undoable.ts';
import type { SessionIdentity } from './wiring/identity.ts';
import type { Wired } from './wiring/wiring.ts';

/** The parts that a result is built from. */
export type Ended<Report> = {
  readonly identity: Pick<SessionIdentity<Report>, 'agent' | 'head' | 'secrets' | 'contextFor'>;
  readonly observer: Observer;
  readonly counters: Counters;
};

/** How a session ended, or was suspended. */
export type Ending = SessionOutput | { status: 'suspended'; failure: Failure };

/** Returns the counters of a session with those of the sub-agents that still run: a copy, since budgets are counted by them. */
export function countersOf({ observer, subSessions }: Pick<Wired<unknown>, 'observer' | 'subSessions'>): Counters {
  const counters = structuredClone(observer.counters);
  for (const { name, session } of subSessions?.subAgents.children ?? [])
    countSubAgent(counters, name, session.counters);
  return counters;
}

/** Builds the result of an ended session from the machines' output and the folds over their facts. */
export function sessionResult<Report>(session: Ended<Report>, ending: Ending): SessionResult<Report> {
  const { identity, observer } = session;
  const { head, agent } = identity;
  const { conversation, records, slices } = observer.folds;
  const account = {
    sessionId: head.sessionId,
    agent: agent.name,
    metadata: head.metadata,
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
  // A suspended session may still succeed.
  const undoable = status === 'suspended' ? [] : undoableIn(identity, observer.folds);
  const { slugs } = failure;
  return { ...account, status, success: false, slugs, report: writtenReport(session, ending), failure, undoable };
}

/** Returns the report that the agent delivered: a session succeeds by nothing else (F-1). */
function acceptedReport<Report>({ identity: { agent, secrets }, observer }: Ended<Report>): AcceptedReport<Report> {
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
  { identity: { agent, head, secrets }, observer, counters }: Ended<Report>,
  { status, failure }: Exclude<Ending, { status: 'succeeded' }>,
): SyntheticReport {
  const { turns } = observer.folds.records;
  const task = observer.folds.conversation.promptOr(head.prompt);
  const clean = (text: string) => redact(text, secrets);
  const content = syntheticReport(status, task, failure, counters, turns, clean);
  return { source: 'synthetic', format: agent.format.name, content, accepted: false };
}

/** Resolves when the session has ended, and a replay that it ends in is over: what was recorded of an end is the end. */
export async function sessionEnd(
  { machine, observer }: Pick<Wired<unknown>, 'machine' | 'observer'>,
  played: Promise<void> | undefined,
): Promise<MachineEnd<SessionOutput>> {
  await played;
  return observer.recordedEnd === null ? machine.end : { output: observer.recordedEnd };
}

/** How a session ended, as its row in the journal says it; empty before. */
export function endInJournal(output: SessionOutput | null): SessionChange {
  if (output === null) return {};
  return { status: output.status, slugs: output.status === 'succeeded' ? [] : output.failure.slugs };
}

/** Returns how the machines ended. If they broke, nothing has closed the tools yet: this does. */
export async function outputOf(
  end: MachineEnd<SessionOutput>,
  { observer, effects }: Pick<Wired<unknown>, 'observer' | 'effects'>,
  log: ScopeLog | null,
): Promise<SessionOutput> {
  if ('output' in end) return end.output;
  await effects.tools.close().catch((error) => observer.userCodeFailed('close', error));
  return brokenOutput(end.defect, observer, log);
}

/** Fails a session whose machines broke, with its one ERROR line (S-3). */
export function brokenOutput(defect: unknown, observer: Observer, log: ScopeLog | null): SessionOutput {
  const failure: Failure = { slugs: ['internal_error'], retryAt: null, detail: messageOf(defect) };
  const fact: Fact = { type: 'session.failed', turns: observer.counters.turns, failure };
  if (log === null) observer.takeFact(fact);
  else log.applying({ delivery: null, take: () => observer.takeFact(fact) });
  return { status: 'failed', failure };
}
