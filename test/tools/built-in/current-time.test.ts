import { expect, it } from 'vitest';
import { callsIn, counters, report, runOverWire, tokensOf } from '../../support/session.ts';

it('builtIns.currentTime: the model reads the clock of the session, in its time zone', async () => {
  const call = (input: unknown) => ({ name: 'current_time', input });
  const { result, requests } = await runOverWire({
    script: [{ calls: [call({ timeZone: 'Asia/Tokyo' }), call({}), call({ timeZone: 'Mars/Olympus' })] }, report()],
    definition: { builtIns: { currentTime: true } },
  });
  expect(requests[0]?.body.tools?.map((tool) => tool.function?.name)).toContain('current_time');
  expect(callsIn(result).map(({ slug, result: { value } }) => [slug, value])).toEqual([
    [null, { local: 'Wednesday, 15 November 2023 at 07:13:20 GMT+9', utc: '2023-11-14T22:13:20.000Z' }],
    [null, { local: 'Tuesday, 14 November 2023 at 22:13:20 UTC', utc: '2023-11-14T22:13:20.000Z' }],
    ['invalid_tool_input', null],
    [null, null],
  ]);
  expect(result.counters).toEqual(
    counters({
      turns: 2,
      attempts: 2,
      toolCalls: {
        requested: 4,
        answered: 4,
        executed: 2,
        succeeded: 2,
        acknowledged: 1,
        rejected: { invalid_tool_input: 1 },
      },
      reports: { attempted: 1 },
      tokens: tokensOf(2),
      costUsd: null,
    }),
  );
});
