import { expect, it, vi } from 'vitest';
import { defineAgent, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, report, reportedAtOnce, tokensOf } from '../support/session.ts';

vi.mock('../../src/observe/log/logger.ts', async (importActual) => ({
  ...(await importActual<object>()),
  linesWritten: () => Promise.reject(new Error('no pino')),
}));

it('O-1: log lines that cannot be written are reported by the last event', async () => {
  const agent = defineAgent({ name: 'heard', models: [rehearsalModel([report()])] });
  const session = startSession(agent, { prompt: 'Go.', logger: false });
  const events: object[] = [];
  for await (const event of session.events) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: 'observer.failed', observer: 'logger', message: 'no pino' });
  const result = await session.result;
  expect(result.success).toBe(true);
  expect(result.counters).toEqual(counters({ ...reportedAtOnce, tokens: tokensOf(1) }));
});
