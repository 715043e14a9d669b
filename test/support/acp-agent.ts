/** An agent in a process of its own, as an editor starts it: `node acp-agent.ts [JOURNAL]`. */
import { tool } from 'ai';
import { z } from 'zod';
import { serveAcp } from '../../src/acp/index.ts';
import { defineAgent, sqliteJournal } from '../../src/index.ts';
import { type RehearsalRequest, type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';

const [file] = process.argv.slice(2);
const textsOf = ({ prompt }: RehearsalRequest) =>
  prompt.flatMap(({ role, content }) =>
    typeof content === 'string'
      ? []
      : content.flatMap((part) => (part.type === 'text' ? [`${role}: ${part.text}`] : [])),
  );

/** Does what the last user message asks for, once, and then says that it did. */
function reply(request: RehearsalRequest): RehearsedReply {
  const last = request.prompt.at(-1);
  const asked = textsOf(request).findLast((text) => text.startsWith('user: ')) ?? '';
  if (textsOf(request).includes('user: loop')) return { calls: [{ name: 'again', input: { at: request.index } }] };
  if (last?.role === 'tool') return { text: 'Done.' };
  if (asked.includes('write'))
    return { calls: [{ name: 'write_text_file', input: { path: '/tmp/none/a.txt', content: 'new' } }] };
  if (asked.includes('read')) return { calls: [{ name: 'read_text_file', input: { path: '/a.txt' } }] };
  if (asked.includes('run')) return { calls: [{ name: 'run_command', input: { command: 'ls', args: ['-l'] } }] };
  if (asked.includes('echo')) return { calls: [{ name: 'every-one__echo', input: { message: 'hello' } }] };
  if (asked.includes('whisper')) return { calls: [{ name: 'whisper', input: {} }] };
  if (asked.includes('hang')) return { reasoning: 'Hm.', text: 'One moment.', calls: [{ name: 'hang', input: {} }] };
  if (asked.includes('refuse')) return { finishReason: 'content-filter' };
  if (asked.includes('fail')) return { throws: new Error('no model') };
  return { text: `You said: ${textsOf(request).join(' | ')}` };
}

const inputSchema = z.object({});
const agent = defineAgent({
  name: 'helper',
  models: [rehearsalModel(reply)],
  finish: 'text',
  limits: { maxTurns: 4, maxRetries: 1 },
  secrets: ['hunter-two-22'],
  tools: {
    whisper: tool({ inputSchema, execute: () => 'psst hunter-two-22' }),
    hang: tool({
      inputSchema,
      execute: (_, { abortSignal }) => new Promise((_, reject) => abortSignal?.addEventListener('abort', reject)),
    }),
    again: tool({ inputSchema: z.object({ at: z.number() }), execute: () => 'once more' }),
  },
});
const served = serveAcp(agent, {
  logger: false,
  ...(file !== undefined && { journal: sqliteJournal(file, { leaseMs: 1_000 }) }),
});
await served.closed;
