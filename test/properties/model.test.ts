import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { assertOrTell, scenarioOf } from '../support/counterexample.ts';
import { report, run } from '../support/session.ts';

const replies: Record<string, RehearsedReply> = {
  report: report(),
  badReport: report(' '),
  tool: { calls: [{ name: 'works' }] },
  failingTool: { calls: [{ name: 'fails' }] },
  unknownTool: { calls: [{ name: 'absent' }] },
  approved: { calls: [{ name: 'guarded', input: { yes: true } }] },
  denied: { calls: [{ name: 'guarded', input: { yes: false } }] },
  empty: {},
  text: { text: 'Hi.' },
  fault: { throws: Object.assign(new Error('busy'), { statusCode: 503 }) },
};
type Step = { reply: string; act: 'nothing' | 'stop' | 'abort' | 'steer' };

/** Predicts a session's outcome from the specification, one step per attempt, without the rules' code. */
function predicted(steps: readonly Step[], maxTurns: number, maxRetries: number) {
  let [last, requests] = [maxTurns, 0];
  for (let turn = 1; turn <= last; turn += 1) {
    const reportOnly = turn === last;
    let progressed = false;
    for (let attempt = 1; attempt <= maxRetries && !progressed; attempt += 1) {
      const { reply, act } = steps[requests % steps.length] ?? { reply: 'empty', act: 'nothing' };
      requests += 1;
      if (act === 'abort') return { status: 'aborted', turns: turn, requests };
      if (act === 'stop') last = Math.min(last, turn + 1);
      if (reply === 'badReport') last = Math.min(last, turn + 1);
      if (reply === 'report' || (reply === 'text' && reportOnly)) return { status: 'succeeded', turns: turn, requests };
      // A call that needs a decision is denied, executed or forestalled by a stop: none is the model's mistake.
      progressed = ['tool', 'failingTool', 'approved', 'denied'].includes(reply) && !reportOnly;
    }
    if (!progressed) return { status: 'failed', turns: turn, requests };
  }
  return { status: 'failed', turns: last, requests };
}

const step: fc.Arbitrary<Step> = fc.record({
  reply: fc.constantFrom(...Object.keys(replies)),
  act: fc.oneof(
    { weight: 6, arbitrary: fc.constant('nothing' as const) },
    { weight: 1, arbitrary: fc.constantFrom('stop' as const, 'abort' as const, 'steer' as const) },
  ),
});
const scenario = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 10 }),
  maxTurns: fc.integer({ min: 1, max: 4 }),
  maxRetries: fc.integer({ min: 1, max: 4 }),
});

it('B-1 B-2 B-3 B-4 D-2 F-4 T-2: every session ends as a model of the specification predicts', async () => {
  await assertOrTell(
    fc.asyncProperty(scenario, async ({ steps, maxTurns, maxRetries }) => {
      let attempts = 0;
      const stepNow = () => steps[(attempts - 1) % steps.length];
      const guarded = { inputSchema: z.object({ yes: z.boolean() }), needsApproval: true, execute: () => 'done' };
      const agent = defineAgent({
        name: 'modelled',
        models: [rehearsalModel(() => replies[stepNow()?.reply ?? 'empty'] ?? {})],
        tools: { works: () => 'done', fails: () => Promise.reject(new Error('no')), guarded },
        limits: { maxTurns, maxRetries },
      });
      const { result } = await run({
        agent,
        during: (event, session) => {
          if (event.type === 'tool.approvalRequested')
            session.approve(event.callId, { approved: event.input.yes === true });
          if (event.type !== 'attempt.started') return;
          attempts += 1;
          const { act = 'nothing' } = stepNow() ?? {};
          if (act === 'stop') session.stop();
          else if (act === 'abort') session.abort();
          else if (act === 'steer') session.steer('Go left.');
        },
      });
      const { status, counters } = result;
      expect({ status, turns: counters.turns, requests: counters.requests }).toEqual(
        predicted(steps, maxTurns, maxRetries),
      );
    }),
    {
      numRuns: 300,
      scenario: ({ steps, maxTurns, maxRetries }) =>
        `${scenarioOf(
          steps.map(({ reply }) => replies[reply]),
          { limits: { maxTurns, maxRetries } },
        )}\n// Acts at the start of each attempt: ${steps.map(({ act }) => act).join(', ')}`,
    },
  );
});
