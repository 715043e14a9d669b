import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/** PgBouncer from Debian; null if it is not installed. */
export const pgbouncer = existsSync('/usr/sbin/pgbouncer') ? '/usr/sbin/pgbouncer' : null;

/** Starts PgBouncer before a server, with one connection to it, which each transaction gets in turn. */
export async function startPgBouncer(program: string, server: string) {
  const { hostname, port: serverPort, username } = new URL(server);
  const folder = mkdtempSync(join(tmpdir(), 'pawl-pgbouncer-'));
  const port = await freePort();
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
postgres = host=${hostname} port=${serverPort} user=${username} pool_size=1
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
`,
  );
  // It refuses to run as root.
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const as = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : null;
  if (as !== null) chownSync(folder, as.uid, as.gid);
  const child = spawn(program, ['-q', join(folder, 'pgbouncer.ini')], { ...as, cwd: folder, stdio: 'ignore' });
  while (!(await answers(port))) if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}`);
  return {
    url: `postgres://${username}@127.0.0.1:${port}/postgres`,
    stop: async () => {
      child.kill('SIGINT');
      if (child.exitCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => setImmediate(resolve, false));
    socket.once('connect', () => socket.destroy());
  });
}
