import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionOptions } from '../../src/index.ts';
import { recorded } from '../../src/testing/index.ts';
import { anySession, reply, type Scenario, scenario } from '../support/any-session.ts';
import { assertOrTell, scenarioOf } from '../support/counterexample.ts';
import { run } from '../support/session.ts';

/** Runs the session of a scenario, and checks what holds for each. */
async function keepsInvariants(given: Scenario, options: Partial<SessionOptions>): Promise<void> {
  const { maxTurns, maxRetries, interruption } = given;
  const { agent, models, during } = anySession(given);
  const { result, events } = await run({ agent, during, options });
  const sent = models.reduce((sum, model) => sum + model.requests.length, 0);
  expect(sent).toBeLessThanOrEqual(maxTurns * maxRetries);
  expect(sent).toBeLessThanOrEqual(result.counters.requests);
  // If a decision and its timeout come at once, the second is late, whichever it is. So is the result of a tool that
  // had it when the session was aborted.
  const asked = events.filter(({ type }) => type === 'tool.approvalRequested').length;
  if (interruption?.kind !== 'abort') expect(result.counters.lateResults).toBeLessThanOrEqual(asked);
  for (const { prompt } of models.flatMap(({ requests }) => requests)) {
    const texts = prompt.flatMap((message) => (message.role === 'user' ? [JSON.stringify(message.content)] : []));
    expect(texts.filter((text) => text.includes('system notice: ')).length).toBeLessThanOrEqual(1);
    for (const [index, message] of prompt.entries()) {
      if (message.role === 'assistant') expect(prompt[index + 1]?.role).not.toBe('assistant');
    }
  }
}

describe('any session', () => {
  it('B-2 C-1 C-6 S-2 S-3 S-4 F-1: keeps the invariants under arbitrary replies and interruptions', async () => {
    await assertOrTell(
      fc.asyncProperty(
        scenario,
        recorded(async (journal, given: Scenario) => {
          for (const options of [{}, { journal }]) await keepsInvariants(given, options);
        }),
      ),
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
