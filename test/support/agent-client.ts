import { Client, type ElicitResult, InMemoryTransport } from '@modelcontextprotocol/client';
import { type Agent, defineAgent, type SessionEvent } from '../../src/index.ts';
import { AgentCalls } from '../../src/serve/mcp/agent-calls.ts';
import { agentServer } from '../../src/serve/mcp/agent-server.ts';
import type { ServerSessions } from '../../src/serve/sessions.ts';
import type { ApprovalInput } from '../../src/session/session.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

export const helper = (more: object = {}) => defineAgent({ name: 'helper', models: [rehearsalModel([])], ...more });
export const delivered = { success: true, report: { content: 'So.' }, slugs: [] };
const at = { sessionId: 's', agent: 'helper', at: 1, path: [] as string[], seq: 1 };
export const event = (fields: object) => ({ ...at, ...fields }) as object as SessionEvent;
export const asks = event({ type: 'tool.approvalRequested', name: 'send', callId: 'c', input: { to: 'me' } });

/** A session: it is told of an event by `tell`, and `decided` resolves with its first approval. */
export type Run = (
  call: { prompt: string; signal: AbortSignal },
  tell: (event: SessionEvent) => void,
  decided: Promise<void>,
) => unknown;

/** A client of a server whose sessions run as `run` says, and what they were told. */
export async function connected(
  run: Run,
  {
    agent = helper(),
    answer,
    vanished = new AbortController().signal,
  }: { agent?: Agent; answer?: (params: unknown) => ElicitResult; vanished?: AbortSignal } = {},
) {
  const approvals: [string, ApprovalInput][] = [];
  const decided = Promise.withResolvers<void>();
  const session = {
    approve: (callId: string, decision: ApprovalInput) => {
      approvals.push([callId, decision]);
      decided.resolve();
    },
  };
  const sessions = {
    start: (_: Agent, call: Parameters<Run>[0], heard: (event: SessionEvent, session: object) => void) =>
      Promise.resolve(run(call, (one) => heard(one, session), decided.promise)),
  } as unknown as ServerSessions;
  const calls = new AgentCalls(new Map([[agent.name, agent]]), sessions, null);
  const server = agentServer(calls, () => ({ ended: vanished, cancelled: () => {} }));
  const { onclose } = server;
  const closed = new Promise<void>((resolve) => {
    server.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  const [one, other] = InMemoryTransport.createLinkedPair();
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: 'test', version: '1' }, { capabilities });
  if (answer !== undefined) client.setRequestHandler('elicitation/create', ({ params }) => answer(params));
  await Promise.all([server.connect(one), client.connect(other)]);
  const call = (given: object = { prompt: 'Look.' }, name = 'helper') =>
    client.callTool({ name, arguments: { ...given } });
  return { client, call, approvals, closed };
}
