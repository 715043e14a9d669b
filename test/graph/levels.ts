import { type AnyMachineSnapshot, type EventObject, enqueueActions } from 'xstate';
import type { AttemptInput, AttemptOutput } from '../../machines/attempt/attempt.types.ts';
import type { TurnStop } from '../../machines/contract/effects.ts';
import { faultKinds } from '../../machines/contract/faults.ts';
import {
  attemptMachine,
  type CallFacts,
  callFacts,
  type FaultKind,
  faultSlug,
  freshTargets,
  type ItemRef,
  type ModelOutcome,
  nothingSpent,
  noUsage,
  type Reply,
  type RunState,
  type SessionInput,
  type Slug,
  type StopMarker,
  sessionMachine,
  toolCallMachine,
  turnMachine,
  type WorkflowLimits,
  type WorkOutcome,
  workflowMachine,
} from '../../machines/index.ts';
import type { Disposition, ToolCallInput, ToolCallOutput } from '../../machines/tool-call/tool-call.types.ts';
import { brokenOutput, collapseRequests } from '../../machines/turn/turn.rules.ts';
import type { TurnInput, TurnOutput } from '../../machines/turn/turn.types.ts';
import type { Walk } from './explore.ts';

/** The classes of outcomes that each level returns to the level above, with examples of each. */

const stop: EventObject = { type: 'session.stop' };
/** The stops passed down the levels: a requested stop and the deadline. */
const stops: TurnStop[] = [
  { type: 'turn.stop', slug: 'stopped', at: null },
  { type: 'turn.stop', slug: 'budget_exhausted', at: 60_000 },
];
const abort = { type: 'session.abort', reason: 'enough' };
const delivered = (outcome: unknown) => ({ at: 1_000, chance: 0.5, outcome });
const done = (actor: string, output: unknown) => ({ type: `xstate.done.actor.${actor}`, output, actorId: actor });
const broke = (actor: string) => ({ type: `xstate.error.actor.${actor}`, error: 'it broke', actorId: actor });

// ── the session, over the outcomes of its turns ──────────────────────────────────────────────────────────────────────

export const turnClassOf = ({ status, exhaustion }: TurnOutput): string =>
  status === 'exhausted' ? `exhausted: ${exhaustion?.why}` : status;

const turnOutput = (over: Partial<TurnOutput>): TurnOutput => ({
  status: 'succeeded',
  exhaustion: null,
  slugs: [],
  detail: null,
  attempts: 1,
  targets: freshTargets(['one']),
  current: 0,
  spent: nothingSpent,
  at: 0,
  contextTokens: 0,
  omittedTokens: 0,
  answerTokens: 0,
  ...over,
});
const exhausted = (exhaustion: TurnOutput['exhaustion']): TurnOutput =>
  turnOutput({ status: 'exhausted', exhaustion, slugs: ['empty_response'] });

export const turnOutputs: TurnOutput[] = [
  turnOutput({ status: 'finished' }),
  turnOutput({ status: 'succeeded' }),
  turnOutput({ status: 'aborted' }),
  exhausted({ why: 'attempts', retryAt: null }),
  exhausted({ why: 'budget', retryAt: null }),
  exhausted({ why: 'targets', retryAt: null }),
  exhausted({ why: 'limited', retryAt: 90_000 }),
];

export function sessionWalk(maxTurns: number, over: Partial<SessionInput> = {}): Walk {
  const input: SessionInput = {
    bound: { maxTurns, maxRetries: 2 },
    maxToolCalls: 5,
    targets: ['one'],
    finish: 'report',
    budget: { requests: null, tokens: null, costUsd: null, deadlineAt: 60_000 },
    window: { windowTokens: null, reserveTokens: 0 },
    at: 0,
    ...over,
  };
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    const outside = [stop, abort, { type: 'session.steer', text: 'Go on.' }];
    const collapses = [
      { type: 'collapse.requested', reason: 'final_report_rejected', slugs: ['final_report_missing'] },
      { type: 'collapse.requested', reason: 'budget', slugs: ['budget_exhausted'] },
    ];
    const deadline = [done('deadline', delivered({})), broke('deadline')];
    if (snapshot.matches({ running: 'preparing' })) {
      return [
        done('prepare', delivered({ ok: true, instructions: null, contextTokens: 100, answerTokens: 10 })),
        done('prepare', delivered({ ok: false, slug: 'tools_unavailable', message: 'no' })),
        broke('prepare'),
        ...deadline,
        ...outside,
      ];
    }
    if (snapshot.matches({ running: 'turning' })) {
      const spent = [1, 2].map((requests) => turnOutput({ spent: { requests, tokens: 100, costUsd: 0 } }));
      const outputs = over.budget === undefined ? turnOutputs : [...turnOutputs, ...spent];
      const full = over.window === undefined ? [] : [turnOutput({ contextTokens: 10_000 })];
      return [
        ...[...outputs, ...full].map((output) => done('turn', output)),
        broke('turn'),
        ...collapses,
        ...deadline,
        ...outside,
      ];
    }
    return snapshot.matches('closing') ? [done('close', delivered({})), broke('close'), ...outside] : [];
  };
  return { machine: sessionMachine, input, events };
}

/** Identifies a session state by the fields that affect the bound. Whole contexts would give too many paths. */
export const sessionKey = ({ value, status, context }: AnyMachineSnapshot) =>
  JSON.stringify([
    value,
    status,
    context.turn,
    context.maxTurns,
    context.stopRequested,
    context.abortReason,
    context.ending?.status,
  ]);

// ── the turn, over the outcomes of its attempts ──────────────────────────────────────────────────────────────────────

export const attemptClassOf = ({ status, fault, reportSlugs }: AttemptOutput): string =>
  [status, ...(fault === null ? [] : [fault.kind]), ...(reportSlugs.length === 0 ? [] : ['report rejected'])].join(
    ', ',
  );

const attemptOutput = (over: Partial<AttemptOutput>): AttemptOutput => ({
  ...brokenOutput(),
  slugs: [],
  at: 0,
  chance: 0.5,
  ...over,
});

export const attemptOutputs: AttemptOutput[] = [
  attemptOutput({ status: 'finished' }),
  // The same reply also had a report that was rejected.
  attemptOutput({ status: 'finished', reportSlugs: ['final_report_missing'] }),
  attemptOutput({ status: 'succeeded' }),
  attemptOutput({ status: 'succeeded', reportSlugs: ['final_report_missing'] }),
  attemptOutput({ status: 'aborted', slugs: ['aborted'] }),
  attemptOutput({ status: 'aborted', slugs: ['aborted'], reportSlugs: ['final_report_missing'] }),
  attemptOutput({ slugs: ['empty_response'] }),
  attemptOutput({ slugs: ['final_report_missing'], reportSlugs: ['final_report_missing'] }),
  ...faultKinds.map((kind) =>
    attemptOutput({ slugs: [faultSlug(kind)], fault: { kind, message: 'no', status: null, retryAfterMs: null } }),
  ),
];

export function turnWalk(maxAttempts: number, targets: readonly string[], over: Partial<TurnInput> = {}): Walk {
  const input: TurnInput = {
    turn: 1,
    isLastTurn: false,
    lastTurnSlugs: [],
    maxAttempts,
    maxToolCalls: 5,
    finish: 'report',
    targets: freshTargets(targets),
    current: 0,
    budget: { requests: null, tokens: null, costUsd: null, deadlineAt: null },
    spent: nothingSpent,
    at: 0,
    omitTokens: 0,
    stopSlug: null,
    ...over,
  };
  const late = attemptOutput({
    slugs: ['rate_limited'],
    fault: { kind: 'rate_limited', message: 'no', status: 429, retryAfterMs: 90_000 },
  });
  const costly = attemptOutput({ slugs: ['empty_response'], usage: { ...noUsage, input: 1_000 } });
  const outputs = [...attemptOutputs, late, ...(over.budget === undefined ? [] : [costly])];
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    if (snapshot.matches('attempting')) {
      return [...outputs.map((output) => done('attempt', output)), broke('attempt'), ...stops, abort];
    }
    if (snapshot.matches('backingOff')) return [done('wait', delivered({})), broke('wait'), ...stops, abort];
    return [];
  };
  return { machine: turnMachine, input, events };
}

/** Emits requests instead of sending them, because pure transitions have no parent. Paths use the real machine. */
export function withoutParent(walk: Walk): Walk {
  const requestCollapse = enqueueActions(({ context, enqueue }) => {
    for (const request of collapseRequests(context as never)) enqueue.emit(request as never);
  });
  return { ...walk, machine: walk.machine.provide({ actions: { requestCollapse } } as never) };
}

// ── the attempt, over the outcomes of its request and of its calls ───────────────────────────────────────────────────

export const callClassOf = ({ executed, slug }: ToolCallOutput): string =>
  `${executed ? 'executed' : 'not executed'}, ${slug ?? 'well'}`;

const answer = (executed: boolean, slug: Slug | null): Omit<ToolCallOutput, 'index'> => ({
  executed,
  slug,
  tokens: 1,
  spent: nothingSpent,
  at: 0,
});

export const callOutputs = [
  answer(true, null),
  answer(true, 'tool_exec_failed'),
  answer(true, 'tool_timeout'),
  answer(true, 'interrupted'),
  answer(false, null),
  answer(false, 'unknown_tool'),
  answer(false, 'tool_not_permitted'),
  answer(false, 'approval_timeout'),
  answer(false, 'internal_error'),
  answer(false, 'stopped'),
  answer(false, 'budget_exhausted'),
  answer(false, 'aborted'),
];

/** Builds a reply with the finish reason `reason`; null means that it has none. */
export const reply = (content: Reply['content'], reason: string | null = 'stop'): Reply => ({
  provider: 'p',
  content,
  finishReason: reason === null ? null : { unified: reason, raw: reason },
  openInputs: 0,
  errors: [],
  warnings: [],
  responseId: null,
  modelId: null,
});
const text = (kind: 'text' | 'reasoning', words: string) => ({ type: kind, text: words, ended: true }) as const;
const call = (callId: string) =>
  ({ type: 'tool-call', callId, name: 't', input: '{}', providerExecuted: false }) as const;
const outcome = (over: Partial<ModelOutcome>): ModelOutcome => ({
  reply: null,
  fault: null,
  calls: [],
  textReport: null,
  usage: noUsage,
  costUsd: 0,
  contextTokens: 0,
  omittedTokens: 0,
  ...over,
});
const facts = (callId: string, over: Partial<CallFacts>): CallFacts => ({
  ...callFacts(callId, 't', 'real'),
  wholeInput: true,
  ...over,
});
const good = { valid: true, content: 'done' } as const;
const bad = { valid: false, slug: 'final_report_missing', reasons: 'empty' } as const;
const fault = (kind: FaultKind) => ({ kind, message: 'no', status: null, retryAfterMs: null });

/** Replies and faults of every class that the verdict distinguishes. */
export const modelOutcomes: ModelOutcome[] = [
  outcome({ reply: reply([]) }),
  outcome({ reply: reply([text('text', 'Hi.')]) }),
  outcome({ reply: reply([text('text', 'Hi.')]), textReport: good }),
  outcome({ reply: reply([text('text', 'Hi.')]), textReport: bad }),
  outcome({ reply: reply([text('reasoning', 'Hm.')]) }),
  outcome({ reply: reply([{ type: 'source', source: {} } as never]) }),
  outcome({ reply: reply([text('text', 'Hi')], 'length') }),
  outcome({ reply: reply([], 'content-filter') }),
  outcome({ reply: reply([text('text', 'H')], null), fault: fault('network') }),
  ...faultKinds.map((kind) => outcome({ fault: fault(kind) })),
  outcome({ reply: reply([call('a')], 'tool-calls'), calls: [facts('a', {})] }),
  outcome({
    reply: reply([call('a'), call('b')], 'tool-calls'),
    calls: [facts('a', {}), facts('b', { needsApproval: true })],
  }),
  outcome({
    reply: reply([call('a'), call('b')], 'tool-calls'),
    calls: [facts('a', {}), facts('b', { tool: 'report', report: bad })],
  }),
  outcome({
    reply: reply([call('a'), call('b')], 'tool-calls'),
    calls: [facts('a', { tool: 'report', report: bad }), facts('b', { tool: 'report', report: good })],
  }),
  outcome({ reply: reply([call('a')], 'tool-calls'), calls: [facts('a', { tool: 'report', report: good })] }),
  outcome({ reply: reply([call('a')], 'tool-calls'), calls: [facts('a', { tool: 'report', report: bad })] }),
  outcome({ reply: reply([call('a')], 'tool-calls'), calls: [facts('a', { tool: 'unknown' })] }),
  outcome({ reply: reply([call('a')], null), fault: fault('network'), calls: [facts('a', {})] }),
];

export function attemptWalk(over: Partial<AttemptInput> = {}): Walk {
  const input: AttemptInput = {
    turn: 1,
    attempt: 1,
    target: { index: 0, name: 'one' },
    notice: null,
    offer: 'all',
    permission: 'all',
    finish: 'report',
    omitTokens: 0,
    maxToolCalls: 5,
    stopSlug: null,
    ...over,
  };
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    if (snapshot.matches('requesting')) {
      return [...modelOutcomes.map((one) => done('model', delivered(one))), broke('model'), ...stops, abort];
    }
    if (!snapshot.matches('answering')) return [];
    const answers: unknown[] = snapshot.context.answers;
    const calls: { disposition: Disposition }[] = snapshot.context.reading.calls;
    return [
      ...answers.flatMap((known, index) => {
        if (known !== null) return [];
        const { disposition } = calls[index] ?? {};
        const possible =
          disposition?.kind === 'run' || disposition?.kind === 'approve' ? callOutputs : [settledAs(disposition)];
        return [...possible.map((output) => done(`tool.${index}`, { index, ...output })), broke(`tool.${index}`)];
      }),
      ...stops,
      abort,
    ];
  };
  return { machine: attemptMachine, input, events };
}

function settledAs(disposition: Disposition | undefined): Omit<ToolCallOutput, 'index'> {
  return answer(false, disposition?.kind === 'refuse' ? disposition.slug : null);
}

// ── the tool call, over the outcomes of its effects ──────────────────────────────────────────────────────────────────

export const dispositions: Disposition[] = [
  { kind: 'run' },
  { kind: 'approve' },
  { kind: 'acknowledge', message: 'Noted.' },
  { kind: 'provided', slug: null },
  { kind: 'provided', slug: 'tool_exec_failed' },
  { kind: 'provided', slug: 'tool_not_permitted' },
  { kind: 'refuse', slug: 'unknown_tool', message: 'no' },
];

export function toolCallWalk(disposition: Disposition, tool: ToolCallInput['tool'] = 'real'): Walk {
  const input: ToolCallInput = {
    turn: 1,
    attempt: 1,
    index: 0,
    callId: 'a',
    name: 't',
    tool,
    progress: '',
    disposition,
  };
  const result = { success: true, value: 1, message: '' };
  const output = { type: 'text', value: '1' };
  const ran = (slug: Slug | null) => done('tool', delivered({ slug, result, output, tokens: 1, spent: nothingSpent }));
  const decided = (decision: string) => done('approval', delivered({ decision, reason: null }));
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    if (snapshot.matches('awaitingApproval')) {
      return [decided('approved'), decided('denied'), decided('timeout'), broke('approval'), ...stops, abort];
    }
    if (!snapshot.matches('running')) return [];
    return [
      ran(null),
      ran('tool_exec_failed'),
      ran('tool_timeout'),
      ran('interrupted'),
      broke('tool'),
      ...stops,
      abort,
    ];
  };
  return { machine: toolCallMachine, input, events };
}

// ── the workflow, over the outcomes of its effects ───────────────────────────────────────────────────────────────────

export const item = (number: number, over: Partial<ItemRef> = {}): ItemRef => ({
  id: `BUG-00${number}`,
  kind: 'bug',
  title: `Bug ${number}`,
  priority: 'P1',
  component: null,
  createdAt: null,
  blocked: false,
  folder: `bugs/BUG-00${number}`,
  ...over,
});

const marker: StopMarker = { file: 'comments.md', item: null, request: 'Build it.', component: null };

export const worked = (over: Partial<WorkOutcome>): WorkOutcome => ({
  verdict: 'succeeded',
  agent: 'worker',
  slugs: [],
  message: 'so it went',
  requests: 1,
  lookedFor: [],
  stops: [],
  ...over,
});

export const diedIn = (phase: RunState['current_phase'], over: Partial<RunState> = {}): RunState => ({
  run: 'before',
  current_phase: phase,
  current_item: 'BUG-001',
  iteration_count: 1,
  failure_count: 0,
  last_failures: [],
  early_exit_triggered: false,
  early_exit_reason: null,
  succeeded: [],
  set_aside: [],
  tried: ['BUG-001'],
  failures: [],
  incidents: [],
  created: [],
  ...over,
});

export function workflowWalk(over: Partial<WorkflowLimits> = {}, tests = true): Walk {
  const limits: WorkflowLimits = { maxConsecutiveFailures: 2, maxItems: null, maxAgentTries: 2, ...over };
  const leave = { type: 'workflow.abort', reason: 'enough' };
  const failures = limits.maxConsecutiveFailures - 1;
  const known = { id: 'BUG-009', title: 'T', folder: 'bugs/BUG-009', isNew: true, why: 'because' };
  const filed = [delivered({ ok: true, created: [] }), delivered({ ok: true, created: [known] })];
  const unfiled = delivered({ ok: false, message: 'disk full' });
  const ended = [delivered({ created: [known], problems: [] }), delivered({ created: [], problems: ['disk full'] })];
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    const all = (actor: string, outcomes: readonly unknown[]) => [
      ...outcomes.map((outcome) => done(actor, outcome)),
      broke(actor),
      leave,
    ];
    switch (snapshot.value) {
      case 'restoring':
        return all('restore', [
          delivered({ kind: 'fresh' }),
          delivered({ kind: 'crashed', state: diedIn('processing'), item: item(1), problem: null }),
          delivered({
            kind: 'crashed',
            state: diedIn('archiving', { failure_count: failures }),
            item: null,
            problem: null,
          }),
          delivered({ kind: 'crashed', state: diedIn('archiving'), item: null, problem: 'no access' }),
          delivered({
            kind: 'crashed',
            state: diedIn('testing', { failure_count: failures }),
            item: item(1),
            problem: null,
          }),
          delivered({ kind: 'corrupt', message: 'not JSON' }),
          delivered({ kind: 'critical', message: 'no access' }),
        ]);
      case 'scanning':
        return all('scan', [
          delivered({ ok: true, items: [item(1), item(2)], stops: [], appeared: [] }),
          delivered({ ok: true, items: [item(9), item(1)], stops: [], appeared: [known] }),
          delivered({
            ok: true,
            items: [item(1, { blocked: true }), item(3, { kind: 'human-action' })],
            stops: [],
            appeared: [],
          }),
          delivered({ ok: true, items: [item(1)], stops: [marker], appeared: [] }),
          delivered({ ok: false, message: 'no access' }),
        ]);
      case 'working':
        return all('work', [
          delivered(worked({})),
          delivered(worked({ stops: [marker] })),
          delivered(worked({ verdict: 'failed', slugs: ['retries_exhausted'] })),
          delivered(worked({ verdict: 'failed', slugs: ['retries_exhausted'], stops: [marker] })),
          delivered(worked({ verdict: 'blocked' })),
          delivered(worked({ verdict: 'unavailable', lookedFor: ['agents/'] })),
          delivered(worked({ verdict: 'critical' })),
          delivered(worked({ verdict: 'aborted' })),
        ]);
      case 'backingOff':
        return all('wait', [delivered({})]);
      case 'archiving':
        return all('archive', [...filed, unfiled]);
      case 'settingAside':
        return all('setAside', [...filed, unfiled]);
      case 'capturing':
        return all('capture', ended);
      case 'reviewing':
        return all('review', ended);
      case 'summarising':
        return all('summarise', ended);
      default:
        return [];
    }
  };
  return { machine: workflowMachine, input: { run: 'now', limits, tests }, events };
}

/** Identifies a run state by the fields that its rules read. Whole contexts would give too many states. */
export const workflowKey = ({ value, status, context }: AnyMachineSnapshot) =>
  JSON.stringify([
    value,
    status,
    context.item.id,
    context.tries,
    context.tried,
    context.failureCount,
    context.stops.length,
    context.phase,
    context.work.outcome.verdict,
    context.critical?.phase,
    context.incidents.map(({ kind }: { kind: string }) => kind),
    context.captured,
    context.abortReason,
  ]);
