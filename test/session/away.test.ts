import { expect, it } from 'vitest';
import type { SessionResult } from '../../src/index.ts';
import { Away } from '../../src/session/sub-agents/away.ts';

it('B-7: sub-agents that run elsewhere: their results are kept, and closing waits until all have ended', async () => {
  const ended = new Map<string, Promise<SessionResult>>();
  const away = new Away(ended);
  await away.close();
  away.begin('c0');
  away.begin('c1');
  let isClosed = false;
  const closed = away.close().then(() => {
    isClosed = true;
  });
  const result = { status: 'succeeded' } as SessionResult;
  away.end('c0', result);
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  // It was cancelled, so there is no result.
  away.end('c1', null);
  await closed;
  expect(await Promise.all(ended.values())).toEqual([result]);
  expect([...ended.keys()]).toEqual(['c0']);
  away.end('unknown', null);
  await away.close();
});
