import { describe, expect, it } from 'vitest';
import {
  type AgentDefinition,
  defineAgent,
  resumeSession,
  runSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { freshFile, until } from '../support/journaled.ts';
import { keptLog } from '../support/session.ts';

const quiet = { prompt: 'Go.', logger: false } as const;
const reported = (content: string) => ({ calls: [{ name: 'final_report', input: { content } }] });

/** An agent that asks its sub-agent these prompts in one reply; `asked` holds what reached the sub-agent. */
function asking(
  prompts: readonly string[],
  of: Partial<AgentDefinition> = {},
  gate: () => Promise<void> = async () => {},
) {
  const asked: string[] = [];
  const inner = rehearsalModel(async ({ prompt }) => {
    const [, about = ''] = /"text":"(About [^"]*)"/.exec(JSON.stringify(prompt)) ?? [];
    asked.push(about);
    await gate();
    return about === 'About nothing' ? { text: '' } : reported(`${about}: ${asked.length}`);
  });
  const helper = defineAgent({
    ...{ name: 'helper', models: [inner], limits: { maxTurns: 1, maxRetries: 1 }, cache: { ttlMs: 1_000 } },
    ...of,
  });
  const calls = prompts.map((prompt, index) => ({ name: 'help', input: { prompt, reason: `Because ${index}.` } }));
  const outer = rehearsalModel(({ prompt }) =>
    JSON.stringify(prompt).includes('tool-result') ? reported('done') : { calls },
  );
  return { asked, agent: defineAgent({ name: 'asker', models: [outer], agents: { help: helper } }) };
}

describe('C-9c: the reports of a sub-agent that are used again', () => {
  it('by the prompt alone, until their time is over, without a request; one run for calls at once', async () => {
    const clock = manualClock();
    const { agent, asked } = asking(['About cats', 'About cats', 'About dogs']);
    const first = await runSession(agent, { ...quiet, clock });
    assertInvariants(first);
    expect(asked.toSorted()).toEqual(['About cats', 'About dogs']);
    expect([first.counters.cacheHits, first.counters.tree.requests, first.counters.tree.sessions]).toEqual([1, 4, 3]);
    clock.advance(999);
    const second = await runSession(agent, { ...quiet, clock });
    assertInvariants(second);
    expect([second.counters.cacheHits, second.counters.tree.requests, second.counters.tree.sessions]).toEqual([
      3, 2, 1,
    ]);
    expect(JSON.stringify(second.conversation)).toContain('About cats: ');
    clock.advance(2);
    const third = await runSession(agent, { ...quiet, clock });
    expect([third.counters.cacheHits, asked.length]).toEqual([1, 4]);
  });

  it('not those of sessions that failed', async () => {
    const { agent, asked } = asking(['About nothing']);
    for (let times = 0; times < 2; times += 1)
      expect(JSON.stringify((await runSession(agent, quiet)).conversation)).toContain('The agent helper failed');
    expect(asked).toHaveLength(2);
  });

  it('only by a `key` in a session with a context, which a sub-agent may read', async () => {
    const { agent, asked } = asking(['About cats']);
    for (let times = 0; times < 2; times += 1) await runSession(agent, { ...quiet, context: { user: 'ada' } });
    expect(asked).toHaveLength(2);
    const keyed = asking(['About cats'], {
      cache: { ttlMs: 1_000, key: (input, context) => JSON.stringify([input, context]) },
    });
    for (const user of ['ada', 'bob', 'ada']) await runSession(keyed.agent, { ...quiet, context: { user } });
    expect(keyed.asked).toHaveLength(2);
  });

  it('but a sub-agent that had begun goes on, whatever is kept meanwhile', async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    let isHeld = true;
    const { agent, asked } = asking(['About cats'], {}, () => (isHeld ? held : Promise.resolve()));
    const journal = sqliteJournal(freshFile());
    const session = startSession(agent, { ...quiet, journal, sessionId: 's' });
    await until(() => asked.length === 1);
    await session.suspend({ graceMs: 0 });
    isHeld = false;
    letGo();
    await runSession(agent, quiet);
    expect(asked).toHaveLength(2);
    const again = await resumeSession(agent, { journal, sessionId: 's', logger: false });
    const result = await again.result;
    expect([result.status, result.counters.cacheHits, result.counters.tree.sessions]).toEqual(['succeeded', 0, 2]);
    await journal.close();
  });

  it.each(['stop', 'abort'] as const)(
    'a call that waits for another session’s run does not outlast a %s',
    async (how) => {
      const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
      let count = 0;
      const { agent, asked } = asking(['About cats'], {}, () => {
        count += 1;
        return count === 1 ? held : Promise.resolve();
      });
      const first = startSession(agent, quiet);
      await until(() => asked.length === 1);
      const second = startSession(agent, quiet);
      await until(() => second.counters.toolCalls.requested === 1);
      if (how === 'stop') second.stop();
      else second.abort();
      const result = await second.result;
      assertInvariants(result);
      expect(result.status).toBe(how === 'stop' ? 'succeeded' : 'aborted');
      // What is stopped asks for itself, and what is aborted asks no more.
      expect(asked.length).toBe(how === 'stop' ? 2 : 1);
      letGo();
      expect((await first.result).status).toBe('succeeded');
      expect(asked.length).toBe(how === 'stop' ? 2 : 1);
    },
  );

  it('a store that throws fails no call, and an event reports it', async () => {
    const broken = () => {
      throw new Error('the disk is full');
    };
    const { agent, asked } = asking(['About cats'], { cache: { ttlMs: 1_000, store: { get: broken, set: broken } } });
    const { lines, logger } = keptLog();
    const result = await runSession(agent, { prompt: 'Go.', logger });
    expect([result.status, asked.length]).toEqual(['succeeded', 1]);
    expect(lines.filter((line) => JSON.stringify(line).includes('the disk is full'))).toHaveLength(2);
    expect(JSON.stringify(result.conversation)).toContain('About cats: 1');
  });

  it('and a cache that cannot be is refused', () => {
    expect(() => asking([], { cache: { ttlMs: -1 } })).toThrow('`cache.ttlMs` must be');
  });
});
