import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Agent } from '../../agent/definition.ts';
import { check } from '../../input/check.ts';
import { messageOf } from '../../input/errors.ts';
import { longestMs, nonBlank } from '../../input/shapes.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { isRecord } from '../../platform/plain-json.ts';
import { packageVersion } from '../../platform/version.ts';
import { toolNameOf } from '../../vocabulary/tool-names.ts';
import type { AgentCalls, CallOptions } from './agent-calls.ts';
import { tasksExtension } from './agent-tasks.ts';
import { approvalForm, decisionIn } from './approval-form.ts';
import { declaresTasks, serveTasks } from './task-methods.ts';

const input = z.strictObject({ prompt: nonBlank });
const inputSchema = {
  type: 'object' as const,
  properties: { prompt: { type: 'string', minLength: 1, description: 'The task, with everything needed to do it.' } },
  required: ['prompt'],
  additionalProperties: false,
};

/** How long a client may keep the list of tools, in ms: it does not change while the server runs. */
const listHint = { ttlMs: 300_000, cacheScope: 'public' as const };

/** The longest delay that a timer supports, in ms. */

/**
 * A call that begins. `ended` ends its session, besides the transport's end: its client has gone, or the server closes.
 * `cancelled` hears that the client has cancelled it.
 */
export type StartedCall = { ended: AbortSignal; cancelled: (requestId: RequestId) => void };

/**
 * Creates the server for one client, or for one request of revision 2026-07-28, with each agent as a tool.
 * `startOfCall` is called for each call.
 */
export function agentServer(calls: AgentCalls, startOfCall: () => StartedCall): Server {
  const { agents, tasks } = calls;
  const byTool = new Map([...agents.values()].map((agent) => [toolNameOf(agent.name), agent]));
  const [only, ...others] = byTool.keys();
  const name = others.length === 0 && only !== undefined ? only : 'pawl';
  const extensions = tasks === null ? {} : { extensions: { [tasksExtension]: {} } };
  const server = new Server(
    { name, version: packageVersion },
    { capabilities: { tools: {}, ...extensions }, cacheHints: { 'tools/list': listHint } },
  );
  const gone = new AbortController();
  server.onclose = () => gone.abort(new Error('the client disconnected'));
  server.setRequestHandler('tools/list', () => ({ tools: [...agents.values()].map(toolOf) }));
  if (tasks !== null) serveTasks(server, tasks);
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const agent = byTool.get(params.name);
    if (agent === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `unknown tool ${params.name}`);
    const prompt = promptIn(params.arguments);
    if (tasks?.names.has(agent.name) === true && declaresTasks(mcpReq.envelope)) return calls.beginTask(agent, prompt);
    const { ended, cancelled } = startOfCall();
    // A cancelled call gets no answer, so the transport would leave its response open.
    mcpReq.signal.addEventListener('abort', () => cancelled(mcpReq.id), { once: true });
    // By a request of its own, a client of this revision is asked after the call has returned what is to be answered.
    const isModern = mcpReq.envelope !== undefined;
    const handle = mcpReq.requestState();
    const heard = progressTo(mcpReq);
    const call =
      handle === undefined
        ? calls.begin(agent, {
            prompt,
            // Such a call may outlive its first request.
            signal: isModern ? ended : AbortSignal.any([mcpReq.signal, gone.signal, ended]),
            heard,
            ask: isModern && mayAsk(server, mcpReq) ? null : askingOf(server, mcpReq),
          })
        : calls.withHandle(handle);
    call.answer(mcpReq.inputResponses ?? {});
    return await call.next(AbortSignal.any([mcpReq.signal, gone.signal]), heard);
  });
  return server;
}

type Request = ServerContext['mcpReq'];

function toolOf({ name, definition }: Agent) {
  const description = definition.description ?? `Gives a task to the agent ${name} and returns its report.`;
  const tool = toolNameOf(name);
  return { name: tool, ...(tool !== name && { title: name }), description, inputSchema };
}

/** Whether the client can ask a person. */
function mayAsk(server: Server, { envelope }: Request): boolean {
  const own: Readonly<Record<string, unknown>> = envelope ?? {};
  const capabilities = own[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
  return isRecord(capabilities) && capabilities.elicitation !== undefined;
}

/** Asks the client's user to approve a call, if the client can ask; otherwise denies it at once, with the reason. */
function askingOf(server: Server, request: Request): NonNullable<CallOptions['ask']> {
  return async (asked, withdrawn) => {
    if (!mayAsk(server, request)) {
      return { approved: false, reason: 'The MCP client cannot ask a person for approval (elicitation).' };
    }
    const params = { mode: 'form' as const, ...approvalForm(asked) };
    // The session's own limit on approvals applies (`approvalTimeoutMs`).
    const options = { timeout: longestMs, signal: withdrawn };
    return request.send({ method: 'elicitation/create', params }, options).then(decisionIn, (error) => ({
      approved: false,
      reason: `The client could not be asked: ${messageOf(error)}`,
    }));
  };
}

/** Returns the task of a call. Throws the protocol's error for any other input. */
function promptIn(given: unknown): string {
  try {
    return check(input, given ?? {}, '', 'invalid_options', 'the input').prompt;
  } catch (error) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, messageOf(error));
  }
}

/** Returns what sends a session's progress to the client, if it asked for that. */
function progressTo({ _meta, notify }: Request): (event: SessionEvent) => void {
  const progressToken = _meta?.progressToken;
  let progress = 0;
  return (event) => {
    const message = progressToken === undefined ? null : progressOf(event);
    if (message === null || progressToken === undefined) return;
    progress += 1;
    const params = { progressToken, progress, message };
    // The client may have disconnected.
    notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}

/** Returns the progress message for an event, or null if the event is not forwarded. */
function progressOf(event: SessionEvent): string | null {
  const where = event.path.length === 0 ? '' : `${event.path.join(' > ')}: `;
  switch (event.type) {
    case 'attempt.started':
      return `${where}turn ${event.turn}, attempt ${event.attempt}`;
    case 'attempt.failed':
      return `${where}turn ${event.turn}, attempt ${event.attempt} failed: ${event.slugs.join(', ')}`;
    case 'tool.answered':
      return `${where}${event.name}: ${event.slug ?? 'done'}`;
    case 'progress.reported':
      return `${where}${event.message}`;
    default:
      return null;
  }
}
