import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withPeer } from '../input/peer.ts';
import { closeHttp, isLoopbackHost, isLoopbackOrigin, listening } from '../serve/callers.ts';

export type Relay = { readonly address: string; send(message: string): void; stop(): void };

const inspectorPage = 'https://stately.ai/inspect';

/** Bytes that may wait for a page that does not read. */
const mostBuffered = 16 * 1_024 * 1_024;

/** How many messages a page that connects later still gets. */
const kept = 200;

/**
 * Starts a WebSocket relay in the protocol of `@statelyai/inspect`, whose own listens on every address and answers any
 * page. This one listens on loopback, and sends only to pages of loopback and of `origins`. Rejects with
 * `invalid_options` if the port is taken.
 */
export async function startRelay(port: number, origins: readonly string[]): Promise<Relay> {
  const { WebSocketServer } = await withPeer('ws', () => import('ws'));
  const server = createServer((request, response) => {
    if (!isLoopbackHost(request.headers.host ?? '')) {
      response.writeHead(403).end('The inspector answers on localhost only.\n');
      return;
    }
    const { port: own } = server.address() as AddressInfo;
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headersFor(own) }).end(page(own));
  });
  const relay = new WebSocketServer({
    server,
    verifyClient: ({ origin, req }: { origin: string | undefined; req: IncomingMessage }) =>
      isLoopbackHost(req.headers.host ?? '') && mayRead(origin, origins),
  });
  const messages: string[] = [];
  relay.on('connection', (client) => {
    // A client that disconnects does not matter.
    client.on('error', () => client.terminate());
    for (const message of messages) client.send(message);
  });
  // The relay passes on each error of its server.
  relay.on('error', () => {});
  const { origin } = await listening(server, { port });
  return {
    address: origin,
    send: (message) => {
      messages.push(message);
      if (messages.length > kept) messages.shift();
      for (const client of relay.clients) {
        if (client.bufferedAmount > mostBuffered) client.terminate();
        else if (client.readyState === client.OPEN) client.send(message);
      }
    },
    stop: () => {
      for (const client of relay.clients) client.terminate();
      relay.close();
      void closeHttp(server);
    },
  };
}

/** A client without an origin is not a page, but a program on this machine. */
function mayRead(origin: string | undefined, origins: readonly string[]): boolean {
  const isInspector = origin === new URL(inspectorPage).origin;
  return origin === undefined || isInspector || origins.includes(origin) || isLoopbackOrigin(origin);
}

function headersFor(port: number): Record<string, string> {
  const { origin } = new URL(inspectorPage);
  const policy = `default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-src ${origin}; connect-src ws://127.0.0.1:${port}`;
  return { 'content-security-policy': policy, 'x-content-type-options': 'nosniff' };
}

/** The page: the inspector in a frame, which gets each message once it says that it is ready. */
function page(port: number): string {
  const { origin } = new URL(inspectorPage);
  return `<!doctype html>
<title>Pawl in the Stately inspector</title>
<style>html, body, iframe { margin: 0; width: 100%; height: 100%; border: 0; display: block }</style>
<iframe src="${inspectorPage}" title="Stately inspector"></iframe>
<script>
  const frame = document.querySelector('iframe');
  let early = [];
  const pass = (message) => frame.contentWindow.postMessage(message, '${origin}');
  addEventListener('message', ({ origin, data }) => {
    if (origin !== '${origin}' || data?.type !== '@statelyai.connected' || early === null) return;
    early.forEach(pass);
    early = null;
  });
  new WebSocket('ws://127.0.0.1:${port}').onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (early === null) pass(message);
    else early.push(message);
  };
</script>
`;
}
