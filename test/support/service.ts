import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { type RestToolOptions, restTool } from '../../src/index.ts';

export type Received = { method: string; url: string; headers: IncomingMessage['headers']; body: string };

/** Starts a service on loopback that records the requests it receives. */
export async function service(answer: (request: Received, response: ServerResponse) => void) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
    received.push(one);
    answer(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, [Symbol.asyncDispose]: close };
}

export const json = (response: ServerResponse, value: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

export const user = (url: string, over: Partial<RestToolOptions> = {}) =>
  restTool({
    method: 'GET',
    url: `${url}/users/{id}`,
    description: 'Gets a user.',
    input: z.object({ id: z.string(), fields: z.array(z.string()).optional() }),
    allowPrivate: true,
    ...over,
  });

export const ask = (input: unknown, name = 'user') => ({ calls: [{ name, input }] });
