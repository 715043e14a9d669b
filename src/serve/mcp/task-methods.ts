import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { isRecord } from '../../platform/plain-json.ts';
import { type AgentTasks, tasksExtension } from './agent-tasks.ts';

/** Revision 2026-07-28's code for it. */
const missingCapability = -32_021;

/** Whether a request of revision 2026-07-28 declares the extension. */
export function declaresTasks(envelope: unknown): boolean {
  const capabilities: unknown = isRecord(envelope) ? envelope[CLIENT_CAPABILITIES_META_KEY] : null;
  const extensions: unknown = isRecord(capabilities) ? capabilities.extensions : null;
  return isRecord(extensions) && isRecord(extensions[tasksExtension]);
}

const byId = z.looseObject({ taskId: z.string() });

/** Serves the methods of the extension: how a task is, what is answered to its questions, and its end. */
export function serveTasks(server: Server, tasks: AgentTasks): void {
  const serve = (method: string, work: (taskId: string, request: ServerContext['mcpReq']) => Promise<object>) =>
    server.setRequestHandler(method, { params: byId }, async ({ taskId }, context) => {
      permit(method, context);
      return { ...(await work(taskId, context.mcpReq)) };
    });
  serve('tasks/get', (taskId) => tasks.get(taskId));
  serve('tasks/update', (taskId, { inputResponses = {} }) => tasks.update(taskId, inputResponses));
  serve('tasks/cancel', (taskId) => tasks.cancel(taskId));
}

function permit(method: string, { mcpReq }: ServerContext): void {
  // Earlier revisions know other methods by these names.
  if (mcpReq.envelope === undefined)
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `Unknown method ${method}`);
  if (!declaresTasks(mcpReq.envelope)) {
    const requiredCapabilities = { extensions: { [tasksExtension]: {} } };
    throw new ProtocolError(missingCapability, `The client must declare ${tasksExtension}.`, { requiredCapabilities });
  }
}
