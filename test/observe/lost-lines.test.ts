import { expect, it, vi } from 'vitest';
import { defineAgent, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, report, reportedAtOnce, tokensOf } from '../support/session.ts';

vi.mock('pino', () => {
  const destination = () => {
    throw new Error('no pino');
  };
  return { default: Object.assign(() => destination(), { destination }) };
});

it('O-1: log lines that cannot be written are reported by the last event', async () => {
  const agent = defineAgent({ name: 'heard', models: [rehearsalModel([{ text: '' }, report()])] });
  const session = startSession(agent, { prompt: 'Go.' });
  const events: object[] = [];
  for await (const event of session.events) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: 'observer.failed', observer: 'logger', message: 'no pino' });
  const result = await session.result;
  expect(result.success).toBe(true);
  const failed = { attempts: 2, failedAttempts: 1, notices: 1, requests: 2, slugs: { empty_response: 1 } };
  expect(result.counters).toEqual(counters({ ...reportedAtOnce, ...failed, tokens: tokensOf(2) }));
});
