import type { AddressInfo } from 'node:net';
import type { Json } from '../../machines/index.ts';
import { sleep, systemClock } from '../host/clock.ts';
import { messageOf } from '../input/errors.ts';
import type { ToolFault } from './faults.ts';
import { type LivedWorld, Refused } from './world.ts';

/** How long a slow tool takes, in ms. */
const slowMs = 400;

export type ToolServer = { url: string; close(): Promise<void> };

/** What a run does with calls. `faultOf`: what goes wrong with this one. `onEffect`: it was made; false: no answer goes back. */
export type ToolWatch = { faultOf(name: string, input: string): ToolFault | null; onEffect(): boolean };

/**
 * Serves the tools of a world: `POST URL/NAME` with the input answers `{"ok":true,"result":…}`, or with an error of 409
 * if the world refuses the call, and of 503 while a tool is busy. A call with a header `idempotency-key` is made once.
 */
export async function startToolServer(world: LivedWorld, watch: ToolWatch): Promise<ToolServer> {
  const { createServer } = await import('node:http');
  /** The results of calls that had a key: one that comes again has the same. */
  const known = new Map<string, Promise<Json>>();
  const server = createServer(async (incoming, outgoing) => {
    const answer = (status: number, body: object) =>
      outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      const name = decodeURIComponent(incoming.url?.slice(1) ?? '');
      const input = Buffer.concat(chunks).toString('utf8');
      const { 'idempotency-key': given } = incoming.headers;
      // A key stands for one call: that of another call with the same key is another.
      const key = given === undefined ? null : `${given} ${name} ${input}`;
      const before = key === null ? undefined : known.get(key);
      if (before !== undefined) return answer(200, { ok: true, result: await before });
      const fault = watch.faultOf(name, input);
      if (fault === 'tool_busy') return answer(503, { ok: false, error: `${name} is busy: try again` });
      if (fault === 'tool_reset') return incoming.socket.resetAndDestroy();
      const made = (async () => {
        if (fault === 'tool_slow') await sleep(systemClock, slowMs);
        return world.call(name, JSON.parse(input));
      })();
      if (key !== null) known.set(key, made);
      const result = await made.catch((error) => {
        // Refused, it may be made again.
        if (key !== null) known.delete(key);
        throw error;
      });
      if (watch.onEffect()) answer(200, { ok: true, result });
      else incoming.socket.destroy();
    } catch (error) {
      answer(error instanceof Refused || error instanceof SyntaxError ? 409 : 500, {
        ok: false,
        error: messageOf(error),
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
