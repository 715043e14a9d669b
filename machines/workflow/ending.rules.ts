import type { LeafInput } from '../contract/leaf.ts';
import type { EndingOutcome, Incident, Phase } from '../contract/work.ts';
import { draftOf, fingerprintOf } from './incident.rules.ts';
import { subAgentUnavailable } from './item.rules.ts';
import { exitReason, exitsEarly, idOf, runState, together } from './workflow.rules.ts';
import type { WorkflowContext, WorkflowFact, WorkflowOutput } from './workflow.types.ts';

/** Three by default (W-1). */
export function consecutiveFailuresReached({ failureCount, limits }: WorkflowContext): boolean {
  return failureCount >= limits.maxConsecutiveFailures;
}

export function stopRequested({ stops }: WorkflowContext): boolean {
  return stops.length > 0;
}

export function criticalErrorRaised({ critical }: WorkflowContext): boolean {
  return critical !== null;
}

/** Everything that holds now, is not noted yet and must not be lost, the deciding reason first (W-1, W-2). */
export function newIncidents(context: WorkflowContext): Incident[] {
  const noted = new Set(context.incidents.map(fingerprintOf));
  return allIncidents(context).filter((incident) => !noted.has(fingerprintOf(incident)));
}

function allIncidents(context: WorkflowContext): Incident[] {
  const { critical, item, work, tries, failures, failureCount, stops } = context;
  return [
    ...(critical === null ? [] : [{ kind: 'critical_error' as const, ...critical, item: idOf(item) }]),
    ...(subAgentUnavailable(context)
      ? [
          {
            kind: 'agent_unavailable' as const,
            agent: work.outcome.agent,
            item: item.id,
            tries,
            lookedFor: work.outcome.lookedFor,
            message: work.outcome.message,
          },
        ]
      : []),
    ...(consecutiveFailuresReached(context)
      ? [{ kind: 'consecutive_failures' as const, failures: failures.slice(-failureCount) }]
      : []),
    ...stops.map((stop) => ({ kind: 'stop' as const, stop })),
  ];
}

/** The incidents of which no item was made yet, and what each becomes (W-2). */
export function captureInput(context: WorkflowContext): LeafInput<'capture'> {
  const captures = context.incidents.slice(context.captured).map((incident) => ({
    incident,
    draft: draftOf(incident, context.run),
    fingerprint: fingerprintOf(incident),
  }));
  return { key: `capture-${context.captures}`, request: { state: runState(context, 'capturing'), captures } };
}

/** The retrospective. */
export function reviewInput(context: WorkflowContext): LeafInput<'review'> {
  return { key: 'review', request: { state: runState(context, 'reviewing') } };
}

/** The report, which names what went wrong before it too. */
export function summariseInput(context: WorkflowContext): LeafInput<'summarise'> {
  return { key: 'summarise', request: { state: runState(context, 'summarising'), problems: context.problems } };
}

export function afterCapture(context: WorkflowContext, outcome: EndingOutcome): Partial<WorkflowContext> {
  return { ...afterEnding(context, outcome), captured: context.incidents.length };
}

/** Whatever a step of the ending could do, and could not: nothing is lost (W-3). */
export function afterEnding(
  { created, problems }: WorkflowContext,
  outcome: EndingOutcome,
): Pick<WorkflowContext, 'created' | 'problems'> {
  return { created: together(created, outcome.created), problems: [...problems, ...outcome.problems] };
}

export function endingFacts(phase: Phase, { created, problems }: EndingOutcome): WorkflowFact[] {
  return [
    ...created.map((item) => ({ type: 'workItem.created' as const, item })),
    ...problems.map((message) => ({ type: 'problem.noted' as const, phase, message })),
  ];
}

export function endFact(context: WorkflowContext): WorkflowFact {
  const { iteration: iterations } = context;
  return exitsEarly(context)
    ? { type: 'workflow.exitedEarly', iterations, reason: exitReason(context) }
    : { type: 'workflow.completed', iterations };
}

export function outputOf(context: WorkflowContext): WorkflowOutput {
  const { iteration, failures, incidents, created, problems, abortReason } = context;
  return {
    status: exitsEarly(context) ? 'exitedEarly' : 'completed',
    iterations: iteration,
    succeeded: context.succeeded,
    setAside: context.setAside,
    failures,
    incidents,
    created,
    problems,
    abortReason,
  };
}
