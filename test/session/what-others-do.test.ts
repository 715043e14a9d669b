import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type AgentDefinition,
  defineAgent,
  replaySession,
  resumeSession,
  runSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { counters, report, reportedAtOnce, tokensOf } from '../support/session.ts';

const logger = false as const;
const call = (name: string, input: object = {}) => ({ calls: [{ name, input }] });

/** An agent whose model gives these replies, by how many it has given in the conversation. */
function scripted(replies: object[], over: Partial<AgentDefinition> = {}) {
  const model = rehearsalModel(
    ({ prompt }) =>
      replies[Math.min(prompt.filter(({ role }) => role === 'assistant').length, replies.length - 1)] ?? {},
  );
  return { model, agent: defineAgent({ name: 'clerk', models: [model], ...over }) };
}

describe('B-2, D-3: what others do with what a session gives them', () => {
  it.each(['debug', 'info', 'warn', 'error'] as const)(
    'a logger whose %s() rejects is told by an event',
    async (level) => {
      const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
      const failing = { ...quiet, [level]: async () => Promise.reject(new Error('the log is full')) };
      const { agent } = scripted([{}], { limits: { maxTurns: 1, maxRetries: 1 } });
      const told: SessionEvent[] = [];
      const session = startSession(agent, {
        prompt: 'Go.',
        logger: failing,
        onEvent: (event) => void told.push(event),
      });
      if (level === 'info') session.abort();
      const result = await session.result;
      assertInvariants(result);
      await expect
        .poll(() => told.filter(({ type }) => type === 'observer.failed'))
        .toContainEqual(expect.objectContaining({ observer: 'logger', message: 'the log is full' }));
    },
  );

  it('a listener may change its events: the session, its journal and its result stay as they were', async () => {
    const paid: unknown[] = [];
    const schema = z.object({ n: z.number() });
    const { agent, model } = scripted([{ text: 'My card is 42.', ...call('pay', { card: '42' }) }, report({ n: 1 })], {
      tools: { pay: (input) => `paid 42 ${paid.push(input)}` },
      report: { format: 'json', schema },
    });
    const journal = sqliteJournal(':memory:');
    /** Masks all that it finds. */
    const mask = (value: unknown): void => {
      if (typeof value !== 'object' || value === null || !Object.isExtensible(value)) return;
      for (const [name, item] of Object.entries(value)) {
        if (typeof item === 'object') mask(item);
        else if (typeof item === 'string' && item.includes('42')) Object.assign(value, { [name]: '***' });
        else if (item === 1 && name === 'n') Object.assign(value, { n: 99 });
      }
    };
    const onEvent = (event: SessionEvent) => {
      mask(event);
      if (event.type === 'attempt.replied' && event.reply !== null) event.reply.content.length = 0;
    };
    const result = await runSession(agent, { prompt: 'Pay.', journal, sessionId: 's', logger, onEvent });
    assertInvariants(result);
    expect([paid, result.report.content]).toEqual([[{ card: '42' }], { n: 1 }]);
    const sent = JSON.stringify(model.requests.at(-1)?.prompt);
    for (const text of ['My card is 42.', '"card":"42"', 'paid 42']) expect(sent).toContain(text);
    const again = await (await resumeSession(agent, { journal, sessionId: 's', logger })).result;
    expect(again).toEqual(result);
    await journal.close();
  });

  it('steering after the last event is refused, and in no account', async () => {
    const { agent } = scripted([{}], { limits: { maxTurns: 1, maxRetries: 1 } });
    const journal = sqliteJournal(':memory:');
    const steered: boolean[] = [];
    const session = startSession(agent, {
      ...{ prompt: 'Go.', journal, sessionId: 's', logger },
      onEvent: ({ type }) => {
        if (type === 'session.failed') queueMicrotask(() => steered.push(session.steer('One more thing.')));
      },
    });
    const { conversation } = await session.result;
    expect([steered, JSON.stringify(conversation)]).toEqual([[false], expect.not.stringContaining('One more')]);
    expect((await replaySession(journal, 's')).conversation).toEqual(conversation);
    await journal.close();
  });
});

it.each([
  ['failed', {}],
  ['succeeded', report()],
])(
  'D-3: a session that %s in a step that was delivered, but not taken, tells its end when it is resumed',
  async (status, reply) => {
    const { agent } = scripted([reply], { limits: { maxTurns: 1, maxRetries: 1 } });
    const [whole, cut] = [sqliteJournal(':memory:'), sqliteJournal(':memory:')];
    const result = await runSession(agent, { prompt: 'Go.', journal: whole, sessionId: 's', logger });
    const entries = await whole.read('s');
    const end = entries.findLastIndex(({ type }) => type === 'delivered') + 1;
    const session = { sessionId: 's', agent: 'clerk', metadata: {} };
    await cut.create(session, { owner: 'dead', entries: entries.slice(0, end), change: {} });
    await cut.release('s', 'dead');
    const told: string[] = [];
    const onEvent = ({ type }: SessionEvent) => void told.push(type);
    const resumed = await (await resumeSession(agent, { journal: cut, sessionId: 's', logger, onEvent })).result;
    expect(resumed).toEqual(result);
    expect(told.at(-1)).toBe(`session.${status}`);
    expect(told.filter((type) => type === `session.${status}`)).toHaveLength(1);
    for (const journal of [whole, cut]) await journal.close();
  },
);

describe('T-6, T-8: what the model is told of a long result', () => {
  const long = () => 'word '.repeat(500);
  it.each([
    ['only the first agent', true, false, false],
    ['only the second agent', false, true, false],
    ['both', true, true, true],
  ])('read_result is named if every agent has it: %s', async (_, first, second, isNamed) => {
    const other = scripted([{}, {}, report()], { name: 'other', builtIns: { readResult: second } });
    const { agent } = scripted([call('look'), call('transfer_to_other'), {}], {
      ...{ tools: { look: long }, handoffs: { other: other.agent }, limits: { toolResultBytes: 400 } },
      builtIns: { readResult: first },
    });
    const result = await runSession(agent, { prompt: 'Go.', logger });
    assertInvariants(result);
    expect(result.success).toBe(true);
    expect(JSON.stringify(result.conversation).includes('read_result')).toBe(isNamed);
  });

  it('a turn that has no permitted model names its agent', async () => {
    const other = scripted([report()], { name: 'other', models: [rehearsalModel([report()], { modelId: 'b' })] });
    const { agent } = scripted([report()], { handoffs: { other: other.agent } });
    const result = await runSession(agent, { prompt: 'Go.', models: ['rehearsal:b'], logger });
    expect(result).toMatchObject({ status: 'failed', slugs: ['turn_not_prepared'] });
    expect(result.failure?.detail).toBe(
      'The choice of a model failed before turn 1: this session permits none of the models of clerk',
    );
  });
});

it('C-6: a conversation without any content is refused', async () => {
  const { agent } = scripted([report()]);
  for (const content of ['', []])
    expect(() => startSession(agent, { messages: [{ role: 'user', content }], logger })).toThrow(
      expect.objectContaining({
        code: 'invalid_messages',
        message: '`messages` must hold at least one message with content; got none.',
      }),
    );
  const result = await runSession(agent, {
    messages: [
      { role: 'user', content: '' },
      { role: 'user', content: 'Go.' },
    ],
    logger,
  });
  expect(result.counters).toEqual(counters({ ...reportedAtOnce, tokens: tokensOf(1) }));
});

it('B-7: a session without a request budget is not resumed with sub-agents', async () => {
  const journal = sqliteJournal(':memory:');
  const { agent } = scripted([report()]);
  for (const [sessionId, budget] of [
    ['s', {}],
    ['limited', { requests: 5 }],
  ] as const) {
    const hanging = defineAgent({ ...agent.definition, models: [rehearsalModel([{ hangs: true }])] });
    const session = startSession(hanging, { prompt: 'Go.', journal, sessionId, budget, logger });
    await session.suspend({ graceMs: 0 });
  }
  const grown = defineAgent({ ...agent.definition, agents: { kid: scripted([report()], { name: 'kid' }).agent } });
  await expect(resumeSession(grown, { journal, sessionId: 's', logger })).rejects.toMatchObject({
    code: 'agent_changed',
    message: expect.stringContaining('the sub-agents: was none, is ["kid"]'),
  });
  expect((await (await resumeSession(grown, { journal, sessionId: 'limited', logger })).result).success).toBe(true);
  await journal.close();
});
