import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

const binary = (() => {
  try {
    const name = `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`;
    const file = createRequire(import.meta.url).resolve(name);
    return existsSync(file) ? file : null;
  } catch {
    return null;
  }
})();

/** The server's binary from its npm package; null if it is not installed. */
export const restateBinary: string | null = binary;

export type Restate = {
  /** Where sessions are started and messages are sent. */
  ingress: string;
  /** Registers a service's address. */
  register(uri: string): Promise<void>;
  admin(method: string, path: string, body?: object): Promise<Response>;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** Starts a Restate server of one's own, on loopback, with telemetry off. */
export async function startRestate(file: string, more: Record<string, string> = {}): Promise<Restate> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-restate-'));
  const [ingressPort, adminPort, nodePort] = await Promise.all([freePort(), freePort(), freePort()]);
  const address = (port: number | undefined) => `127.0.0.1:${port}`;
  const env = {
    ...process.env,
    DO_NOT_TRACK: '1',
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_ADDRESS: address(nodePort),
    RESTATE_ADVERTISED_ADDRESS: `http://${address(nodePort)}`,
    RESTATE_INGRESS__BIND_ADDRESS: address(ingressPort),
    RESTATE_ADMIN__BIND_ADDRESS: address(adminPort),
    RESTATE_DEFAULT_NUM_PARTITIONS: '1',
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '128MB',
    ...more,
  };
  const settings = ['--base-dir', folder, '--node-name', 'n1', '--cluster-name', 'test', '--no-logo'];
  let server: ReturnType<typeof spawn> | null = null;
  const isHealthy = async () => {
    const asked = [`http://${address(adminPort)}/health`, `http://${address(ingressPort)}/restate/health`];
    const answers = await Promise.all(
      asked.map((url) =>
        fetch(url).then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    );
    return answers.every((ok) => ok);
  };
  const start = async () => {
    server = spawn(file, settings, { env, stdio: 'ignore' });
    while (!(await isHealthy())) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const end = async (signal: NodeJS.Signals) => {
    const ended = new Promise((resolve) => server?.once('exit', resolve));
    server?.kill(signal);
    await ended;
  };
  const admin = (method: string, path: string, body?: object) =>
    fetch(`http://${address(adminPort)}${path}`, {
      method,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  await start();
  return {
    ingress: `http://${address(ingressPort)}`,
    admin,
    register: async (uri) => {
      const answer = await admin('POST', '/deployments', { uri });
      if (!answer.ok) throw new Error(`the service could not be registered: ${await answer.text()}`);
    },
    kill: () => end('SIGKILL'),
    start,
    stop: async () => {
      await end('SIGTERM');
      rmSync(folder, { recursive: true });
    },
  };
}
