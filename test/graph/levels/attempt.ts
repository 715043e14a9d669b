import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { runningTools, waitingCalls } from '../../../machines/attempt/attempt.rules.ts';
import type { AttemptInput } from '../../../machines/attempt/attempt.types.ts';
import { faultKinds } from '../../../machines/contract/faults.ts';
import {
  attemptMachine,
  type CallFacts,
  callFacts,
  type FaultKind,
  type ModelOutcome,
  nothingSpent,
  noUsage,
  type Reply,
  type Slug,
  type ToolOutcome,
} from '../../../machines/index.ts';
import type { ToolCallOutput } from '../../../machines/tool-call/tool-call.types.ts';
import type { Walk } from '../explore.ts';
import { abort, broke, delivered, done, stops } from './shared.ts';

export const callClassOf = ({ executed, slug }: Omit<ToolCallOutput, 'index'>): string =>
  `${executed ? 'executed' : 'not executed'}, ${slug ?? 'well'}`;

const answer = (executed: boolean, slug: Slug | null): Omit<ToolCallOutput, 'index'> => ({
  executed,
  slug,
  tokens: 1,
  spent: nothingSpent,
  at: 0,
});

/** How a tool may end: well, badly, and not invoked (T-2). */
const toolOutcomes: ToolOutcome['slug'][] = [null, 'tool_exec_failed', 'invalid_tool_input', 'budget_exhausted'];

/** What a tool delivers. */
const ranTool = (slug: ToolOutcome['slug']) =>
  delivered({
    slug,
    result: { success: slug === null, value: 1, message: '' },
    output: { type: 'text', value: '1' },
    tokens: 1,
    kept: null,
    spent: nothingSpent,
  });

export const callOutputs = [
  answer(true, null),
  answer(true, 'tool_exec_failed'),
  answer(true, 'tool_timeout'),
  answer(true, 'interrupted'),
  answer(false, 'approval_timeout'),
  answer(false, 'invalid_tool_input'),
  answer(false, 'check_failed'),
  answer(false, 'tool_denied'),
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
  openInputs: [],
  errors: [],
  warnings: [],
  responseId: null,
  modelId: null,
});
export const text = (kind: 'text' | 'reasoning', words: string) => ({ type: kind, text: words, ended: true }) as const;
const call = (callId: string) =>
  ({ type: 'tool-call', callId, name: 't', input: '{}', providerExecuted: false }) as const;
export const outcome = (over: Partial<ModelOutcome>): ModelOutcome => ({
  reply: null,
  fault: null,
  calls: [],
  textReport: null,
  usage: noUsage,
  costUsd: 0,
  measured: null,
  ...over,
});
const facts = (callId: string, over: Partial<CallFacts>): CallFacts => ({
  ...callFacts(callId, 't', 'real'),
  wholeInput: true,
  ...over,
});
const good = { valid: true, content: 'done' } as const;
const bad = { valid: false, slug: 'final_report_missing', reasons: 'empty' } as const;
export const fault = (kind: FaultKind) => ({ kind, message: 'no', status: null, retryAfterMs: null });

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

export const attemptInput: AttemptInput = {
  turn: 1,
  attempt: 1,
  target: { index: 0, name: 'm' },
  notice: null,
  offer: 'all',
  permission: 'all',
  finish: 'report',
  omit: [],
  omitText: 0,
  maxToolCalls: 5,
  stopSlug: null,
};

export function attemptWalk(over: Partial<AttemptInput> = {}): Walk {
  const input: AttemptInput = { ...attemptInput, ...over };
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    if (snapshot.matches('requesting')) {
      return [...modelOutcomes.map((one) => done('model', delivered(one))), broke('model'), ...stops, abort];
    }
    if (!snapshot.matches('answering')) return [];
    const { context } = snapshot;
    return [
      ...waitingCalls(context).flatMap((index) => [
        ...callOutputs.map((output) => done(`toolCall.${index}`, { index, ...output })),
        broke(`toolCall.${index}`),
      ]),
      ...runningTools(context).flatMap((index) => [
        ...toolOutcomes.map((slug) => done(`tool.${index}`, ranTool(slug))),
        broke(`tool.${index}`),
      ]),
      ...stops,
      abort,
    ];
  };
  return { machine: attemptMachine, input, events };
}
