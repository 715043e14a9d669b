import {
  type ApprovalOutcome,
  type CompactOutcome,
  callFacts,
  type Effect,
  failure,
  type Json,
  type ModelOutcome,
  nothingSpent,
  noUsage,
  type PrepareOutcome,
  type ReportVerdict,
  type SessionCommand,
  type SessionInput,
  type ToolOutcome,
} from '../../../machines/index.ts';
import type { Settled } from '../ledger.ts';
import type { Whole } from '../product.ts';
import { fault, outcome, reply, text } from './attempt.ts';
import { preparation } from './shared.ts';

/** How the effects of a session settle: examples of the kinds that matter above the level of a call. */

const json = (value: object): Json => JSON.parse(JSON.stringify(value));
const call = (callId: string) =>
  ({ type: 'tool-call', callId, name: 't', input: '{}', providerExecuted: false }) as const;
const real = (callId: string) => ({ ...callFacts(callId, 't', 'real'), wholeInput: true });
const reporting = (report: ReportVerdict) =>
  outcome({
    reply: reply([call('r')], 'tool-calls'),
    calls: [{ ...callFacts('r', 'final_report', 'report'), wholeInput: true, report }],
  });
type Outcome = ModelOutcome | ToolOutcome | PrepareOutcome | ApprovalOutcome | CompactOutcome;
const settled = (name: string, value: Outcome, more = {}) => {
  return { name, outcome: json(value), ...more };
};

const defective: Settled = { name: 'is defective' };

const models: Settled[] = [
  settled('reports', reporting({ valid: true, content: 'done' })),
  settled('reports badly', reporting({ valid: false, slug: 'final_report_missing', reasons: 'empty' }), {
    rejects: true,
  }),
  settled('calls', outcome({ reply: reply([call('a')], 'tool-calls'), calls: [real('a')] })),
  settled(
    'calls twice, once with approval',
    outcome({
      reply: reply([call('a'), call('b')], 'tool-calls'),
      calls: [real('a'), { ...real('b'), needsApproval: true }],
    }),
  ),
  settled('says nothing', outcome({ reply: reply([]) })),
  settled('breaks off', outcome({ reply: reply([text('text', 'H')], null), fault: fault('interrupted') })),
  settled('is limited', outcome({ fault: { ...fault('rate_limited'), retryAfterMs: 5_000 } }), { limitsMs: 5_000 }),
  settled('is limited for long', outcome({ fault: { ...fault('rate_limited'), retryAfterMs: 90_000 } }), {
    limitsMs: 90_000,
  }),
  settled('refuses the key', outcome({ fault: fault('auth') }), { excludes: true }),
  defective,
];

const allModels = models.map(({ name }) => name);

const result = { success: true, value: 'ok', message: 'The tool succeeded.' };
const answer = { slug: null, result, output: { type: 'text', value: 'ok' }, tokens: 1, kept: null } as const;
const tools: Settled[] = [
  settled('succeeds', { ...answer, spent: nothingSpent }),
  settled('asks a sub-agent', { ...answer, spent: { ...nothingSpent, requests: 1 } }, { requests: 1 }),
  settled('fails', { ...answer, slug: 'tool_exec_failed', result: failure('no'), spent: nothingSpent }),
  defective,
];

const done = settled('is done', preparation(0));

const asked = { target: 'one', usage: noUsage, guessedTokens: 0, costUsd: 0 };
const size = { tokens: 0, results: [], oldText: 0 };
const compactions: Settled[] = [
  settled('is left out', { ok: true, ranges: [[1, 3]], message: 'Before.', asked: null, ...size }),
  settled('is summarised', { ok: true, ranges: [[1, 3]], message: 'Before.', asked, ...size }),
  settled('has no summary', { ok: false, detail: 'empty', asked }),
  defective,
];

/** How an effect may settle. A model request settles only as one of the examples named. */
function settlingsOf({ kind }: Effect, names: readonly string[]): Settled[] {
  switch (kind) {
    case 'prepare':
      return [done];
    case 'compact':
      return compactions;
    case 'model':
      return models.filter(({ name }) => names.includes(name));
    case 'tool':
      return tools;
    case 'approval':
      return [
        settled('is approved', { decision: 'approved', reason: null }),
        settled('is denied', { decision: 'denied', reason: null }),
        defective,
      ];
    case 'close':
      return [{ name: 'is over', outcome: {} }, defective];
    default:
      // A wait runs no code that could break.
      return [{ name: 'is over', outcome: {} }];
  }
}

const commands: SessionCommand[] = [{ type: 'session.stop' }, { type: 'session.abort', reason: 'enough' }];

const compaction: SessionCommand = { type: 'session.compact' };

/** A walk of whole sessions: with commands at any state, or with those models only. */
function wholeWalk(
  maxTurns: number,
  maxRetries: number,
  over: {
    targets?: string[];
    requests?: number;
    deadlineAt?: number;
    commands?: boolean;
    models?: string[];
    compacts?: boolean;
  } = {},
): Whole {
  const { targets = ['one', 'two'], requests = null, deadlineAt = null, compacts = false } = over;
  const input: SessionInput = {
    bound: { maxTurns, maxRetries },
    maxToolCalls: 5,
    targets,
    finish: 'report',
    budget: { requests, tokens: null, costUsd: null, deadlineAt },
    window: { windowTokens: null, reserveTokens: 0 },
    plansTurns: false,
    ...(compacts && { compactsAt: 0.5 }),
    at: 0,
  };
  const { models = allModels } = over;
  const given: SessionCommand[] = [...(over.commands ? commands : []), ...(compacts ? [compaction] : [])];
  return { input, models, settlings: (effect) => settlingsOf(effect, models), commands: given };
}

const few = ['reports', 'reports badly', 'calls', 'says nothing', 'refuses the key'];

/** The walks of whole sessions: small ones for every test run, and those of `npm run verify`. */
export const wholeWalks = (size: 'usual' | 'all'): Whole[] => [
  wholeWalk(2, 2, { models: few }),
  wholeWalk(3, 2, { models: few }),
  wholeWalk(2, 2, { targets: ['one'], requests: 3, commands: true, models: few }),
  wholeWalk(2, 2, { targets: ['one'], requests: 4, compacts: true, models: few }),
  wholeWalk(2, 1, { commands: true }),
  wholeWalk(1, 2, { deadlineAt: 60_000, commands: true }),
  wholeWalk(2, 2, { targets: ['one'], deadlineAt: 60_000, models: few }),
  ...(size === 'all'
    ? [
        wholeWalk(2, 3),
        wholeWalk(2, 2, { commands: true }),
        wholeWalk(3, 2, { targets: ['one'], requests: 4, commands: true, models: few }),
        wholeWalk(2, 3, { requests: 5 }),
      ]
    : []),
];
