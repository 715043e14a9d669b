import { describe, expect, it } from 'vitest';
import { defineAgent, runSession, sqliteJournal } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { counters, keptLog, report, tokensOf } from '../support/session.ts';

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
