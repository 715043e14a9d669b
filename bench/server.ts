/** The scripted server in a process of its own, so that its work is not counted. Prints its URL; ends with its parent. */
import { startModelServer } from '../src/testing/index.ts';

const server = await startModelServer(({ body }) => {
  const turns = Number(body.model?.split('-')[1]);
  const replies = body.messages.filter((message) => message.role === 'assistant').length;
  if (replies >= turns - 1) return { calls: [{ name: 'final_report', input: { content: 'done' } }] };
  return { calls: [{ name: 'echo', input: { text: 'hello' } }] };
});
// Requests are not kept: a bench makes many.
server.requests.push = () => 0;
process.stdout.write(`${server.url}\n`);
process.on('disconnect', () => process.exit(0));
