import { describe, it } from 'vitest';
import { endFact as attemptEnd, outputOf as attemptOutput, unanswered } from '../../machines/attempt/attempt.rules.ts';
import type { AttemptContext, AttemptInput, AttemptOutput } from '../../machines/attempt/attempt.types.ts';
import { brokenReading, readDelivery, readOutcome } from '../../machines/attempt/reading.rules.ts';
import { faultKinds } from '../../machines/contract/faults.ts';
import {
  afterFault,
  afterReply,
  type Budget,
  callFacts,
  chooseTarget,
  type Fault,
  type FaultKind,
  faultSlug,
  freshTargets,
  type ModelOutcome,
  nothingSpent,
  noUsage,
  type SessionContext,
  type TurnContext,
  type TurnInput,
  type TurnOutput,
} from '../../machines/index.ts';
import * as session from '../../machines/session/session.rules.ts';
import type { AnswerSummary } from '../../machines/tool-call/tool-call.types.ts';
import * as turn from '../../machines/turn/turn.rules.ts';
import { reply } from '../graph/levels.ts';
import { expectGolden } from '../support/golden.ts';

const noBudget: Budget = { requests: null, tokens: null, costUsd: null, deadlineAt: null };
const fault = (kind: FaultKind, over: Partial<Fault> = {}): Fault => ({
  kind,
  message: 'no',
  status: 500,
  retryAfterMs: null,
  ...over,
});
const usage = { input: 10, output: 5, reasoning: 1, cacheRead: 2, cacheWrite: 3 };

describe('B-1 B-5 P-2 P-3 T-3: the decisions of a turn', () => {
  const input: TurnInput = {
    turn: 2,
    isLastTurn: false,
    lastTurnSlugs: ['stopped'],
    maxAttempts: 3,
    maxToolCalls: 5,
    finish: 'report',
    targets: freshTargets(['one', 'two']),
    current: 0,
    budget: noBudget,
    spent: nothingSpent,
    at: 1_000,
    omitTokens: 7,
    stopSlug: null,
  };
  const context = (over: Partial<TurnContext> = {}): TurnContext => ({ ...turn.freshTurn(input), attempt: 1, ...over });
  const failed = (over: Partial<AttemptOutput> = {}): AttemptOutput => ({
    ...turn.brokenOutput(),
    slugs: ['text_only'],
    at: 2_000,
    ...over,
  });
  const out = (name: string) => ({ ...freshTargets([name])[0], status: 'out' }) as TurnContext['targets'][number];
  const limited = (name: string, limitedUntil: number) =>
    ({ ...freshTargets([name])[0], limitedUntil }) as TurnContext['targets'][number];

  it('at its start match the golden file', () =>
    expectGolden('turn-beginnings.txt', {
      plain: turn.freshTurn(input),
      'the last turn': turn.freshTurn({ ...input, isLastTurn: true }).reportOnly,
      'one request left': turn.freshTurn({ ...input, budget: { ...noBudget, requests: 1 } }).reportOnly,
      'two requests left': turn.freshTurn({ ...input, budget: { ...noBudget, requests: 2 } }).reportOnly,
    }));

  it('before an attempt match the golden file', () =>
    expectGolden('attempt-inputs.txt', {
      first: turn.attemptInput(context()),
      'second, after a failure': turn.attemptInput(context({ attempt: 2, last: failed(), current: 1 })),
      'first, report only': turn.attemptInput(context({ reportOnly: true })),
      'second, report only': turn.attemptInput(context({ reportOnly: true, attempt: 2, last: failed() })),
      'by text': turn.attemptInput(context({ finish: 'text' })),
      'no such target': turn.attemptInput(context({ current: 9 })),
      'its fact': turn.attemptFact(context({ attempt: 2, last: failed() })),
    }));

  it('after an attempt match the golden file', () => {
    const left = (budget: Partial<Budget>, over: Partial<AttemptOutput> = {}, at: Partial<TurnContext> = {}) =>
      turn.afterAttempt(
        context({ budget: { ...noBudget, ...budget }, ...at }),
        failed({ usage, costUsd: 0.5, ...over }),
      );
    return expectGolden('after-attempts.txt', {
      'many are left': left({}),
      'a time that did not come': left({}, { at: null }),
      'no price': left({}, { costUsd: null }),
      'tokens are spent': left({ tokens: 15 }),
      'tokens are not quite spent': left({ tokens: 16 }),
      'requests: one is left': left({ requests: 2 }),
      'requests: none is left': left({ requests: 1 }),
      'the last attempt, with the budget spent': left({ tokens: 15 }, {}, { attempt: 3 }),
      'a sub-agent spent it': left({ tokens: 100 }, { subAgentsSpent: { requests: 3, tokens: 90, costUsd: 1 } }),
      'after a fault': left({}, { fault: fault('server'), chance: 0.5 }),
      'report only stays': left({}, {}, { reportOnly: true }),
      broken: turn.brokenAttempt(context(), { error: new Error('oops') }),
    });
  });

  it('after a wait or a stop match the golden file', () => {
    const due = { budget: { ...noBudget, deadlineAt: 3_000 }, waiting: { target: 1, dueAt: 2_500 } };
    const stop = (slug: 'stopped' | 'budget_exhausted', at: number | null) =>
      ({ type: 'turn.stop', slug, at }) as const;
    return expectGolden('after-waits-and-stops.txt', {
      'waited, with time left': turn.afterWait(context(due), 2_500),
      'waited until the deadline': turn.afterWait(context(due), 3_000),
      'waited for what is not known': turn.afterWait(context({ ...due, waiting: null }), null),
      'time does not go back': turn.afterWait(context({ ...due, at: 9_000 }), 2_500).at,
      stopped: turn.afterStop(context(due), stop('stopped', null)),
      'the deadline': turn.afterStop(context({ ...due, lastTurnSlugs: [] }), stop('budget_exhausted', 3_000)),
      'the deadline, in the last attempt': turn.afterStop(
        context({ ...due, attempt: 3 }),
        stop('budget_exhausted', 3_001),
      ),
      'an attempt that ended before it': turn.afterAttempt(context({ ...due, at: 3_000 }), failed()),
    });
  });

  it('P-2: on the next target match the golden file', () =>
    expectGolden('next-targets.txt', {
      'the one that it began with': turn.nextTarget(context({ current: 1 })),
      'the one after the failed one': turn.nextTarget(context({ last: failed() })),
      'wrapping round': turn.nextTarget(context({ current: 1, last: failed() })),
      remain: [turn.targetsRemain(context()), turn.targetsRemain(context({ targets: [out('one')] }))],
      'remain, after a while': turn.targetsRemain(context({ targets: [limited('one', 61_000)] })),
      'remain, after too long': turn.targetsRemain(context({ targets: [limited('one', 62_000)] })),
    }));

  it('at its end match the golden file', () =>
    expectGolden('turn-ends.txt', {
      'it can': turn.exhaustionOf(context()),
      'no attempt': turn.exhaustionOf(context({ attempt: 3 })),
      'no attempt, one request left': turn.exhaustionOf(
        context({ attempt: 3, budget: { ...noBudget, tokens: 1 }, spent: { requests: 1, tokens: 1, costUsd: 0 } }),
      ),
      'no request': turn.exhaustionOf(
        context({ budget: { ...noBudget, requests: 1 }, spent: { requests: 1, tokens: 1, costUsd: 0 } }),
      ),
      'no target': turn.exhaustionOf(context({ targets: [out('one')], attempt: 3 })),
      'all limited for long': turn.exhaustionOf(context({ targets: [limited('one', 62_000)] })),
      'all limited for long, and no attempt': turn.exhaustionOf(
        context({ targets: [limited('one', 62_000)], attempt: 3 }),
      ),
      'all limited for long, and no request': turn.exhaustionOf(
        context({
          targets: [limited('one', 62_000)],
          budget: { ...noBudget, requests: 1 },
          spent: { requests: 1, tokens: 1, costUsd: 0 },
        }),
      ),
      'all limited for a while': turn.exhaustionOf(context({ targets: [limited('one', 61_000)] })),
      'excluded: not': turn.exclusionFacts(context({ last: failed({ fault: fault('auth') }) })),
      'excluded: not by this attempt': turn.exclusionFacts(context({ targets: [out('one')], last: failed() })),
      'excluded: before the first': turn.exclusionFacts(context({ targets: [out('one')], last: null })),
      excluded: turn.exclusionFacts(context({ targets: [out('one')], last: failed({ fault: fault('auth') }) })),
      'excluded: no such target': turn.exclusionFacts(context({ current: 9, last: failed({ fault: fault('auth') }) })),
      'output: nothing happened': turn.outputOf(context({ attempt: 0 }), 'aborted'),
      'output: succeeded': turn.outputOf(
        context({ last: failed({ slugs: [], contextTokens: 4, omittedTokens: 5, answerTokens: 6 }) }),
        'succeeded',
      ),
      'output: exhausted': turn.outputOf(
        context({ attempt: 3, last: failed({ fault: fault('server') }) }),
        'exhausted',
      ),
      'output: exhausted for no reason': turn.outputOf(context(), 'exhausted'),
    }));

  it('B-4: on collapse requests match the golden file', () => {
    const spent = { budget: { ...noBudget, tokens: 1 }, spent: { requests: 1, tokens: 1, costUsd: 0 } };
    const rejected = failed({ reportSlugs: ['final_report_missing', 'final_report_missing'] });
    return expectGolden('collapse-requests.txt', {
      'before the first attempt': turn.collapseRequests(context({ ...spent, last: null })),
      'it finished': turn.collapseRequests(context({ ...spent, last: { ...rejected, status: 'finished' } })),
      'a rejected report': turn.collapseRequests(context({ last: rejected })),
      'the budget': turn.collapseRequests(context({ ...spent, last: failed() })),
      both: turn.collapseRequests(context({ ...spent, last: rejected })),
      'nothing is wrong': turn.collapseRequests(context({ last: failed() })),
    });
  });

  it('P-2 P-3: on the state and choice of targets match the golden file', () => {
    const three = freshTargets(['one', 'two', 'three']);
    return expectGolden('targets.txt', {
      ...Object.fromEntries(
        faultKinds.map((kind) => [`after ${kind}`, [afterFault(three, 1, fault(kind), 1_000, 0.5), faultSlug(kind)]]),
      ),
      'after a Retry-After': afterFault(three, 0, fault('rate_limited', { retryAfterMs: 9_000 }), 1_000, 0.5),
      'after the second fault': afterFault(
        afterFault(three, 0, fault('network'), 0, 0.5),
        0,
        fault('network'),
        1_000,
        0.5,
      ),
      'after a reply': afterReply(afterFault(three, 0, fault('network'), 0, 0.5), 0),
      'the next, wrapping round': chooseTarget(three, 3, 0),
      'past one that is out': chooseTarget([out('one'), ...three], 0, 0),
      'free at this moment': chooseTarget([limited('one', 5)], 0, 5),
      'the earliest, the first of several': chooseTarget(
        [limited('one', 50), limited('two', 40), limited('three', 40)],
        0,
        0,
      ),
      'within the longest wait': chooseTarget([limited('one', 60_000)], 0, 0),
      'beyond it': chooseTarget([limited('one', 60_001)], 0, 0),
      'none at all': chooseTarget([], 0, 0),
    });
  });
});

describe('B-3 B-4 T-6 F-1 S-3: the decisions of a session', () => {
  const context = (over: Partial<SessionContext> = {}): SessionContext => ({
    ...session.freshSession({
      bound: { maxTurns: 5, maxRetries: 2 },
      maxToolCalls: 4,
      targets: ['one'],
      finish: 'report',
      budget: noBudget,
      window: { windowTokens: 1_000, reserveTokens: 100 },
      at: 10,
    }),
    turn: 2,
    ...over,
  });
  const output = (over: Partial<TurnOutput> = {}): TurnOutput => ({
    status: 'exhausted',
    exhaustion: { why: 'attempts', retryAt: null },
    slugs: ['text_only'],
    detail: 'no',
    attempts: 2,
    targets: freshTargets(['one']),
    current: 0,
    spent: { requests: 3, tokens: 30, costUsd: 1 },
    at: 99,
    contextTokens: 500,
    omittedTokens: 40,
    answerTokens: 60,
    ...over,
  });
  const spent = (over: Partial<Budget>) =>
    context({ budget: { ...noBudget, ...over }, spent: { requests: 3, tokens: 30, costUsd: 1 } });

  it('between turns match the golden file', () =>
    expectGolden('session-turns.txt', {
      'the input of a turn': session.turnInput(context({ lastTurnSlugs: ['stopped'], omitTokens: 3 })),
      'after a stop': session.turnInput(context({ stopRequested: true })).stopSlug,
      'of the last turn': session.turnInput(context({ turn: 5 })).isLastTurn,
      'with one request left': session.turnInput(spent({ requests: 4 })).maxAttempts,
      'with two left': session.turnInput(spent({ requests: 5 })).maxAttempts,
      'after a turn': session.afterTurn(
        context({ answerTokens: 100, freshAnswerTokens: 20, omitTokens: 10 }),
        output(),
      ),
      'less is never left out than before': session.afterTurn(context({ omitTokens: 50 }), output()).omitTokens,
      'after preparing': session.afterPreparing({
        at: 5,
        chance: 0,
        outcome: { ok: true, instructions: 'Be brief.', contextTokens: 7, answerTokens: 8 },
      }),
      'after preparing in vain': session.afterPreparing({
        at: 5,
        chance: 0,
        outcome: { ok: false, slug: 'tools_unavailable', message: 'no' },
      }),
    }));

  it('B-4 T-6: on collapse, context and budget match the golden file', () =>
    expectGolden('session-measures.txt', {
      'a collapse': session.collapse(context({ lastTurnSlugs: ['stopped'] }), {
        reason: 'budget',
        slugs: ['budget_exhausted', 'stopped'],
      }),
      'a second one records nothing': session.collapse(context({ maxTurns: 3 }), {
        reason: 'budget',
        slugs: ['budget_exhausted'],
      }),
      'it fits': session.contextMeasures(context({ contextTokens: 900 })),
      'old results are left out': session.contextMeasures(
        context({ contextTokens: 950, answerTokens: 800, omitTokens: 100 }),
      ),
      'all that may be left out': session.contextMeasures(
        context({ contextTokens: 950, answerTokens: 160, omitTokens: 100 }),
      ),
      'even that is not enough': session.contextMeasures(
        context({ contextTokens: 1_000, answerTokens: 150, omitTokens: 100 }),
      ),
      'nothing may be left out': session.contextMeasures(
        context({ contextTokens: 1_000, answerTokens: 100, omitTokens: 150 }),
      ),
      'budget: many requests': session.budgetMeasures(spent({ requests: 5 })),
      'budget: one': session.budgetMeasures(spent({ requests: 4 })),
      'budget: none': session.budgetMeasures(spent({ requests: 3 })),
    }));

  it('S-3: at its end match the golden file', () =>
    expectGolden('session-ends.txt', {
      attempts: session.failureOf(context({ lastTurnSlugs: ['stopped'] }), output()),
      'attempts, on the last turn': session.failureOf(context({ turn: 5 }), output()),
      budget: session.failureOf(context({ turn: 5 }), output({ exhaustion: { why: 'budget', retryAt: null } })),
      targets: session.failureOf(context(), output({ exhaustion: { why: 'targets', retryAt: null } })),
      limited: session.failureOf(context(), output({ exhaustion: { why: 'limited', retryAt: 7 } })),
      'without a reason': session.failureOf(context(), output({ exhaustion: null })),
      unprepared: session.unprepared({ ok: false, slug: 'tools_unavailable', message: 'no' }),
      'prepared, and ended all the same': session.unprepared({
        ok: true,
        instructions: null,
        contextTokens: 0,
        answerTokens: 0,
      }),
      aborted: session.aborted(context({ abortReason: 'enough' })),
      'out of turns': session.outOfTurns(context({ turn: 5, lastTurnSlugs: ['context_guard'] })),
      'out of requests': session.outOfTurns(context()),
      'the fact of a success': session.endFact(context({ ending: { status: 'succeeded' } })),
      'of a failure': session.endFact(context({ ending: session.failed('internal_error', 'no') })),
      'of an abort': session.endFact(context({ ending: session.aborted(context({ abortReason: 'enough' })) })),
      'of nothing': session.endFact(context()),
    }));
});

describe('C-5 F-2 F-4 T-4: the decisions of an attempt', () => {
  const input: AttemptInput = {
    turn: 2,
    attempt: 1,
    target: { index: 0, name: 'one' },
    notice: null,
    offer: 'all',
    permission: 'all',
    finish: 'report',
    omitTokens: 0,
    maxToolCalls: 5,
    stopSlug: null,
  };
  const outcome = (over: Partial<ModelOutcome>): ModelOutcome => ({
    reply: null,
    fault: null,
    calls: [],
    textReport: null,
    usage,
    costUsd: 0.5,
    contextTokens: 40,
    omittedTokens: 4,
    ...over,
  });
  const read = (over: Partial<ModelOutcome>, at: Partial<AttemptInput> = {}) => {
    const delivered = { at: 5, chance: 0.5, outcome: outcome(over) };
    const reading = readOutcome(delivered, { ...input, ...at });
    const { facts } = readDelivery({ ...input, ...at, reading: null, answers: [] }, { delivered });
    return { reading, facts: facts.slice(1) };
  };
  const said = { type: 'text', text: 'Hi', ended: true } as const;
  const thought = { type: 'reasoning', text: 'hm', ended: true } as const;
  const valid = { valid: true, content: { a: 1 } } as const;
  const invalid = { valid: false, slug: 'final_report_schema_fail', reasons: 'a is missing' } as const;
  const called = (callId: string, over: object = {}) => ({
    ...callFacts(callId, 't', 'real'),
    wholeInput: true,
    ...over,
  });

  it('on a reply match the golden file', () =>
    expectGolden('readings.txt', {
      nothing: read({ reply: reply([]) }),
      fault: read({ fault: fault('server') }),
      'text that is the report': read({ reply: reply([said]), textReport: valid }, { finish: 'text' }),
      'text that is no report': read({ reply: reply([said]), textReport: invalid }, { finish: 'text' }),
      'text that nobody asked about': read({ reply: reply([said]) }),
      'text that may not report': read({ reply: reply([said]), textReport: valid }),
      'text on the last turn': read({ reply: reply([said]), textReport: valid }, { permission: 'report' }),
      'text on the last turn that is no report': read(
        { reply: reply([said]), textReport: invalid },
        { permission: 'report' },
      ),
      'hidden reasoning': read({ reply: reply([{ ...thought, text: '', providerOptions: {} }]) }),
      'text beside a call': read({ reply: reply([said]), textReport: valid, calls: [called('a')] }, { finish: 'text' }),
      'text beside a call of the provider': read(
        {
          reply: reply([said]),
          textReport: valid,
          calls: [called('a', { tool: 'provider', provided: 'success' })],
        },
        { finish: 'text' },
      ),
      'text cut off': read({ reply: reply([said], 'length'), textReport: valid }, { finish: 'text' }),
      'text withheld': read({ reply: reply([said], 'content-filter'), textReport: valid }, { finish: 'text' }),
      'text broken off': read(
        { reply: reply([said], null), fault: fault('network'), textReport: valid },
        { finish: 'text' },
      ),
      'a whole reply beside a fault': read(
        { reply: reply([said]), fault: fault('server'), textReport: valid },
        { finish: 'text' },
      ),
      'blank reasoning': read({ reply: reply([{ ...thought, text: ' ' }]) }),
      'blank text': read({ reply: reply([{ ...said, text: ' ' }]), textReport: valid }, { finish: 'text' }),
      'blank text with what the provider wants back': read({
        reply: reply([{ ...said, text: ' ', providerOptions: {} }]),
      }),
      reasoning: read({ reply: reply([thought]) }),
      'a reasoning file': read({
        reply: reply([{ type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'A' } }]),
      }),
      'a file': read({
        reply: reply([thought, { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'A' } }]),
      }),
      'a source': read({ reply: reply([{ type: 'source', source: {} }]) }),
      'progress, and a tool': read({
        reply: reply([]),
        calls: [called('a', { tool: 'progress', detail: 'half' }), called('b', { detail: 'x' })],
      }),
      'reports: rejected, accepted, repeated': read({
        reply: reply([]),
        calls: [
          called('a', { tool: 'report', report: invalid }),
          called('b', { tool: 'report', report: valid }),
          called('c', { tool: 'report', report: valid }),
        ],
      }),
      'a rejected report that was refused for something else': read({
        reply: reply([], null),
        calls: [called('a', { tool: 'report', report: invalid })],
      }),
      defect: brokenReading('it broke'),
    }));

  it('at its end match the golden file', () => {
    const answer = (over: Partial<AnswerSummary> = {}): AnswerSummary => ({
      executed: true,
      slug: null,
      tokens: 3,
      spent: { requests: 1, tokens: 2, costUsd: 3 },
      at: 9,
      ...over,
    });
    const context = (over: Partial<AttemptContext>): AttemptContext => ({
      ...input,
      reading: read({ reply: reply([]), calls: [called('a'), called('b')] }).reading,
      answers: [answer(), answer({ at: 7 })],
      ...over,
    });
    const all = (one: AttemptContext) => ({
      output: attemptOutput(one),
      fact: attemptEnd(one),
      unanswered: unanswered(one),
    });
    return expectGolden('attempt-ends.txt', {
      succeeded: all(context({})),
      'before anything came': all(context({ reading: null, answers: [] })),
      'a defect': all(context({ reading: brokenReading('it broke'), answers: [] })),
      'a fault': all(context({ reading: read({ fault: fault('server') }).reading, answers: [] })),
      'a stream that broke off': all(
        context({ reading: read({ reply: reply([said], null), fault: fault('network') }).reading, answers: [] }),
      ),
      'one answer is missing': all(context({ answers: [null, answer({ at: null })] })),
      'refused, all of them': all(
        context({
          answers: [answer({ executed: false, slug: 'unknown_tool' }), answer({ executed: false, slug: 'tool_limit' })],
        }),
      ),
      'broken off, with calls that were refused': all(
        context({
          reading: read({ reply: reply([], null), calls: [called('a'), called('b')] }).reading,
          answers: [
            answer({ executed: false, slug: 'unknown_tool' }),
            answer({ executed: false, slug: 'unknown_tool' }),
          ],
        }),
      ),
      'a rejected report, by text on the last turn': all(
        context({
          reading: read({ reply: reply([said]), textReport: invalid }, { permission: 'report' }).reading,
          answers: [],
        }),
      ),
      'a rejected report, where text is the report': all(
        context({
          reading: read({ reply: reply([said]), textReport: invalid }, { finish: 'text' }).reading,
          answers: [],
        }),
      ),
      'text cut off, where text is the report': all(
        context({ reading: read({ reply: reply([said], 'length') }, { finish: 'text' }).reading, answers: [] }),
      ),
      'text that nobody judged, where text is the report': all(
        context({ reading: read({ reply: reply([said]) }, { finish: 'text' }).reading, answers: [] }),
      ),
      'executed by the provider on the last turn': all(
        context({ answers: [answer({ slug: 'tool_not_permitted' }), answer({ executed: false })] }),
      ),
      'no time is known': all(context({ reading: brokenReading(''), answers: [] })),
      'progress alone': all(context({ answers: [answer({ executed: false }), answer({ executed: false })] })),
      'no tokens were counted': all(
        context({ reading: { ...read({ reply: reply([]) }).reading, contextTokens: 0, usage: noUsage } }),
      ),
      'content that was withheld': all(
        context({ reading: read({ reply: reply([thought], 'content-filter') }).reading, answers: [] }),
      ),
    });
  });
});
