/** Runs the scripted server in an unmeasured separate process. Prints its URL and exits with its parent. */
import { ServerResponse } from 'node:http';
import { startModelServer } from '../src/testing/index.ts';

/** The text before each tool call, streamed in tokens of about four characters. */
const spoken =
  'I will look at the next document first, to see whether it says what was asked for, and then go on from there.';
/** 2 KB of text. */
const long = spoken.repeat(20).slice(0, 2_048);

/** When the replies were wholly written, in ns of the machine's clock; and how many requests came. */
const ended: string[] = [];
let asked = 0;
const { end } = ServerResponse.prototype;
ServerResponse.prototype.end = function (this: ServerResponse, ...given: never[]) {
  ended.push(String(process.hrtime.bigint()));
  return Reflect.apply(end, this, given);
} as typeof end;

const server = await startModelServer(({ path, body }) => {
  if (path === '/ended') return { body: JSON.stringify(ended) };
  if (path === '/asked') return { body: String(asked) };

  const [shape, count] = body.model?.split('-') ?? [];
  if (shape === 'hang') return { hang: true };
  const turns = Number(count);
  const replies = body.messages.filter((message) => message.role === 'assistant').length;
  const slow = shape === 'slow' ? { delayMs: 20 } : {};
  if (replies >= turns - 1) return { ...slow, calls: [{ name: 'final_report', input: { content: 'done' } }] };
  const calls = [{ name: 'echo', input: { text: 'hello' } }];
  if (shape === 'long') return { text: long, calls, pieceLength: 512 };
  return shape === 'spoken' ? { text: spoken, calls, pieceLength: 4 } : { ...slow, calls };
});
// A benchmark makes many requests, so none is kept; but they are counted, since the ids of calls are made of it.
server.requests.push = ({ method }) => {
  if (method === 'POST') asked += 1;
  return asked;
};
process.stdout.write(`${server.url}\n`);
process.on('disconnect', () => process.exit(0));
