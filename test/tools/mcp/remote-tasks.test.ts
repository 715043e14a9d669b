import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resumeSession, runSession, type SessionEvent, sqliteJournal, startSession } from '../../../src/index.ts';
import { following } from '../../support/following.ts';
import { freshFile } from '../../support/journaled.ts';
import { approve, processes, reached } from '../../support/mcp-tasks.ts';
import { counters, tokensOf } from '../../support/session.ts';

const accepts = { handlers: { elicit: () => ({ action: 'accept' as const, content: { approve: true } }) } };
const logger = false as const;
const once1 = { requested: 1, answered: 1, executed: 1 };

/** Waits for the task that an event of a session names. */
async function taskOf(events: readonly SessionEvent[]): Promise<string> {
  await expect.poll(() => events.some(({ type }) => type === 'tool.followed'), { timeout: 10_000 }).toBe(true);
  const [followed] = events.flatMap((event) => (event.type === 'tool.followed' ? [event.taskId] : []));
  return String(followed);
}

/** A server between a client and another, which may change an answer, or fail the request (null). */
async function between(url: string, change: (asked: string, answer: string) => string | null) {
  const server = createServer(async (incoming, outgoing) => {
    const body = await text(incoming);
    const { 'content-length': _, host: __, connection: ___, ...headers } = incoming.headers;
    const answer = await fetch(url, {
      method: String(incoming.method),
      headers: headers as Record<string, string>,
      ...(incoming.method === 'POST' && { body }),
    });
    const changed = change(body, await answer.text());
    if (changed === null) outgoing.writeHead(502).end('bad gateway');
    else outgoing.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(changed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('a tool of a server that answers with a task', () => {
  it('is waited for, and what the task asks is answered by the handlers', async () => {
    const { start, letters } = await processes();
    const { url } = await start();
    const events: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void events.push(event);
    const result = await runSession(following(url, accepts), { prompt: 'Write.', logger, onEvent });
    expect(result.report.content).toContain('So: sent to Ada');
    expect(letters()).toEqual(['Ada']);
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: { ...once1, succeeded: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
        tools: { post__postman: { calls: 1, failed: 0, bytes: 15, durationMs: expect.any(Number) } },
      }),
    );
    expect(events.filter(({ type }) => type === 'tool.followed')).toMatchObject([
      { name: 'post__postman', taskId: expect.stringMatching(/^task_/) },
    ]);
  });

  it('that fails is a failed call, and what nobody answers is declined', async () => {
    const { start, letters } = await processes();
    const { url } = await start();
    const failed = await runSession(following(url, {}, 'Fail.'), { prompt: 'Write.', logger });
    expect(failed.report.content).toContain('empty_response');
    expect(failed.counters.toolCalls).toMatchObject({ ...once1, failed: 1 });
    const declined = await runSession(following(url), { prompt: 'Write.', logger });
    expect(declined.report.content).toMatch(/So: .*[Dd]eclined/);
    expect(letters()).toEqual([]);
  });

  it('a handler that throws declines, and a server that is busy is asked again', async () => {
    const { start, letters } = await processes();
    const { url } = await start();
    let polls = 0;
    await using busy = await between(url, (asked, answer) => {
      if (asked.includes('"tasks/get"')) polls += 1;
      return polls === 1 && asked.includes('"tasks/get"') ? null : answer;
    });
    const elicit = () => {
      throw new Error('no window');
    };
    const result = await runSession(following(busy.url, { handlers: { elicit } }), { prompt: 'Write.', logger });
    expect(result.report.content).toMatch(/So: .*[Dd]eclined/);
    expect([letters(), polls > 1]).toEqual([[], true]);
    expect(result.counters.toolCalls).toMatchObject({ ...once1, succeeded: 1 });
  });

  it('that asks for what nobody here can give is a failed call, and is cancelled', async () => {
    const { start, letters } = await processes();
    const { url, ask } = await start();
    await using strange = await between(url, (_, answer) =>
      answer.replaceAll('"elicitation/create"', '"sampling/createMessage"'),
    );
    const events: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void events.push(event);
    const result = await runSession(following(strange.url, accepts), { prompt: 'Write.', logger, onEvent });
    expect(result.report.content).toContain('asks for \\"sampling/createMessage\\", which nobody here answers');
    expect(result.counters.toolCalls).toMatchObject({ ...once1, failed: 1 });
    await reached(ask, await taskOf(events), 'cancelled');
    expect(letters()).toEqual([]);
  });

  it('D-4c: is waited for again after kill -9 of the session’s process: the call is not sent twice', async () => {
    const { start, letters, requests } = await processes();
    const { url, ask } = await start();
    const file = freshFile();
    const child = spawn(process.execPath, ['--no-warnings', 'test/support/following-session.ts', file, url]);
    const exited = once(child, 'exit');
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await exited;
    const journal = sqliteJournal(file, { leaseMs: 300 });
    const events: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void events.push(event);
    const options = { journal, sessionId: 'waiting', logger, onEvent };
    // Until its lease is over, the session is the other process's.
    const resumed = () => resumeSession(following(url, accepts), options).then(() => 'resumed', String);
    await expect.poll(resumed, { timeout: 10_000 }).toBe('resumed');
    await expect.poll(() => events.at(-1)?.type, { timeout: 20_000 }).toBe('session.succeeded');
    const interrupted = events.flatMap((event) => (event.type === 'session.resumed' ? event.interrupted : []));
    expect(interrupted).toEqual([]);
    expect(letters()).toEqual(['Ada']);
    // One session of the server: the call was sent once.
    expect(requests.filter(({ body }) => !body.messages.some(({ role }) => role === 'tool'))).toHaveLength(1);
    const [taskId = ''] = (await journal.read('waiting')).flatMap((entry) =>
      entry.type === 'sighted' && entry.sighting.type === 'tool.followed' ? [entry.sighting.taskId] : [],
    );
    expect((await ask('tasks/get', { taskId })).result?.status).toBe('completed');
    await journal.close();
  });

  it('D-2: is cancelled with its session, and not when the session is only suspended', async () => {
    const { start } = await processes();
    const { url, ask } = await start();
    const journal = sqliteJournal(freshFile(), { leaseMs: 300 });
    const events: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void events.push(event);
    const waits = { handlers: { elicit: () => new Promise<never>(() => {}) } };
    const agent = following(url, waits);
    const session = startSession(agent, { prompt: 'Write.', journal, sessionId: 's', logger, onEvent });
    const taskId = await taskOf(events);
    await reached(ask, taskId, 'input_required');
    await session.suspend();
    expect((await ask('tasks/get', { taskId })).result?.status).toBe('input_required');
    const again = await resumeSession(agent, { journal, sessionId: 's', logger });
    again.abort('enough');
    await again.result;
    expect(await reached(ask, taskId, 'cancelled', 'completed')).toMatchObject({ status: 'cancelled' });
    await journal.close();
  });

  it('D-2: is cancelled with its session, even if it is not followed yet', async () => {
    const { start } = await processes();
    const { url, ask } = await start();
    const journal = sqliteJournal(freshFile(), { leaseMs: 300 });
    const events: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void events.push(event);
    const agent = following(url, { handlers: { elicit: () => new Promise<never>(() => {}) } });
    const session = startSession(agent, { prompt: 'Write.', journal, sessionId: 's', logger, onEvent });
    const taskId = await taskOf(events);
    await session.suspend();
    const leaving = new AbortController();
    const abort = ({ type }: SessionEvent) => void (type === 'session.resumed' && leaving.abort('enough'));
    const again = await resumeSession(agent, {
      ...{ journal, sessionId: 's', logger, onEvent: abort, signal: leaving.signal },
    });
    expect((await again.result).status).toBe('aborted');
    expect(await reached(ask, taskId, 'cancelled', 'completed')).toMatchObject({ status: 'cancelled' });
    await journal.close();
  });

  it('whose server dies and comes back is waited for', async () => {
    const { start, letters } = await processes();
    const first = await start();
    const events: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void events.push(event);
    const session = startSession(following(first.url), { prompt: 'Write.', logger, onEvent });
    const taskId = await taskOf(events);
    await first.end('SIGKILL');
    const second = await start(new URL(first.url).port);
    const asked = await reached(second.ask, taskId, 'input_required', 'completed');
    if (asked?.status === 'input_required')
      await second.ask('tasks/update', { taskId, inputResponses: approve(asked) });
    expect((await session.result).status).toBe('succeeded');
    expect(letters().length).toBeLessThanOrEqual(1);
  });
});
