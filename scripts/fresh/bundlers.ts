/**
 * `npm run fresh -- bundlers`: a chat in a fresh project of each bundler, built from the packed package and asked over
 * HTTP. workerd is a part of `npm run check`.
 */
import { type ChildProcess, type ExecFileSyncOptions, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startModelServer } from '../../src/testing/index.ts';

const said = 'Hi from the wire.';

const chat = (providers = '') => `
const agent = defineAgent({ name: 'assistant', models: ['openai:gpt-5'], finish: 'text'${providers} });
const chat = chatHandler(agent, { journal: sqliteJournal('pawl.db') });
`;

/** A route as the guide has it, and a page with `useChat`. */
const nextFiles = {
  'app/api/chat/[[...rest]]/route.ts': `
import { defineAgent, sqliteJournal } from 'pawl';
import { chatHandler } from 'pawl/ui';
${chat()}
export { chat as DELETE, chat as GET, chat as POST };
`,
  'app/layout.tsx': `
import type { ReactNode } from 'react';
export default function Layout({ children }: { children: ReactNode }) {
  return <html lang="en"><body>{children}</body></html>;
}
`,
  'app/page.tsx': `
'use client';
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import type { PawlUIMessage } from 'pawl/ui';
export default function Page() {
  const transport = new DefaultChatTransport<PawlUIMessage>({ api: '/api/chat' });
  const { messages, sendMessage } = useChat<PawlUIMessage>({ transport });
  return (
    <main>
      <button type="button" onClick={() => void sendMessage({ text: 'Hello.' })}>Send</button>
      {messages.map(({ id, parts }) => <p key={id}>{parts.map((part) => (part.type === 'text' ? part.text : ''))}</p>)}
    </main>
  );
}
`,
};

/** A server of Node. In one file there is no package to load, so the provider is passed. */
const serverOf = (provider: boolean) => `
${provider ? "import { openai } from '@ai-sdk/openai';" : ''}
import { serve } from '@hono/node-server';
import { defineAgent, sqliteJournal } from 'pawl';
import { chatHandler } from 'pawl/ui';
${chat(provider ? ', providers: { openai }' : '')}
serve({ fetch: chat, port: Number(process.env.PORT), hostname: '127.0.0.1' });
`;

type Bundled = {
  packages: readonly string[];
  files: Record<string, string>;
  build: readonly string[];
  /** What is run, and alone in an empty folder if it is one file. */
  run: readonly string[];
  oneFile?: string;
  /** What the chat or its log says; by default, the sentence. */
  expected?: string;
};

const base = ['ai', 'zod', '@ai-sdk/provider', '@ai-sdk/provider-utils', '@ai-sdk/openai'];
const esbuild = ['esbuild', 'server.ts', '--bundle', '--platform=node', '--format=esm', '--outfile=server.mjs'];
// Packages in CommonJS ask for those of Node by `require`.
const withRequire =
  "--banner:js=import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
const projects: Record<string, Bundled> = {
  'Next.js': {
    packages: ['next', 'react', 'react-dom', '@ai-sdk/react', 'typescript@5', '@types/react', '@types/node'],
    files: nextFiles,
    build: ['next', 'build'],
    run: [join('node_modules', 'next', 'dist', 'bin', 'next'), 'start', '-H', '127.0.0.1'],
  },
  'Vite, for a server': {
    packages: ['vite', '@hono/node-server', 'hono'],
    files: { 'server.ts': serverOf(false) },
    build: ['vite', 'build', '--ssr', 'server.ts'],
    run: ['dist/server.js'],
  },
  'esbuild, one file': {
    packages: ['esbuild', '@hono/node-server', 'hono'],
    files: { 'server.ts': serverOf(true) },
    build: [...esbuild, withRequire],
    run: ['server.mjs'],
    oneFile: 'server.mjs',
  },
  'esbuild, one file without the provider': {
    packages: ['esbuild', '@hono/node-server', 'hono'],
    files: { 'server.ts': serverOf(false) },
    build: [...esbuild, withRequire],
    run: ['server.mjs'],
    oneFile: 'server.mjs',
    expected: 'pass `providers: { openai }`',
  },
};

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Asks the chat until its server is up. Returns the stream of the message. */
async function answerOf(port: number, child: ChildProcess): Promise<string> {
  const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello.' }] };
  const body = JSON.stringify({ id: 'c1', messages: [message], trigger: 'submit-message' });
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(60_000);
  for (;;) {
    try {
      return await (await fetch(`http://127.0.0.1:${port}/api/chat`, { method: 'POST', headers, body, signal })).text();
    } catch (error) {
      if (signal.aborted || child.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function tryIn(folder: string, tarball: string, project: Bundled): Promise<void> {
  const { packages, files, build, run, oneFile, expected = said } = project;
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const quietly: ExecFileSyncOptions = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
  execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', tarball, ...base, ...packages], quietly);
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  execFileSync('npx', build, { ...quietly, env });
  const cwd = oneFile === undefined ? folder : mkdtempSync(join(folder, 'alone-'));
  if (oneFile !== undefined) {
    // Outside the project, so that no package is found from there.
    rmSync(join(folder, 'node_modules'), { recursive: true });
    copyFileSync(join(folder, oneFile), join(cwd, oneFile));
  }
  const model = await startModelServer([{ text: said }]);
  const port = await freePort();
  const own = { PORT: String(port), OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'none' };
  const child = spawn(process.execPath, run, { cwd, env: { ...env, ...own }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += String(data);
    });
  const exited = once(child, 'exit');
  try {
    output += await answerOf(port, child);
    if (!output.includes(expected)) throw new Error(`the chat said ${output}`);
  } finally {
    child.kill('SIGKILL');
    await exited;
    await model.close();
  }
}

/** Tries each bundler. Returns what failed. */
export async function tryBundlers(tarball: string, say: (text: string) => void): Promise<string[]> {
  const failed: string[] = [];
  for (const [name, project] of Object.entries(projects)) {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-bundled-'));
    try {
      await tryIn(folder, tarball, project);
      say(`✓ ${name}`);
      rmSync(folder, { recursive: true });
    } catch (error) {
      const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
      say(`× ${name} (${folder})\n${message}\n${stdout}${stderr}`);
      failed.push(name);
    }
  }
  return failed;
}
