import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  type ClientCapabilities,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { onTestFinished } from 'vitest';

const program = join(import.meta.dirname, 'acp-agent.ts');
const all: ClientCapabilities = { fs: { readTextFile: true, writeTextFile: true }, terminal: true };

/** An editor with an agent in a process: what it was told, asked and made to do. */
export async function editor({
  journal,
  capabilities = all,
  decide = 'allow',
}: {
  journal?: string;
  capabilities?: ClientCapabilities;
  decide?: string | null;
} = {}) {
  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  const files = new Map([['/a.txt', 'as the editor has it']]);
  const child = spawn(process.execPath, ['--no-warnings', program, ...(journal === undefined ? [] : [journal])], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  const app = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      if (decide === 'never') return new Promise<never>(() => {});
      return { outcome: decide === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: decide } };
    })
    .onRequest(methods.client.fs.readTextFile, ({ params }) => ({ content: files.get(params.path) ?? '' }))
    .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
      files.set(params.path, params.content);
      return {};
    })
    .onRequest(methods.client.terminal.create, () => ({ terminalId: 't' }))
    .onRequest(methods.client.terminal.waitForExit, () => ({ exitCode: 0, signal: null }))
    .onRequest(methods.client.terminal.output, () => ({ output: 'a.txt', truncated: false }))
    .onRequest(methods.client.terminal.release, () => ({}));
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const connection = app.connect(stream);
  const { agent } = connection;
  const kill = async (signal: NodeJS.Signals = 'SIGKILL') => {
    child.kill(signal);
    await gone;
  };
  onTestFinished(async () => {
    connection.close();
    if (child.exitCode === null && child.signalCode === null) await kill();
  });
  const greeted = await agent.request(methods.agent.initialize, {
    ...{ protocolVersion: PROTOCOL_VERSION, clientCapabilities: capabilities },
  });
  const { session } = methods.agent;
  const begin = async () => (await agent.request(session.new, { cwd: '/work', mcpServers: [] })).sessionId;
  const prompt = (sessionId: string, text: string) =>
    agent.request(session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
  /** What was said, by kind, since the last time. */
  const told = () =>
    updates.splice(0).map((update) => {
      if ('content' in update && update.content !== null && 'type' in Object(update.content))
        return [update.sessionUpdate, Object(update.content).text];
      return [update.sessionUpdate, 'status' in update ? update.status : null];
    });
  return { agent, greeted, begin, prompt, told, updates, asked, files, kill, gone, child };
}
