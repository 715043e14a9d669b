import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ElicitResultSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { FilePart } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { check } from '../input/check.ts';
import { messageOf } from '../input/errors.ts';
import { nonBlank } from '../input/shapes.ts';
import type { SessionEvent } from '../observe/events.ts';
import { isRecord } from '../platform/plain-json.ts';
import { packageVersion } from '../platform/version.ts';
import type { ApprovalInput, Session, SessionResult } from '../session/session.ts';
import { type ServerSessions, TooManySessions } from './sessions.ts';

const input = z.strictObject({ prompt: nonBlank });
const inputSchema = {
  type: 'object' as const,
  properties: { prompt: { type: 'string', minLength: 1, description: 'The task, with everything needed to do it.' } },
  required: ['prompt'],
  additionalProperties: false,
};

/** What a tool call can do with the client that made it. */
type Caller = Parameters<Parameters<Server['setRequestHandler']>[1]>[1];

/**
 * A call that begins. `ended` ends its session, besides the transport's end: its client has gone, or the server closes.
 * `cancelled` hears that the client has cancelled it.
 */
export type StartedCall = { ended: AbortSignal; cancelled: (requestId: Caller['requestId']) => void };

/** Creates the server for one client, with the agent as its only tool. `startOfCall` is called for each call. */
export function agentServer(
  agent: Agent,
  sessions: ServerSessions,
  startOfCall: () => StartedCall,
): { server: Server; closed: Promise<void> } {
  const server = new Server({ name: agent.name, version: packageVersion }, { capabilities: { tools: {} } });
  const gone = new AbortController();
  const description = agent.definition.description ?? `Gives a task to the agent ${agent.name} and returns its report.`;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: agent.name, description, inputSchema }] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, caller) => {
    if (params.name !== agent.name) throw new McpError(ErrorCode.InvalidParams, `unknown tool ${params.name}`);
    const prompt = promptIn(params.arguments);
    const tell = progressTo(caller, params._meta?.progressToken);
    const { ended, cancelled } = startOfCall();
    const signal = AbortSignal.any([caller.signal, gone.signal, ended]);
    // A cancelled call gets no answer, so the transport would leave its response open.
    caller.signal.addEventListener('abort', () => cancelled(caller.requestId), { once: true });
    const call = { prompt, signal };
    /** The open questions to a person, by session and call. */
    const questions = new Map<string, AbortController>();
    try {
      const result = await sessions.start(agent, call, (event, session) => {
        tell(event);
        if (event.type === 'tool.approvalRequested') {
          const withdrawn = new AbortController();
          questions.set(`${event.sessionId} ${event.callId}`, withdrawn);
          void decide(server, caller, event, session, withdrawn.signal);
        }
        // The call needs no decision any more.
        if (event.type === 'tool.answered') questions.get(`${event.sessionId} ${event.callId}`)?.abort();
      });
      return resultOf(result);
    } catch (error) {
      if (!(error instanceof TooManySessions)) throw error;
      throw new McpError(ErrorCode.InternalError, error.message);
    }
  });
  const closed = new Promise<void>((resolve) => {
    server.onclose = () => {
      gone.abort(new Error('the client disconnected'));
      resolve();
    };
  });
  return { server, closed };
}

type Asked = Extract<SessionEvent, { type: 'tool.approvalRequested' }>;

/** Asks the client's user to approve a call, if the client can ask; otherwise denies it at once, with the reason. */
async function decide(
  server: Server,
  caller: Caller,
  { callId, name, input, sessionId }: Asked,
  session: Session,
  withdrawn: AbortSignal,
) {
  const deny = (reason: string): ApprovalInput => ({ approved: false, reason, sessionId });
  const asked = async (): Promise<ApprovalInput> => {
    if (server.getClientCapabilities()?.elicitation === undefined) {
      return deny('The MCP client cannot ask a person for approval (elicitation).');
    }
    const requestedSchema = {
      type: 'object' as const,
      properties: { approve: { type: 'boolean' as const, title: 'Approve', description: 'Run this call?' } },
      required: ['approve'],
    };
    const message = `The agent wants to run ${name} with ${JSON.stringify(input)}.`;
    const params = { mode: 'form' as const, message, requestedSchema };
    const { action, content } = await caller.sendRequest(
      { method: 'elicitation/create', params },
      ElicitResultSchema,
      // The session's own limit on approvals applies (`approvalTimeoutMs`).
      { timeout: longestWaitMs, signal: withdrawn },
    );
    if (action !== 'accept') return deny(action === 'decline' ? 'Declined by the user.' : 'Dismissed by the user.');
    return content?.approve === true ? { approved: true, sessionId } : deny('Declined by the user.');
  };
  const decision = await asked().catch((error) => deny(`The client could not be asked: ${messageOf(error)}`));
  session.approve(callId, decision);
}

/** The longest delay that a timer supports, in ms. */
const longestWaitMs = 2_147_483_647;

/** Returns the task of a call. Throws the protocol's error for any other input. */
function promptIn(given: unknown): string {
  try {
    return check(input, given ?? {}, '', 'invalid_options', 'the input').prompt;
  } catch (error) {
    throw new McpError(ErrorCode.InvalidParams, messageOf(error));
  }
}

/** Returns what sends a session's progress to the client, if it asked for that. */
function progressTo(caller: Caller, progressToken: string | number | undefined): (event: SessionEvent) => void {
  let progress = 0;
  return (event) => {
    const message = progressToken === undefined ? null : progressOf(event);
    if (message === null || progressToken === undefined) return;
    progress += 1;
    const notice = { method: 'notifications/progress' as const, params: { progressToken, progress, message } };
    // The client may have disconnected.
    caller.sendNotification(notice).catch(() => undefined);
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

function resultOf({ success, report, slugs }: SessionResult): CallToolResult {
  const { content } = report;
  if (report.format === 'files' && success) return { content: (content as FilePart[]).map(fileOf) };
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return {
    content: [{ type: 'text', text }],
    ...(isRecord(content) && { structuredContent: { ...content } }),
    ...(!success && { isError: true, _meta: { slugs } }),
  };
}

/** A file of a report, as MCP holds it. */
function fileOf({ mediaType, data, filename }: FilePart, index: number): CallToolResult['content'][number] {
  const name = (filename ?? `file ${index + 1}`).toWellFormed();
  const mimeType = mediaType.toLowerCase();
  if (data.type === 'url') return { type: 'resource_link', uri: data.url, name, mimeType };
  const uri = `report:///${index + 1}/${encodeURIComponent(name)}`;
  if (data.type === 'text') return { type: 'resource', resource: { uri, mimeType, text: data.text } };
  const [kind] = mimeType.split('/');
  if (kind === 'image' || kind === 'audio') return { type: kind, data: data.data, mimeType };
  return { type: 'resource', resource: { uri, mimeType, blob: data.data } };
}
