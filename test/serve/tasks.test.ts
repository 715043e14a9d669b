import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defineAgent, serveMcp, sqliteJournal } from '../../src/index.ts';
import { type ServerScript, startModelServer } from '../../src/testing/index.ts';
import { wireModel } from '../support/session.ts';
import { temporaryFolder } from '../support/temporary.ts';

const extension = 'io.modelcontextprotocol/tasks';

type Answer = {
  result?: Record<string, unknown> & {
    taskId: string;
    status: string;
    inputRequests?: Record<string, { params: { message: string } }>;
  };
  error?: { code: number; message: string; data?: unknown };
};

/** A client of revision 2026-07-28 without a library, which declares the extension unless it is told not to. */
function clientOf(url: string, declares = true) {
  let id = 0;
  return async (method: string, params: object, headers: object = {}): Promise<Answer> => {
    id += 1;
    const capabilities = { elicitation: { form: {} }, ...(declares && { extensions: { [extension]: {} } }) };
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    const named = 'taskId' in params ? params.taskId : 'name' in params ? params.name : null;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(named !== null && { 'mcp-name': String(named) }),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
    });
    const text = await response.text();
    const lines = text.split('\n').filter((line) => line.startsWith('data: '));
    return JSON.parse(lines.at(-1)?.slice(6) ?? text) as Answer;
  };
}

/** What the model does: it acts on the last message of the user, once. */
const script: ServerScript = ({ body: { messages } }) => {
  const answer = messages.findLast(({ role }) => role === 'tool');
  if (answer !== undefined) return { text: `So: ${String(answer.content)}` };
  const asked = JSON.stringify(messages);
  if (asked.includes('Fail')) return { text: '' };
  if (asked.includes('Where')) return { calls: [{ name: 'locate', input: {} }] };
  if (asked.includes('Wait')) return { text: 'Late.', delayMs: 20_000 };
  const to = asked.includes('both') ? ['Ada', 'Bob'] : ['Ada'];
  return { calls: to.map((one) => ({ name: 'send', input: { to: one } })) };
};

/** Starts processes that serve the tasks of one journal. */
async function processes() {
  const folder = temporaryFolder();
  const sent = join(folder, 'sent');
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const start = async () => {
    const args = ['--no-warnings', 'test/support/tasks-server.ts', join(folder, 'pawl.db'), sent, server.url];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const end = async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await exited;
    };
    onTestFinished(() => end('SIGKILL'));
    const [line] = await once(child.stdout, 'data');
    const url = String(line).trim();
    return { ask: clientOf(url), undeclared: clientOf(url, false), end };
  };
  const letters = () => (existsSync(sent) ? readFileSync(sent, 'utf8').trim().split('\n') : []);
  return { start, letters, requests: server.requests };
}

type Ask = ReturnType<typeof clientOf>;
const begin = async (ask: Ask, name: string, prompt: string) => {
  const { result } = await ask('tools/call', { name, arguments: { prompt } });
  expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null });
  return String(result?.taskId);
};
const reached = async (ask: Ask, taskId: string, ...status: string[]) => {
  let last: Answer = {};
  await expect
    .poll(
      async () => {
        last = await ask('tasks/get', { taskId });
        return status.includes(String(last.result?.status));
      },
      { timeout: 20_000 },
    )
    .toBe(true);
  return last.result;
};
const approve = (result: Answer['result'], answer: object = { action: 'accept', content: { approve: true } }) =>
  Object.fromEntries(Object.keys(result?.inputRequests ?? {}).map((id) => [id, answer]));
const textIn = (result: Answer['result']) =>
  (result?.result as { content: { text: string }[] } | undefined)?.content[0]?.text;

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
    expect((await ask('tasks/get', { taskId: `${taskId}x` })).error).toMatchObject({ code: -32_602 });
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
    [agent, { tasks: 5 }, 'a boolean, or the names of agents'],
  ])('is checked: %#', async (agents, options, message) => {
    const refused = serveMcp(agents as never, { transport: { http: {} }, ...options } as never);
    await expect(refused).rejects.toThrow(message);
  });
});
