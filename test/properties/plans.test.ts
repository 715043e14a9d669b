import { tool } from 'ai';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, runSession, type SessionEvent, type TurnChanges } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';

const inputSchema = z.object({});
const tools = {
  look: tool({ inputSchema, execute: () => 'seen' }),
  touch: tool({ inputSchema, execute: () => 'felt' }),
};
const replies = {
  empty: {},
  look: { calls: [{ name: 'look', input: {} }] },
  touch: { calls: [{ name: 'touch', input: {} }] },
  transfer: { calls: [{ name: 'transfer_to_other', input: {} }] },
  report: { calls: [{ name: 'final_report', input: { content: 'Done.' } }] },
  bad: { calls: [{ name: 'final_report', input: {} }] },
};
const some = <Value extends string>(...of: Value[]) => fc.uniqueArray(fc.constantFrom(...of), { minLength: 1 });
const changes: fc.Arbitrary<TurnChanges> = fc.record(
  {
    activeTools: fc.uniqueArray(fc.constantFrom('look', 'touch')),
    instructions: fc.constantFrom('Be brief.', 'Be kind.'),
    models: some('r:a', 'r:b'),
    settings: fc.record({ seed: fc.integer() }),
  },
  { requiredKeys: [] },
);

it('B-1 B-2 B-3 B-4 B-5 T-7 T-8: no plan and no handoff breaks the bound', async () => {
  const limits = fc.record({ maxTurns: fc.integer({ min: 1, max: 4 }), maxRetries: fc.integer({ min: 1, max: 3 }) });
  const script = fc.array(fc.constantFrom(...(Object.keys(replies) as (keyof typeof replies)[])), {
    minLength: 1,
    maxLength: 14,
  });
  await fc.assert(
    fc.asyncProperty(limits, script, fc.array(changes, { maxLength: 5 }), async (bound, steps, plans) => {
      let sent = 0;
      const models = ['a', 'b'].map((modelId) =>
        rehearsalModel(
          () => {
            sent += 1;
            return replies[steps[sent - 1] ?? 'empty'];
          },
          { provider: 'r', modelId },
        ),
      );
      const prepareTurn = ({ turn }: { turn: number }) => plans[turn - 1];
      const other = defineAgent({ name: 'other', models, tools: { touch: tools.touch }, prepareTurn: () => {} });
      const agent = defineAgent({ name: 'planned', models, tools, limits: bound, prepareTurn, handoffs: { other } });
      const events: SessionEvent[] = [];
      const onEvent = (event: SessionEvent) => void events.push(event);
      const result = await runSession(agent, { prompt: 'Go.', logger: false, onEvent });
      assertInvariants(result, { requests: sent, limits: bound });
      expect(sent).toBe(result.counters.requests);
      for (const { turn, isLastTurn, attempts } of result.turns) {
        // B-5: on the last turn nothing but the report runs.
        if (isLastTurn) expect(attempts.flatMap(({ calls }) => calls.filter(({ executed }) => executed))).toEqual([]);
        // T-7: a tool that the turn lacks does not run, and neither does another's.
        const planned = events.find((event) => event.type === 'turn.planned' && event.turn === turn);
        const has = planned?.type === 'turn.planned' ? planned.tools : null;
        for (const { name, executed } of attempts.flatMap(({ calls }) => calls))
          if (executed && has !== null) expect(has).toContain(name);
      }
    }),
    { numRuns: 150 },
  );
});
