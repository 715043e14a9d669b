import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ModelServer, startModelServer } from '../../src/testing/index.ts';

/** What the model does: it goes by the last message of the user, and by whether a tool has answered since. */
function script({ body }: { body: unknown }) {
  const { messages, tools } = body as { messages: { role: string; content: unknown }[]; tools?: unknown[] };
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const text = JSON.stringify(messages[asked]?.content ?? '');
  const answered = messages.slice(asked).find(({ role }) => role === 'tool');
  if (text.includes('response_truncated')) return { text: 'The right one.', delayMs: 300 };
  if (text.includes('stumble')) return { text: 'The wrong beginning', finishReason: 'length' as const };
  if (answered !== undefined) return { text: `Done: ${String(answered.content)}` };
  if (text.includes('delegate') && tools?.some((tool) => JSON.stringify(tool).includes('helper')) === true)
    return { calls: [{ name: 'helper', input: { prompt: 'Please send it.', reason: 'It can.' } }] };
  if (text.includes('send')) return { text: 'I ask first.', calls: [{ name: 'send', input: { to: 'Ada' } }] };
  if (text.includes('hold')) return { text: 'I work on it.', calls: [{ name: 'hold', input: {} }] };
  return { text: 'Hello, I am here.' };
}

/** A model, and processes that serve a chat with it (`chat-server.ts`), all on one journal. */
export type ServedChat = {
  model: ModelServer;
  file: string;
  /** Starts a process. Returns its address. */
  start(): Promise<string>;
  /** Kills the process that was started last. */
  kill(): void;
  close(): Promise<void>;
};

export async function servedChat(): Promise<ServedChat> {
  const model = await startModelServer(script);
  const file = join(mkdtempSync(join(tmpdir(), 'pawl-chat-')), 'pawl.db');
  const processes: ChildProcess[] = [];
  return {
    model,
    file,
    start: () => {
      const args = ['--no-warnings', join(import.meta.dirname, 'chat-server.ts'), model.url, file];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      processes.push(child);
      return new Promise((resolve) => child.stdout.once('data', (data) => resolve(String(data).trim())));
    },
    kill: () => void processes.at(-1)?.kill('SIGKILL'),
    close: async () => {
      for (const child of processes) child.kill('SIGKILL');
      await model.close();
    },
  };
}
