import type { AddressInfo } from 'node:net';
import { sleep, systemClock } from '../host/clock.ts';
import { messageOf } from '../input/errors.ts';
import type { ToolFault } from './faults.ts';
import { type LivedWorld, Refused } from './world.ts';

/** How long a slow tool takes, in ms. */
const slowMs = 400;

export type ToolServer = { url: string; close(): Promise<void> };

/**
 * Serves the tools of a world: `POST URL/NAME` with the input answers `{"ok":true,"result":…}`, or with an error of 409
 * if the world refuses the call, and of 503 while a tool is busy. `faultFor` says what goes wrong with the next call.
 */
export async function startToolServer(world: LivedWorld, faultFor: () => ToolFault | null): Promise<ToolServer> {
  const { createServer } = await import('node:http');
  const server = createServer(async (incoming, outgoing) => {
    const answer = (status: number, body: object) =>
      outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      const name = decodeURIComponent(incoming.url?.slice(1) ?? '');
      const fault = faultFor();
      if (fault === 'tool_busy') return answer(503, { ok: false, error: `${name} is busy: try again` });
      if (fault === 'tool_reset') return incoming.socket.resetAndDestroy();
      if (fault === 'tool_slow') await sleep(systemClock, slowMs);
      answer(200, { ok: true, result: world.call(name, JSON.parse(Buffer.concat(chunks).toString('utf8'))) });
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
