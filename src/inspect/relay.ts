import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withPeer } from '../input/peer.ts';
import { closeHttp, isLoopbackHost, isLoopbackOrigin, listening } from '../serve/callers.ts';

/** A message about one actor of a tree. */
export type RelayMessage = { type: string; rootId: string; sessionId: string; text: string };

export type Relay = { readonly address: string; send(message: RelayMessage): void; stop(): void };

const inspectorPage = 'https://stately.ai/inspect';

/** Bytes that may wait for a page that does not read. */
const mostBuffered = 16 * 1_024 * 1_024;

/** How many trees of actors a page that connects later still gets. */
const mostRoots = 50;

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
  const kept = new KeptMessages();
  relay.on('connection', (client) => {
    // A client that disconnects does not matter.
    client.on('error', () => client.terminate());
    for (const text of kept.all()) client.send(text);
  });
  // The relay passes on each error of its server.
  relay.on('error', () => {});
  const { origin } = await listening(server, { port });
  return {
    address: origin,
    send: (message) => {
      kept.note(message);
      for (const client of relay.clients) {
        if (client.bufferedAmount > mostBuffered) client.terminate();
        else if (client.readyState === client.OPEN) client.send(message.text);
      }
    },
    stop: () => {
      for (const client of relay.clients) client.terminate();
      relay.close();
      void closeHttp(server);
    },
  };
}

/** What a page needs that connects later: each actor of the latest trees, and where it stands. */
class KeptMessages {
  private readonly roots = new Map<string, Map<string, { actor: string | null; snapshot: string | null }>>();

  note({ type, rootId, sessionId, text }: RelayMessage): void {
    // An event says nothing of where its actor stands.
    if (type !== '@xstate.actor' && type !== '@xstate.snapshot') return;
    const actors = this.roots.get(rootId) ?? new Map<string, { actor: string | null; snapshot: string | null }>();
    // The tree that moved last is the last to go.
    this.roots.delete(rootId);
    this.roots.set(rootId, actors);
    const known = actors.get(sessionId) ?? { actor: null, snapshot: null };
    actors.set(sessionId, type === '@xstate.actor' ? { ...known, actor: text } : { ...known, snapshot: text });
    const [oldest] = this.roots.keys();
    if (this.roots.size > mostRoots && oldest !== undefined) this.roots.delete(oldest);
  }

  /** All announcements first: an actor's parent is known before it. */
  *all(): Generator<string> {
    const actors = [...this.roots.values()].flatMap((tree) => [...tree.values()]);
    for (const { actor } of actors) if (actor !== null) yield actor;
    for (const { snapshot } of actors) if (snapshot !== null) yield snapshot;
  }
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
