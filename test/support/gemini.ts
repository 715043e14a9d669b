import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A part of a reply, as Google's API streams it. */
type GeminiPart = { text?: string; thought?: boolean; functionCall?: { name: string; args: object } };

/** Starts a server that streams these replies as Google's API does, one after another. */
export async function serveGemini(replies: readonly (readonly GeminiPart[])[]) {
  let index = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const parts = replies[Math.min(index, replies.length - 1)] ?? [];
      index += 1;
      const usageMetadata = {
        promptTokenCount: 100,
        candidatesTokenCount: 10,
        thoughtsTokenCount: 5,
        totalTokenCount: 115,
      };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [at, part] of parts.entries()) {
        const isLast = at === parts.length - 1;
        const candidate = { content: { role: 'model', parts: [part] }, ...(isLast && { finishReason: 'STOP' }) };
        response.write(`data: ${JSON.stringify({ candidates: [candidate], ...(isLast && { usageMetadata }) })}\n\n`);
      }
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, [Symbol.asyncDispose]: close };
}
