import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, type JournalEntry, runSession, sqliteJournal } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type RehearsedReply, rehearsalModel, verifySessions } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { pawl } from '../support/pawl.ts';
import { report } from '../support/session.ts';

const work = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => `found ${q}` });
const asks = (q: string) => ({ calls: [{ name: 'work', input: { q } }] });
const agent = (replies: RehearsedReply[], definition: Partial<AgentDefinition> = {}) =>
  defineAgent({ name: 'clerk', models: [rehearsalModel(replies)], tools: { work }, ...definition });

async function journalOf(...all: [string, ReturnType<typeof agent>, object?][]) {
  const journal = new MemoryJournal();
  for (const [sessionId, one, options] of all)
    await runSession(one, { prompt: 'Go.', journal, sessionId, logger: false, ...options });
  return journal;
}

const verified = async (journal: MemoryJournal, options = {}) => {
  const found = [];
  for await (const one of verifySessions(journal, options)) found.push(one);
  return found;
};

/** A journal that holds a session of another with its entries changed. */
async function tampered(change: (text: string) => string, one = agent([{}, asks('a'), report()])) {
  const entries = await (await journalOf(['s', one])).read('s');
  const [row] = await (await journalOf(['s', one])).list({});
  const changed: JournalEntry[] = JSON.parse(change(JSON.stringify(entries)));
  const journal = new MemoryJournal();
  const append = {
    owner: 'x',
    entries: changed,
    change: { status: row?.status as 'succeeded', slugs: row?.slugs ?? [] },
  };
  await journal.create({ sessionId: 's', agent: 'clerk', metadata: {} }, append);
  return (await verified(journal))[0]?.broken;
}

describe('S-4: recorded sessions are verified', () => {
  it('of every ending, with sub-agents, refusals and collapses: all promises are kept', async () => {
    const helper = agent([{}, asks('b'), report('Helped.')], { name: 'helper' });
    const journal = await journalOf(
      ['succeeded', agent([{}, asks('a'), { calls: [{ name: 'nope' }] }, report()])],
      ['failed', agent([asks('a'), {}, { text: 'half', finishReason: 'length' }], { limits: { maxRetries: 2 } })],
      ['aborted', agent([]), { signal: AbortSignal.abort('enough') }],
      [
        'above',
        agent([{ calls: [{ name: 'helper', input: { prompt: 'p', reason: 'r' } }] }, report()], { agents: { helper } }),
      ],
      ['text', agent([{ text: 'Hello.' }], { finish: 'text', tools: {} })],
    );
    const found = await verified(journal);
    expect(found.map(({ sessionId, status, broken }) => [sessionId, status, broken]).toSorted()).toEqual([
      ['aborted', 'aborted', []],
      ['above', 'succeeded', []],
      ['failed', 'failed', []],
      ['succeeded', 'succeeded', []],
      ['text', 'succeeded', []],
    ]);
    expect(await verified(journal, { sessionId: 'text' })).toHaveLength(1);
    await expect(verified(journal, { sesionId: 'x' })).rejects.toThrow('sessionId');
  });

  it.each<[string, (text: string) => string, RegExp]>([
    ['a bound that was smaller', (text) => text.replaceAll('"maxTurns":10', '"maxTurns":1'), /these machines say/],
    ['tokens that were not reported', (text) => text.replace('"input":10,', '"input":11,'), /^$/],
    [
      'a call that was answered twice',
      (text) => text.replace('"executed":true', '"executed":false'),
      /these machines say/,
    ],
    ['an entry that cannot be read', (text) => text.replace('"delivery":', '"deliv":'), /^Entry 4/],
  ])('%s is found, or decides the same', async (_what, change, sentence) => {
    expect((await tampered(change))?.join('; ')).toMatch(sentence);
  });

  it('pawl verify says so of a file, with its exit code', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    await runSession(agent([{}, asks('a'), report()]), { prompt: 'Go.', journal, sessionId: 's-1', logger: false });
    await runSession(agent([asks('a'), report()]), { prompt: 'Go.', journal, sessionId: 's-2', logger: false });
    await journal.close();
    expect(await pawl(['verify', '--journal', file])).toMatchObject({
      code: 0,
      stdout: '2 sessions verified: every promise is kept.\n',
    });
    const one = await pawl(['verify', '--journal', file, '--json', 's-2']);
    expect(JSON.parse(one.stdout)).toEqual({ sessionId: 's-2', agent: 'clerk', status: 'succeeded', broken: [] });
    expect((await pawl(['verify', '--journal', file, 's-1', 's-2'])).code).toBe(2);
  });
});
