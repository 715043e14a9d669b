import { type Fact, type Failure, replyFiles, type SessionOutput } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { redact, withoutSecrets } from '../agent/redact.ts';
import { messageOf } from '../errors.ts';
import type { MachineEnd } from '../host/run-machine.ts';
import type { ScopeLog } from '../journal/scope-log.ts';
import type { Observer } from '../observe/observer.ts';
import { syntheticReport } from '../report/synthetic.ts';
import type { SessionReport, SessionResult } from './options.ts';

/** The parts that a result is built from. */
export type Ended<Report> = {
  readonly sessionId: string;
  readonly agent: Agent<Report>;
  readonly prompt: string | null;
  readonly observer: Observer;
  readonly secrets: readonly string[];
};

/** How a session ended, or was let go of. */
export type Ending = SessionOutput | { status: 'suspended'; failure: Failure };

/** Builds the result of an ended session from the machines' output and the folds over their facts. */
export function sessionResult<Report>(session: Ended<Report>, ending: Ending): SessionResult<Report> {
  const { sessionId, agent, observer } = session;
  const { conversation, records, slices } = observer.folds;
  return {
    sessionId,
    agent: agent.name,
    status: ending.status,
    success: ending.status === 'succeeded',
    report: reportOf(session, ending),
    slugs: ending.status === 'succeeded' ? [] : ending.failure.slugs,
    // A copy, because late results still change the counters.
    counters: structuredClone(observer.counters),
    conversation: conversation.messages,
    turns: records.turns,
    slices: { ...slices.states },
    ...(ending.status !== 'succeeded' && { failure: ending.failure }),
  };
}

/** Returns the report, which always exists. If the session did not succeed, writes a synthetic one (F-5). */
function reportOf<Report>({ agent, prompt, observer, secrets }: Ended<Report>, ending: Ending): SessionReport<Report> {
  const format = agent.format.name;
  const { accepted, turns } = observer.folds.records;
  if (ending.status === 'succeeded' && accepted !== null && accepted.source !== 'synthetic') {
    const content = withoutSecrets(accepted.content, secrets) as Report;
    const reply = accepted.source === 'text_fallback' ? (observer.folds.records.attempt()?.reply ?? null) : null;
    const files = reply === null ? [] : replyFiles(reply);
    return { source: accepted.source, format, content, accepted: true, ...(files.length > 0 && { files }) };
  }
  const status = ending.status === 'succeeded' ? 'failed' : ending.status;
  const failure = ending.status === 'succeeded' ? { slugs: [], retryAt: null, detail: null } : ending.failure;
  const content = redact(syntheticReport(status, prompt, failure, observer.counters, turns), secrets);
  return { source: 'synthetic', format, content, accepted: false };
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
