import { describe, expect, it } from 'vitest';
import {
  defineAgent,
  readSession,
  replaySession,
  resumeSession,
  runSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { leaking, odd } from '../support/mcp.ts';
import { counters, keptLog, report, run, tokensOf } from '../support/session.ts';

const secret = 'sk-kept-nowhere-0123456789';

describe('S-5: no secret is written down', () => {
  it('with a defect in the code of an effect, nor with a listener that breaks', async () => {
    const model = rehearsalModel([report()]);
    let breaks = false;
    const odd = Object.defineProperty({ ...model }, 'provider', {
      get: () => {
        if (!breaks) return 'odd';
        breaks = false;
        throw new Error(`no provider: ${secret}`);
      },
    });
    const agent = defineAgent({ name: 'odd', models: [odd], secrets: [secret] });
    breaks = true;
    const journal = sqliteJournal(':memory:');
    const { lines, logger } = keptLog();
    const result = await runSession(agent, {
      prompt: 'Go.',
      journal,
      sessionId: 's',
      logger,
      onEvent: ({ type }) => {
        if (type === 'attempt.started') throw new Error(`the listener broke: ${secret}`);
      },
    });
    assertInvariants(result);
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        tokens: tokensOf(1),
        costUsd: null,
        toolCalls: { requested: 1, acknowledged: 1, answered: 1 },
        reports: { attempted: 1 },
        notices: 1,
        slugs: { internal_error: 1 },
        tree: { toolCalls: 1, costUsd: null },
      }),
    );
    const entries = await journal.read('s');
    const written = JSON.stringify(entries);
    expect(written).toContain('no provider: ');
    expect(written).toContain('the listener broke: ');
    expect([written, JSON.stringify(lines), JSON.stringify(result)].filter((text) => text.includes(secret))).toEqual(
      [],
    );
    await journal.close();
  });
});

describe('S-5: who resumes or replays a session sees no secret', () => {
  it('D-4: the error of a session that cannot be resumed shows none', async () => {
    const journal = sqliteJournal(':memory:');
    const define = (server: object) => ({
      ...{ name: 'resumed', models: [rehearsalModel([{ hangs: true }])] },
      mcpServers: { db: server as never },
    });
    const session = startSession(defineAgent(define(odd())), { prompt: 'Go.', journal, sessionId: 's', logger: false });
    for await (const { type } of session.events) if (type === 'attempt.started') break;
    await session.suspend({ graceMs: 0 });
    const resumed = resumeSession(defineAgent(define(leaking(secret))), { journal, sessionId: 's', logger: false });
    await expect(resumed).rejects.toMatchObject({ code: 'tools_unavailable' });
    await expect(resumed).rejects.toThrow('[redacted]');
    await expect(resumed).rejects.not.toThrow(secret);
    await journal.close();
  });

  it('D-6: a replay removes them as JSON writes them too, and ignores an empty one', async () => {
    const journal = sqliteJournal(':memory:');
    const model = rehearsalModel([{ calls: [{ name: 'q', input: { p: 'pa"ss/word-1' } }] }, report()]);
    const agent = defineAgent({ name: 'a', models: [model], tools: { q: () => 1 } });
    await run({ agent, options: { journal, sessionId: 's' } });
    const { events } = await replaySession(journal, 's', { secrets: ['pa"ss/word-1', ''] });
    expect(events[0]?.type).toBe('session.started');
    expect(JSON.stringify(events)).not.toContain('ss/word-1');
    expect(JSON.stringify((await readSession(journal, 's', { secrets: ['pa"ss/word-1'] })).events)).not.toContain(
      'ss/word',
    );
    await journal.close();
  });
});
