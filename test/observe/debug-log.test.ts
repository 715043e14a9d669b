import { expect, it } from 'vitest';
import { counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

it('S-3: only turns, waits and collapses are DEBUG lines', async () => {
  const { result, lines } = await runOverWire({
    script: [searchCall, { status: 503 }, report(''), report()],
    definition: { tools: { search }, limits: { maxTurns: 5 } },
  });
  expect(result.counters).toEqual(
    counters({
      turns: 2,
      attempts: 4,
      failedAttempts: 2,
      notices: 2,
      collapses: 1,
      waits: 1,
      toolCalls: {
        requested: 3,
        answered: 3,
        executed: 1,
        succeeded: 1,
        acknowledged: 1,
        rejected: { final_report_missing: 1 },
      },
      reports: { attempted: 2, rejected: 1 },
      slugs: { provider_error: 1, final_report_missing: 1 },
      tokens: tokensOf(3),
      costUsd: null,
    }),
  );
  const said = lines.filter(({ level, event }) => level === 20 && event !== 'tool.threw').map(({ msg }) => msg);
  expect(said).toEqual([
    'turn 1 started',
    'turn 2 started',
    expect.stringMatching(/^waiting for scripted:scripted until 20/),
    'collapsed from 5 turns to 3: final_report_rejected',
  ]);
});
