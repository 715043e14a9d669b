import type { CallToolResult, Transport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { isRecord } from '../../../platform/plain-json.ts';
import { ToolError } from '../../../vocabulary/tool-error.ts';

/** The extension by which a server answers a call with a task. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** Where `withTasks` puts the task of a result. */
const taskKey = 'pawl/task';

const created = z.looseObject({ taskId: z.string().min(1).max(1_024) });
/**
 * Makes a transport pass the results that are tasks, which the SDK's client does not know, as results that name them.
 */
export function withTasks(transport: Transport): Transport {
  let heard = transport.onmessage;
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => heard,
    set: (listener: typeof heard) => {
      heard = listener && ((message, extra) => listener(named(message), extra));
    },
  });
  return transport;
}

function named<Message>(message: Message): Message {
  if (!isRecord(message) || !isRecord(message.result) || message.result.resultType !== 'task') return message;
  const result = { resultType: 'complete', content: [], _meta: { [taskKey]: message.result } };
  return { ...message, result } as Message;
}

/** Returns the id of the task that a result is; null for any other result. Throws if the task cannot be named. */
export function taskIn(server: string, { _meta }: CallToolResult): string | null {
  if (_meta?.[taskKey] === undefined) return null;
  const task = created.safeParse(_meta[taskKey]);
  if (task.success) return task.data.taskId;
  throw new ToolError(`The server ${server} answered with an invalid task, which may run.`);
}
