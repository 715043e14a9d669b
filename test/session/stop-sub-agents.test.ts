import { expect, it } from 'vitest';
import { defineAgent, type SessionEvent, startSession } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const task = { prompt: 'Help.', reason: 'To be quick.' };

it('D-2: a stop reaches a sub-agent that is just beginning: it reports on its next turn', async () => {
  // At each turn of the event loop after the call began; the sub-agent takes one to begin.
  for (const after of [0, 1, 2]) {
    const stopped = Promise.withResolvers<void>();
    let looked = 0;
    const helper = defineAgent({
      name: 'helper',
      description: 'Helps.',
      models: [
        rehearsalModel(() => {
          looked += 1;
          return looked < 4 ? { calls: [{ name: 'look' }] } : report();
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
    const later = own.slice(own.indexOf('session.stopping')).filter((type) => type === 'turn.started');
    expect([after, later.length <= 1]).toEqual([after, true]);
  }
});
