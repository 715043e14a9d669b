/**
 * How sessions on Restate scale with the processes of the service: `node bench/restate.ts`. Each process serves the same
 * agent; a balancer at one address gives each connection to the next process.
 */
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../test/support/free-port.ts';
import { restateBinary, startRestate } from '../test/support/restate.ts';

const program = join(import.meta.dirname, 'restate-service.ts');
const [sessions, atOnce] = [60, 20];

if (restateBinary === null) throw new Error('there is no Restate server for this platform');
for (const count of [1, 2, 4]) {
  const server = await startRestate(restateBinary);
  const services = await Promise.all(
    Array.from({ length: count }, async () => {
      const port = await freePort();
      const child = spawn(process.execPath, ['--no-warnings', program, String(port)], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      await new Promise((resolve) => child.stdout.once('data', resolve));
      child.stdout.resume();
      return { child, port };
    }),
  );
  let next = 0;
  const balancer = createServer((socket) => {
    const { port = 0 } = services[next++ % count] ?? {};
    const back = connect(port, '127.0.0.1');
    socket.on('error', () => back.destroy());
    back.on('error', () => socket.destroy());
    socket.pipe(back).pipe(socket);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => balancer.listen(port, '127.0.0.1', resolve));
  await server.register(`http://127.0.0.1:${port}`);
  const run = async (id: string) => {
    const answer = await fetch(`${server.ingress}/pawl/${id}/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'bench', prompt: 'go' }),
    });
    const { success, counters } = JSON.parse(await answer.text());
    if (success !== true) throw new Error('a benchmark session failed');
    return counters.requests;
  };
  for (let warm = 0; warm < 5; warm += 1) await run(`warm-${warm}`);
  const began = performance.now();
  let started = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (started < sessions) {
        started += 1;
        await run(`session-${started}`);
      }
    }),
  );
  const seconds = (performance.now() - began) / 1_000;
  process.stdout.write(
    `${count} processes: ${(sessions / seconds).toFixed(1)} sessions of 10 turns a second, ${atOnce} at once\n`,
  );
  for (const { child } of services) child.kill('SIGKILL');
  balancer.close();
  await server.stop();
}
process.exit(0);
