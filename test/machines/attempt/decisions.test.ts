import { describe, expect, it } from 'vitest';
import {
  abortedAnswers,
  endFact as attemptEnd,
  outputOf as attemptOutput,
  begunCalls,
  runningTools,
  waitingCalls,
} from '../../../machines/attempt/attempt.rules.ts';
import type { AttemptContext, AttemptInput, Reading } from '../../../machines/attempt/attempt.types.ts';
import { brokenReading, readDelivery, readOutcome } from '../../../machines/attempt/reading.rules.ts';
import { callFacts, type ModelOutcome, noUsage } from '../../../machines/index.ts';
import type { AnswerSummary } from '../../../machines/tool-call/tool-call.types.ts';
import { attemptInput, reply } from '../../graph/levels/attempt.ts';
import { expectGolden } from '../../support/golden.ts';
import { fault, usage } from '../../support/replies.ts';

describe('C-5 F-2 F-4 T-4: the decisions of an attempt', () => {
  const input: AttemptInput = { ...attemptInput, turn: 2 };
  const outcome = (over: Partial<ModelOutcome>): ModelOutcome => ({
    reply: null,
    fault: null,
    calls: [],
    textReport: null,
    usage,
    costUsd: 0.5,
    measured: { tokens: 40, failed: 30, counted: true, oldText: 0 },
    ...over,
  });
  const read = (over: Partial<ModelOutcome>, at: Partial<AttemptInput> = {}) => {
    const delivered = { at: 5, chance: 0.5, outcome: outcome(over) };
    const reading = readOutcome(delivered, { ...input, ...at });
    const { facts } = readDelivery({ ...input, ...at, reading: null, answers: [] }, { delivered });
    return { reading, facts: facts.filter(({ type }) => type.startsWith('report.')) };
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
      'text that is not checked': read({ reply: reply([said]) }),
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

  it('a call that waits for a person or a client has a machine; an abort answers the others', () => {
    const calls = [
      called('plain'),
      called('asked', { needsApproval: true }),
      called('client', { isClientSide: true }),
      called('both', { needsApproval: true, isClientSide: true }),
      called('refused', { tool: 'unknown' }),
      called('last'),
    ];
    const context = { ...input, reading: read({ reply: reply([]), calls }).reading, answers: calls.map(() => null) };
    const waits = (place: number, needsApproval: boolean, isClientSide: boolean) => ({
      ...{ turn: 2, attempt: 1, index: place, callId: calls[place]?.callId, name: 't', needsApproval, isClientSide },
    });
    expect(begunCalls(context).map(({ call, waits: machine }) => [call.callId, machine])).toEqual([
      ['plain', null],
      ['asked', waits(1, true, false)],
      ['client', waits(2, false, true)],
      ['both', waits(3, true, true)],
      ['last', null],
    ]);
    const answered = { executed: true, slug: null, tokens: 1, spent: { requests: 0, tokens: 0, costUsd: 0 }, at: 1 };
    const later = { ...context, answers: [answered, null, null, answered, answered, null] };
    expect([runningTools(later), waitingCalls(later)]).toEqual([[5], [1, 2]]);
    const { change, facts } = abortedAnswers(later);
    expect(change.answers?.map((answer) => answer?.slug)).toEqual([null, undefined, undefined, null, null, 'aborted']);
    expect(facts).toMatchObject([
      { type: 'tool.answered', index: 5, callId: 'last', executed: false, slug: 'aborted' },
    ]);
    expect(begunCalls({ ...context, reading: null })).toEqual([]);
  });

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
      unanswered: [...runningTools(one), ...waitingCalls(one)],
    });
    return expectGolden('attempt-ends.txt', {
      succeeded: all(context({})),
      'before anything came': all(context({ reading: null, answers: [] })),
      'a defect': all(context({ reading: brokenReading('it broke'), answers: [] })),
      'a fault': all(context({ reading: read({ fault: fault('server') }).reading, answers: [] })),
      'a stream that broke off': all(
        context({ reading: read({ reply: reply([said], null), fault: fault('network') }).reading, answers: [] }),
      ),
      'a report that could not be checked': all(
        context({
          reading: {
            ...read({}).reading,
            rejected: [
              { index: 0, slug: 'final_report_schema_fail', reasons: 'no content' },
              { index: 1, slug: 'check_failed', reasons: 'the check is offline' },
            ],
          } as Reading,
        }),
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
      'unchecked text, where text is the report': all(
        context({ reading: read({ reply: reply([said]) }, { finish: 'text' }).reading, answers: [] }),
      ),
      'executed by the provider on the last turn': all(
        context({ answers: [answer({ slug: 'tool_not_permitted' }), answer({ executed: false })] }),
      ),
      'no time is known': all(context({ reading: brokenReading(''), answers: [] })),
      'progress alone': all(context({ answers: [answer({ executed: false }), answer({ executed: false })] })),
      'no tokens were counted': all(
        context({ reading: { ...read({ reply: reply([]) }).reading, measured: null, usage: noUsage } }),
      ),
      'content that was withheld': all(
        context({ reading: read({ reply: reply([thought], 'content-filter') }).reading, answers: [] }),
      ),
    });
  });
});
