import { expect, it } from 'vitest';
import { defineAgent, type SessionEvent, startSession } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { counters, report, tokensOf } from '../support/session.ts';

const task = { prompt: 'Help.', reason: 'To be quick.' };

it('D-2: a stop reaches a sub-agent that is just beginning: it reports on its next turn', async () => {
  // At each turn of the event loop after the call began; the sub-agent takes one to begin.
  for (const after of [0, 1, 2]) {
    const stopped = Promise.withResolvers<void>();
    const helper = defineAgent({
      name: 'helper',
      description: 'Helps.',
      models: [
        rehearsalModel(({ prompt }) => {
          const isLastTurn = JSON.stringify(prompt.at(-1)).includes('system notice: ');
          return isLastTurn ? report() : { calls: [{ name: 'look' }] };
        }),
      ],
      tools: { look: () => stopped.promise.then(() => 'seen') },
      limits: { maxTurns: 4 },
    });
    const agent = defineAgent({
      name: 'root',
      models: [rehearsalModel([{ calls: [{ name: 'helper', input: task }] }, report()])],
      agents: { helper },
    });
    const told: SessionEvent[] = [];
    const session = startSession(agent, {
      prompt: 'Go.',
      logger: false,
      onEvent: async (event) => {
        told.push(event);
        if (event.type !== 'tool.started' || event.path.length > 0) return;
        for (let turn = 0; turn < after; turn += 1) await new Promise(setImmediate);
        session.stop();
        stopped.resolve();
      },
    });
    const result = await session.result;
    assertInvariants(result);
    const own = told.filter(({ path }) => path.join() === 'helper').map(({ type }) => type);
    expect([after, own.filter((type) => type === 'session.stopping')]).toEqual([after, ['session.stopping']]);
    const turns = own.filter((type) => type === 'turn.started').length;
    expect([after, turns <= 2]).toEqual([after, true]);
    const helped = counters({
      turns,
      attempts: turns,
      tokens: tokensOf(turns),
      costUsd: null,
      toolCalls: { requested: turns, executed: turns - 1, succeeded: turns - 1, acknowledged: 1, answered: turns },
      reports: { attempted: 1 },
      notices: 1,
      collapses: 1,
      tree: { costUsd: null },
    });
    const tree = { sessions: 2, requests: 2 + turns, toolCalls: 2 + turns, tokens: tokensOf(2 + turns), costUsd: null };
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        tokens: tokensOf(2),
        costUsd: null,
        toolCalls: { requested: 2, executed: 1, succeeded: 1, acknowledged: 1, answered: 2 },
        reports: { attempted: 1 },
        notices: 1,
        collapses: 1,
        subAgents: { helper: helped },
        tree,
      }),
    );
    const later = own.slice(own.indexOf('session.stopping')).filter((type) => type === 'turn.started');
    expect([after, later.length <= 1]).toEqual([after, true]);
  }
});
