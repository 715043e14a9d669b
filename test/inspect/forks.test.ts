import { tool } from 'ai';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Agent } from '../../src/agent/definition.ts';
import { defineAgent, runSession } from '../../src/index.ts';
import { forkAt } from '../../src/inspect/live/fork.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const look = tool({ inputSchema: z.object({}), execute: () => 'found' });
const agentOf = (name = 'forked') =>
  defineAgent({
    name,
    models: [rehearsalModel([{ calls: [{ name: 'look', input: {} }] }, report()])],
    tools: { look },
  });

describe('S-8: a session is forked at a changed delivery', () => {
  let journal: MemoryJournal;
  let entries: JournalEntry[];
  /** The number of the delivery of the tool's result, and the delivery. */
  let place: number;
  let delivery: { key: string; at: number; chance: number; outcome: Record<string, unknown> };
  beforeEach(async () => {
    journal = new MemoryJournal();
    await runSession(agentOf(), { prompt: 'Go.', journal, sessionId: 's', logger: false, metadata: { of: 'me' } });
    entries = await journal.read('s');
    place =
      entries.findIndex((one) => one.type === 'delivered' && 'key' in one.delivery && /tool/.test(one.delivery.key)) +
      1;
    const found = entries[place - 1];
    if (found?.type !== 'delivered' || !('outcome' in found.delivery)) throw new Error('no delivery of a tool');
    delivery = found.delivery as typeof delivery;
  });
  const stop = () => ({ at: delivery.at, event: { type: 'session.stop' } });
  const fork = (change: unknown, agents: Agent[] = []) => forkAt(journal, agents, 's', change);
  const refused = async (change: unknown) => {
    const before = (await journal.list({})).length;
    const error = await fork(change).then(
      () => null,
      (problem) => problem,
    );
    expect(await journal.list({})).toHaveLength(before);
    return { code: error?.code, message: error?.message };
  };

  it('as a new session that names its origin; without its agent it is not resumed', async () => {
    const { sessionId, resumed } = await fork({ entry: place, delivery: stop() });
    expect(resumed).toBe(false);
    expect(sessionId).not.toBe('s');
    const forked = await journal.read(sessionId);
    const head = { ...(entries[0] as Extract<JournalEntry, { type: 'started' }>).head };
    expect(forked[0]).toEqual({
      ...entries[0],
      head: { ...head, sessionId, metadata: { of: 'me' }, fork: { of: 's', entries: place + 1 } },
    });
    expect(forked.slice(1, place - 1)).toEqual(entries.slice(1, place - 1));
    expect(forked[place - 1]).toMatchObject({ type: 'delivered', delivery: stop() });
    expect(forked[place]).toMatchObject({
      type: 'stepped',
      facts: [{ type: 'session.stopping' }, { type: 'session.collapsed' }],
    });
    expect(await journal.read('s')).toEqual(entries);
    expect(await journal.list({ sessionId })).toMatchObject([{ status: 'suspended', metadata: { of: 'me' } }]);
  });

  it('with its agent given, it is resumed and goes on', async () => {
    const { sessionId, resumed } = await fork({ entry: place, delivery: stop() }, [agentOf('other'), agentOf()]);
    expect(resumed).toBe(true);
    const last = async () => (await journal.list({ sessionId }))[0]?.status;
    while ((await last()) === 'running') await new Promise((resolve) => setImmediate(resolve));
    expect(await last()).toBe('succeeded');
  });

  it('nothing is kept of one that cannot be resumed', async () => {
    const agent = defineAgent({ name: 'forked', models: [rehearsalModel([report()])], finish: 'text' });
    await expect(fork({ entry: place, delivery: stop() }, [agent])).rejects.toMatchObject({ code: 'agent_changed' });
    expect(await journal.list({})).toHaveLength(1);
  });

  it.each([
    ['abort', { type: 'session.abort', reason: 'why' }],
    ['steer', { type: 'session.steer', text: 'Left.' }],
  ])('a command may come before it: %s', async (_, event) => {
    const { sessionId } = await fork({ entry: place, delivery: { at: delivery.at, event } });
    expect((await journal.read(sessionId))[place - 1]).toMatchObject({ delivery: { event } });
  });

  it('another outcome of the same effect may take its place', async () => {
    const outcome = { ...delivery.outcome, output: { type: 'text', value: 'other' } };
    const { sessionId } = await fork({ entry: place, delivery: { ...delivery, outcome } });
    expect((await journal.read(sessionId))[place - 1]).toMatchObject({ delivery: { key: delivery.key, outcome } });
  });

  it.each<[string, () => unknown, string]>([
    ['no change', () => undefined, 'change'],
    [
      'a number that is none',
      () => ({ entry: 'x', delivery: stop() }),
      '`change.entry` must be the number of a delivery; got "x".',
    ],
    [
      'a number of another entry',
      () => ({ entry: 1, delivery: stop() }),
      '`change.entry` must be the number of a delivery; got 1.',
    ],
    [
      'a number after the last',
      () => ({ entry: 999, delivery: stop() }),
      '`change.entry` must be the number of a delivery; got 999.',
    ],
    [
      'an unknown command',
      () => ({ entry: place, delivery: { at: 1, event: { type: 'session.x' } } }),
      '`change.delivery` must be a delivery: the key and outcome of an effect, or a command',
    ],
    [
      'a chance of 1',
      () => ({ entry: place, delivery: { ...delivery, chance: 1 } }),
      '`change.delivery.chance` must be a number from 0 to less than 1; got 1.',
    ],
    [
      'another key',
      () => ({ entry: place, delivery: { ...delivery, key: 'close' } }),
      '`change.delivery.key` must be the key of the delivery that is changed; got a string.',
    ],
    [
      'an outcome that lacks fields',
      () => ({ entry: place, delivery: { ...delivery, outcome: { slug: null } } }),
      'must be an outcome with result',
    ],
    ['a field too many', () => ({ entry: place, delivery: stop(), more: 1 }), 'more'],
  ])('%s is refused, and nothing is written', async (_, change, message) => {
    expect(await refused(change())).toEqual({ code: 'invalid_options', message: expect.stringContaining(message) });
  });

  it('a session that is not there, and a run, have no fork', async () => {
    await expect(forkAt(journal, [], 'other', { entry: 1 })).rejects.toMatchObject({ code: 'session_unknown' });
    await journal.create(
      { sessionId: 'run', agent: 'workflow', metadata: {} },
      {
        owner: 'o',
        entries: [{ scope: '', type: 'run', head: { sessionId: 'run' } as never }],
      },
    );
    await expect(forkAt(journal, [], 'run', { entry: 1 })).rejects.toMatchObject({ code: 'session_unknown' });
  });
});
