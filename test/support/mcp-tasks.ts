import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type ServerScript, startModelServer } from '../../src/testing/index.ts';
import { temporaryFolder } from './temporary.ts';

export const extension = 'io.modelcontextprotocol/tasks';

type Answer = {
  result?: Record<string, unknown> & {
    taskId: string;
    status: string;
    inputRequests?: Record<string, { params: { message: string } }>;
  };
  error?: { code: number; message: string; data?: unknown };
};

/** A client of revision 2026-07-28 without a library, which declares the extension unless it is told not to. */
export function clientOf(url: string, declares = true) {
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
export async function processes() {
  const folder = temporaryFolder();
  const sent = join(folder, 'sent');
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const start = async (port = '0') => {
    const args = ['--no-warnings', 'test/support/tasks-server.ts', join(folder, 'pawl.db'), sent, server.url, port];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const end = async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await exited;
    };
    onTestFinished(() => end('SIGKILL'));
    const [line] = await once(child.stdout, 'data');
    const url = String(line).trim();
    return { url, ask: clientOf(url), undeclared: clientOf(url, false), end };
  };
  const letters = () => (existsSync(sent) ? readFileSync(sent, 'utf8').trim().split('\n') : []);
  return { start, letters, requests: server.requests, models: server.url, folder };
}

type Ask = ReturnType<typeof clientOf>;
export const begin = async (ask: Ask, name: string, prompt: string) => {
  const { result } = await ask('tools/call', { name, arguments: { prompt } });
  expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null });
  return String(result?.taskId);
};
export const reached = async (ask: Ask, taskId: string, ...status: string[]) => {
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
export const approve = (result: Answer['result'], answer: object = { action: 'accept', content: { approve: true } }) =>
  Object.fromEntries(Object.keys(result?.inputRequests ?? {}).map((id) => [id, answer]));
export const textIn = (result: Answer['result']) =>
  (result?.result as { content: { text: string }[] } | undefined)?.content[0]?.text;
