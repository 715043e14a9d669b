import { describe, expect, it } from 'vitest';
import { judgementOf } from '../../src/torture/judge.ts';
import { carryOut, LivedWorld, Refused, type Round, type Task, type World } from '../../src/torture/world.ts';
import { worlds } from '../../src/torture/worlds/index.ts';

const all = worlds.flatMap((world) => world.tasks.map((task) => ({ world, task })));
const done = { status: 'done', answer: '' } as const;

async function judgementAfter(world: World, task: Task, made: Round): Promise<string> {
  const lived = new LivedWorld(world);
  for (const { name, input } of made) {
    try {
      await lived.call(name, input);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }
  return judgementOf({ world, task, lived, end: done, requests: 1, maxRequests: 1 });
}

async function goldWorld(world: World, task: Task): Promise<LivedWorld> {
  const lived = new LivedWorld(world);
  await carryOut(task, lived);
  return lived;
}

it('a call that was made twice is noticed, in whatever order its fields come', async () => {
  const note = { name: 'note', description: 'Notes.', inputSchema: {} };
  const notes: unknown[] = [];
  const world: World = {
    ...{ name: 'notes', instructions: '', tools: [note], tasks: [] },
    begin: () => ({
      call: async (_, input) => notes.push(input),
      hash: async () => String(notes.length),
      close: async () => {},
    }),
  };
  const task = { id: 't', prompt: 't', rounds: [[{ name: 'note', input: { at: { x: 1, y: 2 } } }]], answer: 't' };
  const twice = [{ at: { x: 1, y: 2 } }, { at: { y: 2, x: 1 } }].map((input) => ({ name: 'note', input }));
  expect(await judgementAfter(world, task, twice)).toBe('twice');
});

describe('the worlds of the torture suite', () => {
  it('are four, with twenty tasks each, all with an id and a prompt of their own', () => {
    expect(worlds.map(({ name, tasks }) => [name, tasks.length])).toEqual([
      ['bank', 20],
      ['shop', 20],
      ['calendar', 20],
      ['repository', 20],
    ]);
    expect(new Set(all.map(({ task }) => task.id)).size).toBe(80);
    expect(new Set(all.map(({ task }) => task.prompt)).size).toBe(80);
  });

  it.each(all.map((one) => [one.task.id, one] as const))(
    '%s can be carried out; anything less, or done twice, is noticed',
    async (_, { world, task }) => {
      const calls = task.rounds.flat();
      const judged = (made: Round) => judgementAfter(world, task, made);
      expect(await judged(calls)).toBe('right');
      const { ledger } = await goldWorld(world, task);
      const effects = ledger.flatMap(({ isEffect }, index) => (isEffect ? [index] : []));
      expect(effects.length).toBeGreaterThan(0);
      for (const index of effects) {
        expect([index, await judged(calls.filter((_one, at) => at !== index))]).toEqual([index, 'claimed']);
        // A world refuses what it can see to be done; else it is done twice.
        const again = await judged(calls.flatMap((call, at) => (at === index ? [call, call] : [call])));
        expect(['twice', 'right']).toContain(again);
      }
    },
  );

  it('in all tasks but those that close an account, something can be done twice', async () => {
    const safe: string[] = [];
    for (const { world, task } of all) {
      const calls = task.rounds.flat();
      const judged = await Promise.all(calls.map((call) => judgementAfter(world, task, [...calls, call])));
      if (judged.every((judgement) => judgement === 'right')) safe.push(task.id);
    }
    expect(safe).toEqual(['bank-09', 'bank-10', 'bank-11', 'bank-12']);
  });

  it('calls of a round may come in any order, and at once', async () => {
    for (const { world, task } of all) {
      const lived = new LivedWorld(world);
      for (const round of task.rounds)
        await Promise.all(round.toReversed().map(({ name, input }) => lived.call(name, input)));
      expect([task.id, await lived.hash()]).toEqual([task.id, await (await goldWorld(world, task)).hash()]);
    }
  });

  it.each([
    ['a tool that is not there', 'fly', {}, 'there is no tool fly'],
    ['no object', 'get_account', 'ada-savings', 'the input is no object'],
    ['a field that is missing', 'transfer', { from: 'a', to: 'b', cents: 1 }, 'memo must be a string'],
    ['a field of another type', 'get_account', { account: ['ada-savings'] }, 'account must be a string'],
    ['a field that is not one', 'get_account', { account: 'ada-savings', more: 1 }, 'more is not a field'],
    ['what is not there', 'get_account', { account: '__proto__' }, 'there is no account __proto__'],
  ])('a call is refused, and changes nothing: %s', async (_, name, input, why) => {
    const lived = new LivedWorld(worlds[0] as (typeof worlds)[0]);
    const before = await lived.hash();
    await expect(lived.call(name, input)).rejects.toThrow(why);
    expect([await lived.hash(), lived.ledger]).toEqual([before, [{ name, input, error: why, isEffect: false }]]);
  });
});
