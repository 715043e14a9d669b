import { tool } from 'ai';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type Session, type SessionEvent } from '../../src/index.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { report, run } from '../support/session.ts';

const names = ['quick', 'patient', 'deaf', 'guarded', 'aborting', 'child'] as const;
const input = { prompt: 'x', reason: 'y' };
const call = fc.constantFrom(...names).map((name) => ({ name, input }));
const reply: fc.Arbitrary<RehearsedReply> = fc.record({
  text: fc.constantFrom('', 'some text'),
  calls: fc.array(call, { minLength: 1, maxLength: 5 }),
});

type Begun = { name: string; signal: AbortSignal | undefined; late: boolean; settled: boolean };

/** The tools of a session, which note what began, and whether an abort had been given by then. */
function watchedTools(state: { aborted: boolean; begun: Begun[]; abort: () => void }) {
  const schema = z.object({ prompt: z.string(), reason: z.string() });
  const watched = (name: string, body: (signal: AbortSignal | undefined) => unknown, needsApproval = false) =>
    tool({
      description: name,
      inputSchema: schema,
      needsApproval,
      execute: async (_input, { abortSignal: signal }) => {
        const own: Begun = { name, signal, late: state.aborted, settled: false };
        state.begun.push(own);
        const value = await body(signal);
        own.settled = !state.aborted;
        return String(value);
      },
    });
  return {
    quick: watched('quick', () => 'done'),
    patient: watched(
      'patient',
      (signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) resolve('aborted');
          signal?.addEventListener('abort', () => resolve('aborted'));
        }),
    ),
    deaf: watched('deaf', () => new Promise(() => undefined)),
    guarded: watched('guarded', () => 'done', true),
    aborting: watched('aborting', () => {
      state.abort();
      return 'done';
    }),
  };
}

describe('D-2: an abort in a listener, at any event', () => {
  it('is heard by every effect: none begins after it, and each that runs has its signal aborted', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(reply, { minLength: 1, maxLength: 3 }),
        fc.nat(60),
        fc.boolean(),
        async (replies, position, approves) => {
          const state = { aborted: false, begun: [] as Begun[], abort: () => {} };
          const tools = watchedTools(state);
          const child = defineAgent({
            name: 'child',
            models: [rehearsalModel(() => ({ calls: [{ name: 'quick', input }] }))],
            tools: { quick: tools.quick },
            limits: { maxTurns: 2, maxRetries: 1 },
          });
          let seen = 0;
          const abort = (session: Session) => {
            state.aborted = true;
            session.abort();
          };
          const during = (event: SessionEvent, session: Session) => {
            state.abort = () => abort(session);
            seen += 1;
            // Nothing waits for ever: at the latest, the session is aborted when a tool that never ends has begun.
            const isStuck = event.type === 'tool.started' && ['patient', 'deaf'].includes(event.name);
            if (seen === position) abort(session);
            else if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: approves });
            else if (isStuck) queueMicrotask(() => setImmediate(() => abort(session)));
          };
          const { result } = await run({
            agent: defineAgent({
              name: 'parent',
              models: [rehearsalModel([...replies, report()])],
              tools,
              agents: { child },
              limits: { maxTurns: 4, maxRetries: 2 },
            }),
            during,
          });
          expect(state.begun.filter(({ late }) => late)).toEqual([]);
          for (const { name, signal, settled } of state.begun) {
            if (!settled && state.aborted) expect([name, signal?.aborted]).toEqual([name, true]);
          }
          if (!state.aborted) expect(result.status).not.toBe('aborted');
          const { requested, answered } = result.counters.toolCalls;
          expect(answered).toBe(requested);
        },
      ),
      { numRuns: 300 },
    );
  }, 120_000);
});
