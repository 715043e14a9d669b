/**
 * The server that the MCP conformance suite asks: agents under the names of the tools that it calls, with their address on
 * the standard output. The suite's tools have arguments of their own: before it reaches the server, a call's arguments
 * become the agent's prompt.
 */
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { tool } from 'ai';
import { type Agent, defineAgent, type Limits, serveMcp, sqliteJournal } from 'pawl';
import { type RehearsalRequest, type RehearsedReply, rehearsalModel } from 'pawl/testing';
import { z } from 'zod';

type Script = (request: RehearsalRequest, given: Record<string, unknown>) => RehearsedReply;

const done = (content: string) => ({ calls: [{ name: 'final_report', input: { content } }] });
const isAsked = ({ prompt }: RehearsalRequest) => prompt.at(-1)?.role === 'user';

/** What the prompt of a request holds of the suite's arguments. */
function argumentsIn({ prompt }: RehearsalRequest): Record<string, unknown> {
  const [first] = prompt.flatMap((message) => (message.role === 'user' ? message.content : []));
  return first?.type === 'text' && first.text.startsWith('{') ? JSON.parse(first.text) : {};
}

const send = tool({
  description: 'Sends a message.',
  inputSchema: z.object({ to: z.string() }),
  needsApproval: true,
  execute: ({ to }) => `sent to ${to}`,
});
const sendTo = (...names: string[]) => ({ calls: names.map((to) => ({ name: 'send', input: { to } })) });

const agentOf = (name: string, script: Script, limits: Partial<Limits> = {}): Agent =>
  defineAgent({
    name,
    models: [rehearsalModel((asked) => script(asked, argumentsIn(asked)))],
    tools: { send },
    report: { format: 'text' },
    limits,
  });

const agents: Agent[] = [
  agentOf('helper', (asked) => (isAsked(asked) ? sendTo('ann') : done('Done.'))),
  agentOf('greet', (_, { name }) => done(`Hello, ${String(name)}!`)),
  agentOf('slow_compute', (_, { seconds }) => ({ delayMs: Number(seconds) * 1_000, ...done('Computed.') })),
  agentOf('failing_job', () => ({}), { maxTurns: 1, maxRetries: 1 }),
  agentOf('confirm_delete', (asked) => (isAsked(asked) ? sendTo('ann') : done('Deleted.'))),
  agentOf('multi_input', (asked) => (isAsked(asked) ? sendTo('ann', 'bob') : done('Both.'))),
];
const served = await serveMcp(agents, {
  transport: { http: {} },
  logger: false,
  journal: sqliteJournal(':memory:'),
  tasks: ['slow_compute', 'failing_job', 'confirm_delete', 'multi_input'],
});

/** The body of a request, with the arguments of a call as its prompt. */
async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const body = await text(incoming);
  if (!body.includes('"tools/call"')) return body;
  try {
    const message = JSON.parse(body);
    const { arguments: given } = message.params;
    if (typeof given?.prompt === 'string') return body;
    message.params.arguments = { prompt: JSON.stringify(given ?? {}) };
    return JSON.stringify(message);
  } catch {
    return body;
  }
}

const proxy = createServer(async (incoming, outgoing) => {
  const body = await bodyOf(incoming);
  const headers = { ...incoming.headers, 'content-length': String(Buffer.byteLength(body)) };
  const { port } = new URL(served.url ?? '');
  const own = request({ port, path: incoming.url, method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  own.on('error', () => outgoing.destroy());
  outgoing.on('close', () => own.destroy());
  own.end(body);
});
proxy.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const { port } = proxy.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}/mcp\n`);
});
process.once('SIGTERM', () => {
  proxy.close();
  proxy.closeAllConnections();
  void served.close().then(() => process.exit(0));
});
