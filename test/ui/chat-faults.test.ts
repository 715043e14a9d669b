import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { PawlError, sqliteJournal, startSession } from '../../src/index.ts';
import { agentOf, ask, handlerOf, post, said, waiting } from '../support/chat-requests.ts';
import { journalWith } from '../support/dying-journal.ts';
import { until } from '../support/journaled.ts';
import { keptLog, report } from '../support/session.ts';
import { guarded } from '../support/tools.ts';

describe('a request of a page', () => {
  it.each<[string, Error, number]>([
    ['a journal that fails', new PawlError('journal_failed', 'No disk.'), 503],
    ['a defect', new Error('A defect.'), 500],
  ])('that meets %s is not at fault: the log holds the reason, and the answer does not', async (_, error, status) => {
    const { lines, logger } = keptLog();
    const journal = journalWith(sqliteJournal(':memory:'), { list: () => Promise.reject(error) });
    const response = await handlerOf([], { journal, logger })(post());
    const { message } = error;
    expect([response.status, await response.json()]).toEqual([
      status,
      { error: 'The server could not answer the request.' },
    ]);
    expect(lines).toEqual([
      expect.objectContaining({ level: 50, event: 'request.failed', error: expect.stringContaining(message) }),
    ]);
  });

  it('whose earlier session cannot be ended leaves no session that it began', async () => {
    const kept = sqliteJournal(':memory:');
    const earlier = startSession(agentOf(waiting, { tools: { guarded } }), {
      ...{ prompt: 'Hi.', journal: kept, sessionId: 'c1:1', logger: false },
    });
    await until(() => earlier.counters.requests === 1);
    const journal = journalWith(kept, { post: () => Promise.reject(new PawlError('journal_failed', 'No disk.')) });
    const response = await handlerOf([{ hangs: true }], { journal, logger: false })(post());
    expect(response.status).toBe(503);
    const running = async () => (await kept.list({ status: 'running' })).map(({ sessionId }) => sessionId);
    await expect.poll(running).toEqual(['c1:1']);
    expect(await kept.list({})).toHaveLength(1);
    await earlier.suspend();
    await kept.close();
  });

  it('to a session that another agent began is told what it did, and the log names the differences', async () => {
    const { lines, logger } = keptLog();
    const journal = sqliteJournal(':memory:');
    const agent = agentOf(waiting, { tools: { guarded } });
    const begun = startSession(agent, { prompt: 'Hi.', journal, sessionId: 'c1:1', logger: false });
    await until(() => begun.counters.requests === 1);
    await begun.suspend();
    const response = await handlerOf(waiting, { journal, logger }, { finish: 'text' })(ask('/c1/stream'));
    expect(response.status).toBe(200);
    expect(await response.text()).not.toContain('was \\"report');
    // A process of the release that began it may still continue it.
    expect((await journal.list({}))[0]).toMatchObject({ status: 'suspended' });
    expect(lines).toEqual([
      expect.objectContaining({ error: expect.stringContaining('finish: was "report", is "text"') }),
    ]);
    await journal.close();
  });

  it('has a context that does not fit: that is an error of the server, and its value stays there', async () => {
    const { lines, logger } = keptLog();
    const contextSchema = z.object({ database: z.string(), user: z.string() });
    const options = { logger, context: () => ({ database: 'postgres://10.0.0.5/prod' }) };
    const handler = handlerOf([report()], options, { contextSchema });
    const response = await handler(post());
    expect([response.status, await response.json()]).toEqual([
      500,
      { error: 'The server could not accept the request.' },
    ]);
    expect(lines).toEqual([
      expect.objectContaining({ event: 'context.threw', error: expect.stringContaining('user') }),
    ]);
    for (const odd of [
      { metadata: () => ({ tenant: {} }) },
      { metadata: () => Promise.reject(new Error('no tenants')) },
    ])
      expect((await handlerOf([report()], odd as never)(post())).status).toBe(500);
  });

  it('leaves no secret of the agent in the log of its failure (S-5)', async () => {
    const { lines, logger } = keptLog();
    const fails = () => Promise.reject(new Error('no login with hunter-two-22'));
    const agent = { secrets: ['hunter-two-22'] };
    const journal = journalWith(sqliteJournal(':memory:'), { list: fails });
    for (const options of [
      { logger, context: fails },
      { logger, journal },
    ])
      expect((await handlerOf([report()], options, agent)(post())).status).toBe(500);
    expect(lines.map(({ event, error }) => [event, String(error).split('\n')[0]])).toEqual([
      ['context.threw', 'Error: no login with [redacted]'],
      ['request.failed', 'Error: no login with [redacted]'],
    ]);
    expect(JSON.stringify(lines)).not.toContain('hunter');
  });

  it('of which middleware has read the body is refused, whatever the options', async () => {
    for (const options of [{}, { context: () => null }]) {
      const request = post();
      await request.text();
      expect((await handlerOf([report()], options)(request)).status).toBe(400);
    }
  });

  it('to delete a chat is answered once its session has ended', async () => {
    const held = Promise.withResolvers<void>();
    const told: string[] = [];
    const handler = handlerOf([{ hangs: true }], {
      onEvent: ({ type }) => void (type === 'attempt.started' ? held.resolve() : told.push(type)),
    });
    void (await handler(post())).text();
    await held.promise;
    expect((await handler(ask('/c1', 'DELETE'))).status).toBe(204);
    expect(told).toContain('session.aborted');
  });

  it('may be read by `context` and by `metadata`', async () => {
    const heard: [unknown, unknown][] = [];
    const userIn = async (request: Request) => String(((await request.json()) as { user?: string }).user);
    const handler = handlerOf([report()], {
      // Who reads it first may leave it to the other.
      context: (request) => userIn(request.clone()),
      metadata: async (request) => ({ user: await userIn(request) }),
      onEvent: (_, { metadata, context }) => void heard.push([context, metadata]),
    });
    const body = JSON.stringify({ id: 'c1', messages: [said], user: 'ada' });
    await (await handler(ask('', 'POST', body))).text();
    expect(heard[0]).toEqual(['ada', { user: 'ada' }]);
  });
});
