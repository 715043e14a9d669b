import { describe, expect, it } from 'vitest';
import { defineAgent, serveMcp, sqliteJournal } from '../../src/index.ts';
import { approve, begin, extension, processes, reached, textIn } from '../support/mcp-tasks.ts';
import { wireModel } from '../support/session.ts';

describe('a call of an agent as a task', () => {
  it('survives kill -9 of its server, twice: the next process asks again, and each letter is sent once', async () => {
    const { start, letters, requests } = await processes();
    const first = await start();
    const taskId = await begin(first.ask, 'postman', 'Send it.');
    const asked = await reached(first.ask, taskId, 'input_required');
    expect(Object.values(asked?.inputRequests ?? {}).map(({ params }) => params.message)).toEqual([
      'The agent wants to run send with {"to":"Ada"}.',
    ]);
    await first.end('SIGKILL');
    const second = await start();
    const again = await reached(second.ask, taskId, 'input_required');
    expect(again?.inputRequests).toEqual(asked?.inputRequests);
    const acknowledged = await second.ask('tasks/update', { taskId, inputResponses: approve(again) });
    expect(acknowledged.result).toMatchObject({ resultType: 'complete' });
    expect(textIn(await reached(second.ask, taskId, 'completed'))).toBe('So: sent to Ada');
    await second.end('SIGKILL');
    // A third process reads the result, and an answer that comes again does nothing.
    const third = await start();
    await third.ask('tasks/update', { taskId, inputResponses: approve(again) });
    expect(textIn(await reached(third.ask, taskId, 'completed'))).toBe('So: sent to Ada');
    expect([letters(), requests.length]).toEqual([['Ada'], 2]);
  });

  it('goes on in another process when its own is told to end', async () => {
    const { start, letters } = await processes();
    const [one, other] = [await start(), await start()];
    const taskId = await begin(one.ask, 'postman', 'Send both.');
    const asked = await reached(one.ask, taskId, 'input_required');
    const [first = '', second = ''] = Object.keys(asked?.inputRequests ?? {});
    const yes = { action: 'accept', content: { approve: true } };
    // Also through a process that does not run it.
    await other.ask('tasks/update', { taskId, inputResponses: { [first]: yes, unknown: yes } });
    const left = await reached(other.ask, taskId, 'input_required');
    expect(Object.keys(left?.inputRequests ?? {})).toEqual([second]);
    await one.end('SIGTERM');
    await other.ask('tasks/update', { taskId, inputResponses: { [second]: { action: 'decline' } } });
    await reached(other.ask, taskId, 'completed');
    expect(letters()).toEqual(['Ada']);
  });

  it('is cancelled by its client, also once its process is gone; one that has ended stays as it is', async () => {
    const { start, letters } = await processes();
    const first = await start();
    const [taskId, waiting] = [await begin(first.ask, 'postman', 'Wait.'), await begin(first.ask, 'postman', 'Send.')];
    expect((await first.ask('tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
    expect(await reached(first.ask, taskId, 'cancelled', 'completed')).toMatchObject({ status: 'cancelled' });
    await reached(first.ask, waiting, 'input_required');
    await first.end('SIGKILL');
    const second = await start();
    await second.ask('tasks/cancel', { taskId: waiting });
    expect(await reached(second.ask, waiting, 'cancelled', 'completed')).toMatchObject({ status: 'cancelled' });
    await second.ask('tasks/cancel', { taskId: waiting });
    expect(await reached(second.ask, waiting, 'cancelled')).not.toHaveProperty('result');
    expect(letters()).toEqual([]);
  });

  it('takes the output of a client-side tool, and an agent that fails is a completed task with an error', async () => {
    const { start } = await processes();
    const { ask } = await start();
    const taskId = await begin(ask, 'scout', 'Where am I?');
    const asked = await reached(ask, taskId, 'input_required');
    const output = { action: 'accept', content: { output: 'Bonn' } };
    await ask('tasks/update', { taskId, inputResponses: approve(asked, output) });
    expect(textIn(await reached(ask, taskId, 'completed'))).toBe('So: Bonn');
    const failed = await reached(ask, await begin(ask, 'postman', 'Fail.'), 'completed');
    expect(failed?.result).toMatchObject({
      isError: true,
      _meta: { slugs: expect.arrayContaining(['empty_response']) },
    });
  });

  it('only of a client that declares the extension, and only of the agents that are named', async () => {
    const { start } = await processes();
    const { ask, undeclared } = await start();
    const plain = await undeclared('tools/call', { name: 'postman', arguments: { prompt: 'Fail.' } });
    expect(plain.result).toMatchObject({ resultType: 'complete', isError: true });
    const other = await ask('tools/call', { name: 'clerk', arguments: { prompt: 'Fail.' } });
    expect(other.result).toMatchObject({ resultType: 'complete', isError: true });
    const taskId = await begin(ask, 'postman', 'Send.');
    expect((await undeclared('tasks/get', { taskId })).error).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { extensions: { [extension]: {} } } },
    });
    for (const other of [`${taskId}x`, `${taskId}:1`, 'chat:1'])
      expect((await ask('tasks/get', { taskId: other })).error).toMatchObject({ code: -32_602 });
    expect((await ask('tasks/get', { taskId }, { 'mcp-name': 'task_other' })).error).toMatchObject({ code: -32_020 });
  });
});

describe('what serveMcp is given for tasks', () => {
  const agent = defineAgent({ name: 'helper', models: [wireModel('openai', 'http://127.0.0.1:1')] });
  it.each<[unknown, object, string]>([
    [[], {}, '`agents` must be an agent, or an array of them'],
    [[agent, agent], {}, '`agents` must have distinct names; got "helper" twice.'],
    [[agent, 7], {}, '`agents[1]` must be an agent made by defineAgent'],
    [agent, { tasks: true }, '`journal` is required: a journal, since `tasks` need one.'],
    [
      agent,
      { tasks: ['other'], journal: sqliteJournal(':memory:') },
      '`tasks` must be true, or names of the agents (helper)',
    ],
    [agent, { journal: sqliteJournal(':memory:') }, 'the journal holds tasks alone'],
    [agent, { tasks: 5 }, 'a boolean, or the names of agents'],
  ])('is checked: %#', async (agents, options, message) => {
    const refused = serveMcp(agents as never, { transport: { http: {} }, ...options } as never);
    await expect(refused).rejects.toThrow(message);
  });
});
