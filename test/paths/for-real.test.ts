import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InspectionEvent } from 'xstate';
import { z } from 'zod';
import { defineAgent, type SessionResult } from '../../src/index.ts';
import { arbitraryFault, arbitraryReply } from '../../src/testing/fast-check.ts';
import {
  assertInvariants,
  manualClock,
  type PawlMatchers,
  pawlMatchers,
  rehearsalModel,
  type SessionPath,
  sessionPaths,
  startModelServer,
} from '../../src/testing/index.ts';
import { run, wireModel } from '../support/session.ts';
import { search } from '../support/tools.ts';

expect.extend(pawlMatchers);
declare module 'vitest' {
  interface Matchers extends PawlMatchers {}
}
const call = { name: 'search', input: { q: 'x' } };

/** Records the states that the session's actor passes through. */
function statesSeen() {
  const states: string[] = [];
  const inspect = (event: InspectionEvent) => {
    if (event.type !== '@xstate.microstep' || (event.actorRef as { _parent?: unknown })._parent !== undefined) return;
    const { value } = event.snapshot as { value?: unknown };
    const state = typeof value === 'string' ? value : Object.values(value ?? {}).join();
    if (state !== states.at(-1)) states.push(state);
  };
  return { states, inspect };
}

/** Returns the states that the path predicts. */
function statesExpected({ expected: { status, turns } }: SessionPath): string[] {
  return [...Array.from({ length: turns }, () => ['advancing', 'turning']).flat(), 'closing', 'ending', status];
}

describe('B-2 B-3 B-4 F-2: real sessions follow every path of the specification', () => {
  it('over the wire, with 2 turns of 2 attempts', async () => {
    const limits = { maxTurns: 2, maxRetries: 2 };
    const paths = sessionPaths(limits, { call });
    expect(paths.length).toBeGreaterThan(100);
    let path = paths[0];
    await using server = await startModelServer((_, index) => path?.replies[index - begun] ?? {});
    let begun = 0;
    const agent = defineAgent({ name: 'walked', models: [wireModel('openai', server.url)], tools: { search }, limits });
    for (path of paths) {
      begun = server.requests.length;
      const { states, inspect } = statesSeen();
      const { result } = await run({ agent, options: { inspect } });
      const { status, counters } = result;
      const real = {
        status,
        turns: counters.turns,
        requests: server.requests.length - begun,
        collapses: counters.collapses,
      };
      expect([path.steps, real]).toEqual([path.steps, path.expected]);
      expect([path.steps, states]).toEqual([path.steps, statesExpected(path)]);
      assertInvariants(result, { requests: real.requests, limits });
    }
  });

  it('in process, with 3 turns of 2 attempts and no mixed replies', async () => {
    const limits = { maxTurns: 3, maxRetries: 2 };
    for (const { steps, replies, expected } of sessionPaths(limits, {
      call,
      steps: ['tool', 'empty', 'report', 'bad report'],
    })) {
      const agent = defineAgent({ name: 'walked', models: [rehearsalModel(replies)], tools: { search }, limits });
      const { result } = await run({ agent });
      const { status, counters } = result;
      const real = { status, turns: counters.turns, requests: counters.requests, collapses: counters.collapses };
      expect([steps, real]).toEqual([steps, expected]);
    }
  });
});

describe('races', () => {
  it('C-1 D-2 S-4: tools, aborts, stops and approvals may come in any order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.constantFrom('stop', 'abort', 'approve', 'deny', 'steer'), { maxLength: 3 }),
        async (scheduler, acts) => {
          const slow = {
            inputSchema: z.object({}),
            execute: () => scheduler.schedule(Promise.resolve('done'), 'the tool'),
          };
          const guarded = { ...slow, needsApproval: true };
          const calls = [{ name: 'slow' }, { name: 'guarded' }, { name: 'slow' }];
          const agent = defineAgent({
            name: 'raced',
            models: [rehearsalModel([{ calls }, { calls: [{ name: 'final_report', input: { content: 'done' } }] }])],
            tools: { slow, guarded },
            limits: { maxTurns: 2, approvalTimeoutMs: 200 },
          });
          const waiting: string[] = [];
          const running = run({
            agent,
            clock: manualClock(),
            during: (event, session) => {
              if (event.type === 'tool.approvalRequested') waiting.push(event.callId);
              if (event.type !== 'tool.requested' || event.index !== 0 || event.turn !== 1) return;
              for (const act of acts) {
                scheduler.schedule(Promise.resolve(), act).then(() => {
                  if (act === 'stop') session.stop();
                  else if (act === 'abort') session.abort();
                  else if (act === 'steer') session.steer('Hurry.');
                  else for (const id of waiting) session.approve(id, { approved: act === 'approve' });
                });
              }
            },
          });
          await scheduler.waitFor(running);
          const { result } = await running;
          assertInvariants(result, { limits: agent.limits });
          expect(result.turns[0]?.attempts[0]?.calls).toHaveLength(3);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the test tools for users', () => {
  it('arbitrary replies and faults never break an invariant', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(arbitraryReply({ search: [{ q: 'x' }, {}] }), arbitraryFault()), {
          minLength: 1,
          maxLength: 8,
        }),
        async (replies) => {
          const agent = defineAgent({
            name: 'any',
            models: [rehearsalModel(replies)],
            tools: { search },
            limits: { maxTurns: 2, maxRetries: 2 },
          });
          const { result } = await run({ agent });
          expect(result).toKeepItsPromises({ limits: agent.limits });
        },
      ),
      { numRuns: 100 },
    );
  });

  it('assertInvariants names each broken invariant', async () => {
    const agent = defineAgent({ name: 'broken', models: [rehearsalModel([{}])], limits: { maxRetries: 2 } });
    const { result } = await run({ agent });
    expect(result).toHaveFailedFor([['empty_response'], ['empty_response']]);
    const broken = { ...result, counters: { ...result.counters, requests: 9 }, success: true } as SessionResult;
    expect(() => assertInvariants(broken, { requests: 10, limits: agent.limits })).toThrow(
      /requests \(9\) = attempts \(2\).*success \(true\)/s,
    );
  });
});
