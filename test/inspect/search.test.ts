import { describe, expect, it } from 'vitest';
import { defineAgent, runSession, startSession } from '../../src/index.ts';
import { readQuery } from '../../src/inspect/live/query.ts';
import { SessionIndex } from '../../src/inspect/live/search.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const sessions: Record<string, { agent: string; replies: RehearsedReply[]; prompt: string }> = {
  plain: { agent: 'one', replies: [report('All is well.')], prompt: 'Look after the "red" boat.' },
  unknown: { agent: 'one', replies: [{ calls: [{ name: 'nope', input: {} }] }, report()], prompt: 'Cancel it.' },
  collapsed: { agent: 'two', replies: [report(' '), report('The second one.')], prompt: 'Cancellation of the boat.' },
  failed: { agent: 'two', replies: [{}, {}, {}], prompt: 'sk-proj-0123456789abcdefghij is the key.' },
};

async function indexed(): Promise<SessionIndex> {
  const journal = new MemoryJournal();
  for (const [sessionId, { agent: name, replies, prompt }] of Object.entries(sessions)) {
    const agent = defineAgent({ name, models: [rehearsalModel(replies)] });
    await runSession(agent, { prompt, journal, sessionId, logger: false });
  }
  return new SessionIndex(journal, () => []);
}

describe('S-8: a search over all sessions', () => {
  it.each([
    ['boat', ['plain', 'collapsed']],
    ['cancel', ['unknown', 'collapsed']],
    ['"second one"', ['collapsed']],
    ['"red"', ['plain']],
    ['slug:retries_exhausted', ['failed']],
    ['rule:B-4', ['collapsed']],
    ['rule:B-3', ['failed']],
    ['tool:nope', ['unknown']],
    ['tool:NOPE', ['unknown']],
    ['target:rehearsal:script', ['plain', 'unknown', 'collapsed', 'failed']],
    ['agent:two boat', ['collapsed']],
    ['status:failed', ['failed']],
    ['since:1h', ['plain', 'unknown', 'collapsed', 'failed']],
    ['boat agent:one slug:unknown_tool', []],
    ["'; DROP TABLE sessions; --", []],
    ['sk-proj', []],
    ['"', []],
  ])('%s', async (text, expected) => {
    const index = await indexed();
    await index.follow();
    const { hits, total, indexed: read } = index.search(text);
    expect(hits.map(({ sessionId }) => sessionId).sort()).toEqual(expected.sort());
    expect([total, read]).toEqual([expected.length, 4]);
    index.close();
  });

  it('reports how many sessions it has indexed, and finds later ones', async () => {
    const index = await indexed();
    expect(index.search('boat')).toEqual({ hits: [], total: 0, indexed: 0, sessions: 0 });
    await index.follow();
    expect(index.search('boat')).toMatchObject({ total: 2, indexed: 4, sessions: 4 });
    expect(index.search('second').hits).toEqual([
      { sessionId: 'collapsed', snippet: expect.stringContaining('[second]') },
    ]);
    index.close();
  });

  it('follows what was deleted, and a session whose process died', async () => {
    const journal = new MemoryJournal({ leaseMs: 20 });
    const hanging = rehearsalModel([{ hangs: true }]);
    for (const sessionId of ['dies', 'goes']) {
      const agent = defineAgent({ name: 'one', models: [sessionId === 'dies' ? hanging : rehearsalModel([report()])] });
      const session = startSession(agent, { prompt: 'Look after the boat.', journal, sessionId, logger: false });
      if (sessionId === 'goes') await session.result;
    }
    const index = new SessionIndex(journal, () => []);
    await index.follow();
    expect(index.search('boat').total).toBe(2);
    await index.follow();
    await journal.delete('goes');
    // A lease that nothing renews runs out.
    journal.renew = () => Promise.resolve(false);
    await expect.poll(async () => (await journal.list({ sessionId: 'dies' }))[0]?.status).toBe('suspended');
    await index.follow();
    expect(index.search('boat')).toMatchObject({ hits: [{ sessionId: 'dies' }], indexed: 1, sessions: 1 });
    await index.follow();
    expect(index.search('status:running').total).toBe(0);
    expect(index.search('status:suspended').total).toBe(1);
    index.close();
  });

  it('shows of each hit its own text, also after sessions were deleted and indexed again', async () => {
    const journal = new MemoryJournal();
    const animals = ['ant', 'bee', 'cat', 'dog', 'eel'];
    const say = (animal: string) =>
      runSession(defineAgent({ name: 'one', models: [rehearsalModel([report()])] }), {
        ...{ prompt: `Look after the ${animal} boat.`, journal, sessionId: animal, logger: false },
      });
    for (const animal of animals) await say(animal);
    const index = new SessionIndex(journal, () => []);
    await index.follow();
    const snippets = () => index.search('boat').hits.map(({ sessionId, snippet }) => [sessionId, snippet]);
    const expected = (all: readonly string[]) =>
      all.map((animal) => [animal, expect.stringContaining(`Look after the ${animal} [boat].`)]);
    expect(snippets().toSorted()).toEqual(expected(animals));
    for (const animal of ['bee', 'dog']) await journal.delete(animal);
    await say('fox');
    await index.follow();
    expect(snippets().toSorted()).toEqual(expected(['ant', 'cat', 'eel', 'fox']));
    index.close();
  });

  it.each(['slug:%', 'slug:_', 'bo\0at', 'boat\0'])('no sign means anything to the database: %j', async (text) => {
    const index = await indexed();
    await index.follow();
    expect(index.search(text).total).toBe(text === 'boat\0' ? 2 : 0);
    await index.follow();
    index.close();
  });

  it('S-5: shows no secret, even one that is configured with the line break of its file', async () => {
    const journal = new MemoryJournal();
    const agent = defineAgent({ name: 'one', models: [rehearsalModel([report('orchid.summit.42 it is.')])] });
    await runSession(agent, { prompt: 'Look.', journal, sessionId: 's', logger: false });
    const index = new SessionIndex(journal, () => ['orchid.summit.42\n']);
    await index.follow();
    expect(index.search('orchid').total).toBe(0);
    expect(JSON.stringify(index.search('look'))).not.toContain('orchid');
    expect(index.search('look').total).toBe(1);
    index.close();
  });

  it('the error for an invalid query names the problem', () => {
    const read = (text: string) => () => readQuery(text, 0);
    expect(read('colour:red')).toThrow(
      '`search` must be agent:, slug:, status:, target:, tool:, rule: or since:; got "colour:".',
    );
    expect(read('since:soon')).toThrow(
      '`since` must be a number of minutes, hours or days, such as 30m, 2h or 1d; got "soon".',
    );
    expect(read('constructor:x')).toThrow('got "constructor:"');
    expect(read('rule:constructor')).toThrow('`rule` must be');
    expect(read('rule:C-1')).toThrow('`rule` must be one that leaves a fact: B-3, B-4');
    expect(readQuery('since:2h', 10_000_000).since).toBe(2_800_000);
  });
});
