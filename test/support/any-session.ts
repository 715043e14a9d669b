import fc from 'fast-check';
import { defineAgent, type Session, type SessionEvent } from '../../src/index.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { guarded, search } from './tools.ts';

const call = fc.oneof(
  fc.record({
    name: fc.constantFrom(
      'search',
      'steady',
      'failing',
      'nothing',
      'guarded',
      'slow',
      'nope',
      '',
      'final_report',
      'progress_report',
    ),
  }),
  fc.record({
    name: fc.constantFrom('search', 'final_report', 'guarded', 'steady'),
    input: fc.constantFrom<unknown>(
      { q: 'x' },
      { content: 'a report' },
      { path: '/' },
      {},
      '',
      '{',
      '[]',
      { content: '' },
      'null',
    ),
    id: fc.constantFrom('a', 'b', '', undefined),
  }),
);

const fault = fc.constantFrom<unknown>(
  new Error('boom'),
  Object.assign(new Error('limit'), { statusCode: 429 }),
  Object.assign(new Error('auth'), { statusCode: 401 }),
  Object.assign(new Error('server'), { statusCode: 503 }),
  { type: 'overloaded_error', message: 'busy' },
);

export const reply: fc.Arbitrary<RehearsedReply> = fc.record(
  {
    text: fc.constantFrom('', 'some text', '   '),
    reasoning: fc.constantFrom('', 'because'),
    calls: fc
      .array(call, { maxLength: 4 })
      .map((calls) => calls.map(({ ...one }) => one as NonNullable<RehearsedReply['calls']>[number])),
    finishReason: fc.constantFrom('stop', 'length', 'content-filter', 'tool-calls', 'error', 'other', 'interrupted'),
    throws: fault,
    breaks: fault,
    cut: fc.boolean(),
  },
  { requiredKeys: [] },
);
// Most replies are not faults, so that sessions make progress.
const mostlyReplies = fc.oneof(
  { weight: 3, arbitrary: reply.map(({ throws: _, breaks: __, cut: ___, ...rest }) => rest) },
  { weight: 1, arbitrary: reply },
);

/** What may happen in a session: what its model says, its bound, and what its caller does. */
export const scenario = fc.record({
  replies: fc.array(mostlyReplies, { minLength: 1, maxLength: 12 }),
  targets: fc.integer({ min: 1, max: 3 }),
  maxTurns: fc.integer({ min: 1, max: 4 }),
  maxRetries: fc.integer({ min: 1, max: 4 }),
  finish: fc.constantFrom<'report' | 'text'>('report', 'text'),
  interruption: fc.option(
    fc.record({
      after: fc.integer({ min: 1, max: 30 }),
      kind: fc.constantFrom<'stop' | 'abort' | 'steer'>('stop', 'abort', 'steer'),
    }),
  ),
});

export type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** The agent of a scenario, its models, and what the caller does during the session. */
export function anySession({ replies, targets, maxTurns, maxRetries, finish, interruption }: Scenario) {
  let next = 0;
  const models = Array.from({ length: targets }, (_, index) =>
    rehearsalModel(() => replies[next++ % replies.length] ?? {}, { modelId: `m${index}` }),
  );
  const agent = defineAgent({
    name: 'any',
    models,
    finish,
    tools: {
      search,
      guarded,
      steady: () => 'steady',
      nothing: () => undefined,
      failing: () => Promise.reject(new Error('no')),
      slow: () => new Promise((resolve) => setImmediate(() => resolve(1n))),
    },
    builtIns: { progressReport: true },
    limits: { maxTurns, maxRetries, maxToolCallsPerTurn: 2, approvalTimeoutMs: 1 },
  });
  let seen = 0;
  const during = (event: SessionEvent, session: Session) => {
    seen += 1;
    if (event.type === 'tool.approvalRequested' && seen % 2 === 0) {
      setImmediate(() => session.approve(event.callId, { approved: seen % 4 === 0 }));
    }
    if (seen !== interruption?.after) return;
    if (interruption.kind === 'stop') session.stop();
    else if (interruption.kind === 'abort') session.abort();
    else session.steer('Go left.');
  };
  return { agent, models, during };
}
