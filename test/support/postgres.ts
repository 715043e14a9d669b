import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

const home = '/usr/lib/postgresql';
const versions = existsSync(home) ? readdirSync(home).sort() : [];

/** The folder of a PostgreSQL server from Debian; null if it is not installed. */
export const postgresFolder = versions.length === 0 ? null : join(home, versions.at(-1) ?? '', 'bin');

export type Postgres = {
  url: string;
  /** Ends the server at once, as a power cut does, or starts it again. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** Starts a PostgreSQL server of one's own, on loopback. */
export async function startPostgres(bin: string): Promise<Postgres> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-postgres-'));
  const data = join(folder, 'data');
  // The server refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(execFileSync('id', isRoot ? [flag, 'postgres'] : [flag], { encoding: 'utf8' })),
  );
  const as = isRoot ? { uid: uid ?? 0, gid: gid ?? 0 } : {};
  if (isRoot) chownSync(folder, uid ?? 0, gid ?? 0);
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'pawl', '-A', 'trust', '--no-instructions'], {
    ...as,
    cwd: folder,
    stdio: 'ignore',
  });
  const port = await freePort();
  const settings = ['-D', data, '-p', String(port), '-k', folder, '-h', '127.0.0.1'];
  let server: ReturnType<typeof spawn> | null = null;
  const start = async () => {
    server = spawn(join(bin, 'postgres'), settings, { ...as, cwd: folder, stdio: 'ignore' });
    while (!isReady(bin, port)) {
      if (server.exitCode !== null) throw new Error(`PostgreSQL ended with code ${server.exitCode}`);
      await new Promise(setImmediate);
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    const ended = new Promise((resolve) => server?.once('exit', resolve));
    server?.kill(signal);
    await ended;
  };
  await start();
  return {
    url: `postgres://pawl@127.0.0.1:${port}/postgres`,
    start,
    // An immediate shutdown, without a checkpoint: what a crash leaves.
    kill: () => end('SIGQUIT'),
    stop: async () => {
      await end('SIGINT');
      rmSync(folder, { recursive: true });
    },
  };
}

function isReady(bin: string, port: number): boolean {
  try {
    execFileSync(join(bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
