import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { startModelServer } from '../../src/testing/index.ts';
import { freePort } from '../support/free-port.ts';

/** A worker that runs one session for a request: its provider, a zod tool and a report, on nothing but `fetch`. */
const worker = `
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool } from 'ai';
import { defineAgent, mcpPool, runSession, sqliteJournal } from 'pawl';
import { z } from 'zod';
import { sessionMachine } from 'pawl/machines';

const failed = (task) => { try { task(); return null; } catch (error) { return error.message; } };

export default {
  async fetch(request) {
    const baseURL = new URL(request.url).searchParams.get('model');
    const model = createOpenAICompatible({ name: 'served', baseURL })('m');
    const find = tool({
      inputSchema: z.object({ title: z.string() }),
      execute: ({ title }) => title + ' is on shelf J-12',
    });
    const report = { format: 'json', schema: z.object({ shelf: z.string() }) };
    const agent = defineAgent({ name: 'worker', models: [model], tools: { find }, report });
    const lines = [];
    const write = (fields, message) => lines.push(message);
    const logger = { debug: write, info: write, warn: write, error: write };
    const { success, slugs, report: { content }, counters, conversation } = await runSession(agent, { prompt: 'Where is it?', logger });
    const served = defineAgent({ ...agent.definition, mcpServers: { files: { command: 'none' } } });
    const { failure } = await runSession(served, { prompt: 'Where is it?', logger });
    const pool = await mcpPool({ files: { command: 'none' } }).open().catch((error) => error.message);
    const journal = failed(() => sqliteJournal('pawl.db'));
    return Response.json({ success, slugs, content, counters, roles: conversation.map(({ role }) => role), lines, failure, pool, journal, machine: sessionMachine.id });
  },
};
`;

async function bundle(platform: 'browser' | 'node'): Promise<string> {
  const { outputFiles, warnings } = await build({
    stdin: { contents: worker, resolveDir: process.cwd(), loader: 'js' },
    bundle: true,
    write: false,
    format: 'esm',
    platform,
    conditions: platform === 'browser' ? ['workerd', 'worker', 'browser'] : [],
    logLevel: 'silent',
  });
  expect(warnings).toEqual([]);
  return outputFiles[0]?.text ?? '';
}

it('the core bundles for Node, and for a runtime without anything of Node', async () => {
  await bundle('node');
  const text = await bundle('browser');
  expect(text).not.toMatch(/from ?["']node:|require\(["']node:/);
});

it('a session runs in workerd, which has nothing of Node, and what needs Node says so', async () => {
  await using model = await startModelServer(({ body: { messages } }) => {
    if (messages.some(({ role }) => role === 'tool'))
      return { calls: [{ name: 'final_report', input: { content: { shelf: 'J-12' } } }] };
    const isNoticed = JSON.stringify(messages.at(-1)).includes('system notice');
    return isNoticed ? { calls: [{ name: 'find', input: { title: 'It' } }] } : {};
  });
  const folder = mkdtempSync(join(tmpdir(), 'pawl-workerd-'));
  const port = await freePort();
  writeFileSync(join(folder, 'worker.js'), await bundle('browser'));
  writeFileSync(
    join(folder, 'config.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [(name = "worker.js", esModule = embed "worker.js")], compatibilityDate = "2026-01-01", globalOutbound = "loopback")),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);`,
  );
  const child = spawn('node_modules/.bin/workerd', ['serve', join(folder, 'config.capnp')], { stdio: 'pipe' });
  let said = '';
  child.stderr.on('data', (chunk) => (said += chunk));
  try {
    const url = `http://127.0.0.1:${port}/?model=${encodeURIComponent(model.url)}`;
    const answer = await untilServed(url, () => child.exitCode === null);
    expect(await answer.json().catch(() => said)).toEqual({
      success: true,
      slugs: [],
      content: { shelf: 'J-12' },
      roles: ['user', 'assistant', 'tool', 'assistant', 'tool'],
      lines: [
        ...[
          'turn 1 started',
          'turn 1, attempt 1 failed: empty_response',
          'turn 2 started',
          'session succeeded after turn 2',
        ],
        'session failed: tools_unavailable',
      ],
      failure: {
        slugs: ['tools_unavailable'],
        detail: 'An MCP server needs Node.js, Bun or Deno; this runtime has no file system.',
        retryAt: null,
      },
      counters: expect.objectContaining({ turns: 2, attempts: 3, requests: 3, failedAttempts: 1, notices: 1 }),
      pool: 'An MCP server needs Node.js, Bun or Deno; this runtime has no file system.',
      journal: expect.stringContaining('it needs Node 22.13 or later'),
      machine: 'session',
    });
    // The runtime drops the timers of a request that was answered; later ones need none of them.
    for (const count of [1, 1, 5]) {
      const answers = await Promise.all(Array.from({ length: count }, () => fetch(url)));
      for (const answer of answers) expect(await answer.json().catch(() => said)).toMatchObject({ success: true });
    }
    expect(model.requests).toHaveLength(24);
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill();
    await ended;
  }
});

/** Asks until the server listens. */
async function untilServed(url: string, isAlive: () => boolean): Promise<Response> {
  for (;;) {
    try {
      return await fetch(url);
    } catch (error) {
      if (!isAlive()) throw error;
      await new Promise(setImmediate);
    }
  }
}
