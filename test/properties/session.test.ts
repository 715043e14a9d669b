import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { assertOrTell, scenarioOf } from '../support/counterexample.ts';
import { run } from '../support/session.ts';
import { guarded, search } from '../support/tools.ts';

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

const reply: fc.Arbitrary<RehearsedReply> = fc.record(
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

const scenario = fc.record({
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

describe('any session', () => {
  it('B-2 C-1 C-6 S-2 S-3 S-4 F-1: keeps the invariants under arbitrary replies and interruptions', async () => {
    await assertOrTell(
      fc.asyncProperty(scenario, async ({ replies, targets, maxTurns, maxRetries, finish, interruption }) => {
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
        const { result } = await run({
          agent,
          during: (event, session) => {
            seen += 1;
            if (event.type === 'tool.approvalRequested' && seen % 2 === 0) {
              setImmediate(() => session.approve(event.callId, { approved: seen % 4 === 0 }));
            }
            if (seen !== interruption?.after) return;
            if (interruption.kind === 'stop') session.stop();
            else if (interruption.kind === 'abort') session.abort();
            else session.steer('Go left.');
          },
        });
        const sent = models.reduce((sum, model) => sum + model.requests.length, 0);
        expect(sent).toBeLessThanOrEqual(maxTurns * maxRetries);
        expect(sent).toBeLessThanOrEqual(result.counters.requests);
        // A tool that already had its result when the session was aborted delivers it late.
        if (interruption?.kind !== 'abort') expect(result.counters.lateResults).toBe(0);
        for (const model of models) {
          for (const { prompt } of model.requests) {
            const texts = prompt.flatMap((message) =>
              message.role === 'user' ? [JSON.stringify(message.content)] : [],
            );
            expect(texts.filter((text) => text.includes('system notice: ')).length).toBeLessThanOrEqual(1);
            for (const [index, message] of prompt.entries()) {
              if (message.role === 'assistant') expect(prompt[index + 1]?.role).not.toBe('assistant');
            }
          }
        }
      }),
      {
        numRuns: 300,
        scenario: ({ replies, maxTurns, maxRetries, finish }) =>
          scenarioOf(replies, {
            finish,
            limits: { maxTurns, maxRetries, maxToolCallsPerTurn: 2, approvalTimeoutMs: 1 },
          }),
      },
    );
  });
});

describe('a counterexample', () => {
  it('is reported as a scenario ready to paste', async () => {
    const property = fc.asyncProperty(fc.array(reply, { minLength: 1 }), async (replies) => {
      if (replies.some(({ text }) => text === 'some text')) throw new Error('found it');
    });
    const told = assertOrTell(property, {
      numRuns: 500,
      scenario: (replies) => scenarioOf(replies, { limits: { maxTurns: 2 } }),
    });
    await expect(told).rejects.toThrow(
      /found it[\s\S]*it\('counterexample'[\s\S]*const replies = \[\{.*text: "some text"/,
    );
  });
});
