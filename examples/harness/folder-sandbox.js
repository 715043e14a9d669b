/** A folder as a sandbox of the AI SDK's harness. It isolates nothing: in production, take a sandbox that does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

export function folderSandbox() {
  return {
    specificationVersion: 'harness-sandbox-v1',
    providerId: 'folder',
    async createSession({ onFirstCreate, abortSignal } = {}) {
      const home = await mkdtemp(join(tmpdir(), 'harness-'));
      const session = sessionIn(home, await freePort());
      // What ends this process ends what it has started.
      for (const signal of ['SIGINT', 'SIGTERM'])
        process.once(signal, () => session.destroy().finally(() => process.exit(1)));
      try {
        await onFirstCreate?.(session, { abortSignal });
        return session;
      } catch (error) {
        await session.destroy();
        throw error;
      }
    },
  };
}

function sessionIn(home, free) {
  const children = new Set();
  const read = (path) => readFile(resolve(home, path)).catch(() => null);
  const write = async ({ path, content }) => {
    await mkdir(dirname(resolve(home, path)), { recursive: true });
    await writeFile(resolve(home, path), content);
  };
  const start = async ({ command, workingDirectory = '.', env }) => {
    const own = { ...process.env, HOME: home, ...env };
    const child = spawn('sh', ['-c', command], { cwd: resolve(home, workingDirectory), env: own, detached: true });
    children.add(child);
    const ended = once(child, 'close').then(([exitCode]) => ({ exitCode: exitCode ?? 1 }));
    const [stdout, stderr] = [Readable.toWeb(child.stdout), Readable.toWeb(child.stderr)];
    return { pid: child.pid, stdout, stderr, wait: () => ended, kill: async () => end(child) };
  };
  const end = ({ pid }) => {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  };
  const session = {
    ...{ id: home, defaultWorkingDirectory: home, ports: [free], description: `The folder ${home}.` },
    getPortEndpoint: async ({ port, protocol = 'http' }) => ({ url: `${protocol}://127.0.0.1:${port}` }),
    getPortUrl: async ({ port, protocol = 'http' }) => `${protocol}://127.0.0.1:${port}`,
    readFile: async ({ path }) => read(path).then((bytes) => bytes && new Blob([bytes]).stream()),
    readBinaryFile: ({ path }) => read(path),
    readTextFile: ({ path }) => read(path).then((bytes) => bytes?.toString('utf8') ?? null),
    writeFile: ({ path, content }) => write({ path, content: Readable.fromWeb(content) }),
    writeBinaryFile: write,
    writeTextFile: write,
    spawn: start,
    async run(options) {
      const { stdout, stderr, wait } = await start(options);
      const [output, errors] = await Promise.all([new Response(stdout).text(), new Response(stderr).text()]);
      return { ...(await wait()), stdout: output, stderr: errors };
    },
    restricted: () => session,
    stop: async () => children.forEach(end),
    destroy: async () => {
      await session.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
  return session;
}
