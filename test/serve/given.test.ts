import { describe, expect, it } from 'vitest';
import { defineAgent, PawlError } from '../../src/index.ts';
import { answerFor, givenBy, requestCopy } from '../../src/serve/given.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { keptLog } from '../support/session.ts';

const agent = defineAgent({ name: 'plain', models: [rehearsalModel([{}])] });
const request = () => new Request('http://localhost/', { method: 'POST', body: '{"a":1}' });
const none = () => undefined;

describe('the request that a server reads', () => {
  it('is a copy if the application may read it, too, and the request itself if not', async () => {
    for (const options of [{ context: none }, { metadata: () => ({}) }, { authorize: none }]) {
      const given = request();
      const own = requestCopy(given, options);
      expect([own === given, await own.text(), await given.text()]).toEqual([false, '{"a":1}', '{"a":1}']);
    }
    const given = request();
    expect(requestCopy(given, {})).toBe(given);
    await given.text();
    expect(requestCopy(given, { context: none })).toBe(given);
  });
});

describe('what an application gives', () => {
  it.each<[string, object, RegExp]>([
    ['metadata that are no texts', { metadata: () => ({ user: { id: 7 } }) }, /`metadata\.user`/],
    ['metadata that are no object', { metadata: () => 'ada' }, /`metadata`/],
    ['an error', { context: () => Promise.reject(new Error('no database')) }, /no database/],
  ])('is refused if it is %s; the log alone holds why', async (_, options, why) => {
    const { lines, logger } = keptLog();
    const refused = await givenBy(request(), agent, { ...options, logger }).catch((error: Error) => error);
    expect(refused).toMatchObject({
      name: 'ServerFault',
      message: 'The server could not accept the request.',
      cause: expect.any(Error),
    });
    expect(lines).toMatchObject([
      {
        level: 50,
        event: 'context.threw',
        error: expect.stringMatching(why),
        msg: 'context(), metadata() or authorize() failed',
      },
    ]);
    expect(answerFor(refused, logger, [agent])).toEqual({
      status: 500,
      message: 'The server could not accept the request.',
    });
    expect(lines).toHaveLength(1);
  });
});

describe('the answer to an error', () => {
  it.each([
    ['invalid_messages', 400],
    ['session_unknown', 404],
    ['session_ended', 409],
  ] as const)('%s, which its caller can mend, is told with %i and not logged', (code, status) => {
    const { lines, logger } = keptLog();
    expect(answerFor(new PawlError(code, 'Why.'), logger, [agent])).toEqual({ status, message: 'Why.' });
    expect(lines).toEqual([]);
  });

  it.each([
    ['agent_changed', 409],
    ['machines_changed', 409],
    ['tools_unavailable', 503],
    ['journal_failed', 503],
    ['invalid_options', 500],
    [null, 500],
  ] as const)('%s is logged, and answered with %i alone', (code, status) => {
    const { lines, logger } = keptLog();
    const error = code === null ? new Error('Why.') : new PawlError(code, 'Why.');
    expect(answerFor(error, logger, [agent])).toEqual({
      status,
      message: 'The server could not answer the request.',
    });
    expect(lines).toMatchObject([
      {
        level: 50,
        event: 'request.failed',
        error: expect.stringContaining('Why.'),
        msg: 'a request could not be answered',
      },
    ]);
  });
});
