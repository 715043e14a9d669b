/** Runs the scripted server in an unmeasured separate process. Prints its URL and exits with its parent. */
import { startModelServer } from '../src/testing/index.ts';

/** The text before each tool call, streamed in tokens of about four characters. */
const spoken =
  'I will look at the next document first, to see whether it says what was asked for, and then go on from there.';
/** 2 KB of text. */
const long = spoken.repeat(20).slice(0, 2_048);

const server = await startModelServer(({ body }) => {
  const [shape, count] = body.model?.split('-') ?? [];
  const turns = Number(count);
  const replies = body.messages.filter((message) => message.role === 'assistant').length;
  if (replies >= turns - 1) return { calls: [{ name: 'final_report', input: { content: 'done' } }] };
  const calls = [{ name: 'echo', input: { text: 'hello' } }];
  if (shape === 'long') return { text: long, calls, pieceLength: 512 };
  return shape === 'spoken' ? { text: spoken, calls, pieceLength: 4 } : { calls };
});
// A benchmark makes many requests, so keep none of them.
server.requests.push = () => 0;
process.stdout.write(`${server.url}\n`);
process.on('disconnect', () => process.exit(0));
