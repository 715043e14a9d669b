import { reviewKey, runKey, summariseKey } from '../contract/keys.ts';
import type { LeafInput } from '../contract/leaf.ts';
import type { EndingOutcome, Incident } from '../contract/work.ts';
import { draftOf, fingerprintOf } from './incident.rules.ts';
import { afterEnding, exitReason, exitsEarly, runState } from './workflow.rules.ts';
import type { WorkflowChange, WorkflowContext, WorkflowFact, WorkflowOutput } from './workflow.types.ts';

/** Returns true once too many items, three by default, have failed in a row (W-1). */
function consecutiveFailuresReached({ failureCount, limits }: WorkflowContext): boolean {
  return failureCount >= limits.maxConsecutiveFailures;
}

/** Records the current incidents that are new, the decisive one first (W-1, W-2). */
export function incidentsNoted(context: WorkflowContext): WorkflowChange {
  const noted = new Set(context.incidents.map(keyOf));
  const incidents = allIncidents(context).filter((incident) => !noted.has(keyOf(incident)));
  return {
    change: { incidents: [...context.incidents, ...incidents] },
    facts: incidents.map((incident) => ({ type: 'incident.noted' as const, incident })),
  };
}

/** The same error on another item is another incident, though it is captured in the same work item. */
function keyOf(incident: Incident): string {
  const of = incident.kind === 'critical_error' ? ` ${incident.item}` : '';
  return `${fingerprintOf(incident)}${of}`;
}

function allIncidents(context: WorkflowContext): Incident[] {
  const { critical, lostAgent, failureCount, failures, lastFailures, stops, incidents } = context;
  // Items that are settled after the run is over may add failures; the incident is recorded once.
  const isNoted = incidents.some(({ kind }) => kind === 'consecutive_failures');
  return [
    ...(critical === null ? [] : [{ kind: 'critical_error' as const, ...critical }]),
    ...(lostAgent === null ? [] : [{ kind: 'agent_unavailable' as const, ...lostAgent }]),
    ...(consecutiveFailuresReached(context) && !isNoted
      ? [
          {
            kind: 'consecutive_failures' as const,
            count: failureCount,
            failures: failures.filter(({ id }) => lastFailures.includes(id)),
          },
        ]
      : []),
    ...stops.map((stop) => ({ kind: 'stop' as const, stop })),
  ];
}

/** Returns true if some incidents have no items yet (W-2). */
export function incidentsRemain({ incidents, captured }: WorkflowContext): boolean {
  return incidents.length > captured;
}

/** Returns true if the run takes no more items, but some are still in progress. */
export function isDraining(context: WorkflowContext): boolean {
  return exitsEarly(context) && context.inProgress.length > 0;
}

/** Builds the request to create items for incidents that have none yet (W-2). */
export function captureInput(context: WorkflowContext): LeafInput<'capture'> {
  const captures = context.incidents.slice(context.captured).map((incident) => ({
    incident,
    draft: draftOf(incident, context.run),
    fingerprint: fingerprintOf(incident),
  }));
  return { key: runKey('capture', context.captures), request: { state: runState(context, 'capturing'), captures } };
}

/** Builds the request for the retrospective. */
export function reviewInput(context: WorkflowContext): LeafInput<'review'> {
  return { key: reviewKey, request: { state: runState(context, 'reviewing') } };
}

/** Builds the request for the report, which also lists the problems so far. */
export function summariseInput(context: WorkflowContext): LeafInput<'summarise'> {
  return { key: summariseKey, request: { state: runState(context, 'summarising'), problems: context.problems } };
}

export function afterCapture(context: WorkflowContext, { outcome }: { outcome: EndingOutcome }): WorkflowChange {
  const { change, facts } = afterEnding(context, { phase: 'capturing', outcome });
  return { change: { ...change, captured: context.incidents.length }, facts };
}

/** Returns the outcome of an ending step that broke: its defect, as a problem to report (W-3). */
export function lostEnding(error: unknown): EndingOutcome {
  return { created: [], priorities: [], problems: [String(error)] };
}

export function endFact(context: WorkflowContext): WorkflowFact {
  const { iteration: iterations } = context;
  return exitsEarly(context)
    ? { type: 'workflow.exitedEarly', iterations, reason: exitReason(context) }
    : { type: 'workflow.completed', iterations };
}

export function outputOf(context: WorkflowContext): WorkflowOutput {
  const { iteration, failures, incidents, created, priorities, problems, spent, abortReason } = context;
  const status = exitsEarly(context) ? 'exitedEarly' : 'completed';
  return {
    state: runState(context, status),
    status,
    iterations: iteration,
    succeeded: context.succeeded,
    setAside: context.setAside,
    failures,
    incidents,
    created,
    priorities,
    problems,
    spent,
    abortReason,
  };
}
