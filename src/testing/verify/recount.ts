import type { Counters, Slug, Usage } from '../../../machines/index.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { CallRecord } from '../../observe/records.ts';
import type { SessionResult } from '../../session/session.ts';

type Recounted = Pick<SessionResult, 'turns' | 'counters'> & { failure?: SessionResult['failure'] };

/** Counts all counters (S-4) again, from the turn records and the public events. */
export function countersFrom(result: Recounted, events: readonly SessionEvent[]): Counters {
  const { turns, failure } = result;
  const attempts = turns.flatMap((turn) => turn.attempts);
  const calls = attempts.flatMap((attempt) => attempt.calls);
  const executed = calls.filter((call) => call.executed);
  const refused = calls.filter((call) => !call.executed);
  const of = (type: SessionEvent['type']) =>
    events.filter((event) => event.type === type && event.path.length === 0).length;
  const asked = events.flatMap((event) =>
    event.path.length === 0 && 'asked' in event && event.asked !== null ? [event.asked] : [],
  );
  const used = [...attempts, ...asked];
  const total = (kind: keyof Usage) => used.reduce((sum, { usage }) => sum + (usage?.[kind] ?? 0), 0);
  const costs = used.flatMap(({ usage, costUsd }) => (usage === null ? [] : [costUsd]));
  return {
    turns: turns.length,
    attempts: attempts.length,
    requests: attempts.length + of('summary.requested'),
    failedAttempts: attempts.filter((attempt) => attempt.status === 'failed').length,
    toolCalls: {
      requested: of('tool.requested'),
      answered: calls.length,
      executed: executed.length,
      succeeded: executed.filter((call) => call.slug === null).length,
      failed: executed.filter((call) => call.slug !== null).length,
      acknowledged: refused.filter((call) => call.slug === null).length,
      rejected: tally(refused.flatMap((call) => call.slug ?? [])),
    },
    tools: Object.fromEntries(
      [...new Set(executed.map(({ name }) => name))].map((name) => {
        const own = executed.filter((call) => call.name === name);
        const sum = (of: (call: CallRecord) => number) => own.reduce((all, call) => all + of(call), 0);
        const failed = own.filter((call) => call.slug !== null).length;
        const durationMs = sum((call) => call.durationMs ?? 0);
        return [name, { calls: own.length, failed, durationMs, bytes: sum((call) => call.bytes) }];
      }),
    ),
    cacheHits: of('tool.cached'),
    reports: { attempted: of('report.rejected') + of('report.accepted'), rejected: of('report.rejected') },
    notices: attempts.filter((attempt) => attempt.notice !== null).length,
    collapses: of('session.collapsed'),
    summaries: of('summary.requested'),
    compactions: of('conversation.compacted'),
    waits: of('wait.started'),
    admissions: of('admission.requested'),
    tokens: {
      input: total('input'),
      output: total('output'),
      reasoning: total('reasoning'),
      cacheRead: total('cacheRead'),
      cacheWrite: total('cacheWrite'),
    },
    cachePrefixBreaks: breaksIn(events),
    costUsd: costs.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0),
    slugs: tally([...attempts.flatMap((attempt) => attempt.slugs), ...(failure?.slugs ?? [])]),
    lateResults: of('effect.late'),
    subAgents: result.counters.subAgents,
    tree: wholeTree(result),
  };
}

function breaksIn(events: readonly SessionEvent[]): Counters['cachePrefixBreaks'] {
  const breaks: Counters['cachePrefixBreaks'] = {};
  for (const event of events)
    if (event.type === 'prefix.broken' && event.path.length === 0) breaks[event.cause] = (breaks[event.cause] ?? 0) + 1;
  return breaks;
}

/** Adds the session's own counters to those of the trees below it. */
function wholeTree({ counters: own }: Recounted): Counters['tree'] {
  const trees = Object.values(own.subAgents).map((child) => child.tree);
  const sum = (of: (tree: Counters['tree']) => number) => trees.reduce((total, tree) => total + of(tree), 0);
  const { tokens } = own;
  const costs = [own.costUsd, ...trees.map((tree) => tree.costUsd)];
  return {
    sessions: 1 + sum((tree) => tree.sessions),
    requests: own.requests + sum((tree) => tree.requests),
    toolCalls: own.toolCalls.requested + sum((tree) => tree.toolCalls),
    tokens: {
      input: tokens.input + sum((tree) => tree.tokens.input),
      output: tokens.output + sum((tree) => tree.tokens.output),
      reasoning: tokens.reasoning + sum((tree) => tree.tokens.reasoning),
      cacheRead: tokens.cacheRead + sum((tree) => tree.tokens.cacheRead),
      cacheWrite: tokens.cacheWrite + sum((tree) => tree.tokens.cacheWrite),
    },
    costUsd: costs.reduce((total, cost) => (total === null || cost === null ? null : total + cost), 0),
  };
}

function tally(found: readonly Slug[]): Partial<Record<Slug, number>> {
  const counts: Partial<Record<Slug, number>> = {};
  for (const slug of found) counts[slug] = (counts[slug] ?? 0) + 1;
  return counts;
}
