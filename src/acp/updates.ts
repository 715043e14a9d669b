import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SessionUpdate, ToolCall, ToolCallContent, ToolKind } from '@agentclientprotocol/sdk';
import type { JsonObject, Message, ToolOutput } from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import { finalReportName, optionalBuiltIns } from '../vocabulary/built-ins.ts';

const longestTitle = 100;

/** The model's tools for what clients get otherwise. */
const own: readonly string[] = [finalReportName, optionalBuiltIns.progressReport];

/** What the tools for files and commands do, `pawl/workspace`'s and the client's own. */
const kinds: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  read_text_file: 'read',
  list_directory: 'read',
  find_files: 'search',
  search_text: 'search',
  write_file: 'edit',
  write_text_file: 'edit',
  edit_file: 'edit',
  move_file: 'move',
  delete_file: 'delete',
  run_command: 'execute',
};

type Asked = { callId: string; name: string; input: JsonObject };

/** Returns a call as clients show it, with the files that it is about. */
export function toolCallOf({ callId, name, input }: Asked, cwd: string): ToolCall {
  const said = JSON.stringify(input);
  const title = `${name} ${said}`;
  const paths = [input.path, input.from, input.to].filter((path) => typeof path === 'string');
  return {
    ...{ toolCallId: callId, name, kind: kinds[name] ?? 'other', rawInput: input },
    title: title.length > longestTitle ? `${title.slice(0, longestTitle - 1)}…` : title,
    ...(paths.length > 0 && { locations: paths.map((path) => ({ path: resolve(cwd, path) })) }),
  };
}

/** Returns what a call would change in a file; null for a call that changes none. */
export async function proposedDiff({ name, input }: Asked, cwd: string): Promise<ToolCallContent | null> {
  if (kinds[name] !== 'edit' || typeof input.path !== 'string') return null;
  const path = resolve(cwd, input.path);
  const { old_text: oldText, new_text: newText, content = newText } = input;
  if (typeof content !== 'string') return null;
  if (typeof oldText === 'string') return { type: 'diff', path, oldText, newText: content };
  return { type: 'diff', path, oldText: await textIn(path), newText: content };
}

/** The largest file that a diff shows, in bytes. */
const largestFile = 1_048_576;

/** Returns a file's text; null if it is missing, too large or not a regular file. */
async function textIn(path: string): Promise<string | null> {
  try {
    const about = await stat(path);
    return about.isFile() && about.size <= largestFile ? await readFile(path, 'utf8') : null;
  } catch {
    return null;
  }
}

/** Returns what a client gets of an event of the session itself. */
export function updatesOf(event: SessionEvent, cwd: string): SessionUpdate[] {
  if (event.path.length > 0) return [];
  switch (event.type) {
    case 'model.delta': {
      if (event.kind === 'tool-input' || event.delta === '') return [];
      const sessionUpdate = event.kind === 'text' ? 'agent_message_chunk' : 'agent_thought_chunk';
      return [{ sessionUpdate, content: { type: 'text', text: event.delta } }];
    }
    case 'attempt.failed':
      // What was shown cannot be taken back.
      if (event.partsTakenBack === 0) return [];
      return [thought(`\n[The reply above failed (${event.slugs.join(', ')}) and does not count.]\n`)];
    case 'tool.requested':
      return own.includes(event.name)
        ? []
        : [{ sessionUpdate: 'tool_call', status: 'pending', ...toolCallOf(event, cwd) }];
    case 'tool.started':
      return [{ sessionUpdate: 'tool_call_update', toolCallId: event.callId, status: 'in_progress' }];
    case 'tool.progressed':
      return [{ sessionUpdate: 'tool_call_update', toolCallId: event.callId, content: contentOf(event.output) }];
    case 'tool.answered':
      if (own.includes(event.name)) return [];
      return [answerUpdate(event.callId, event.output, event.result.success, event.result.value)];
    case 'progress.reported':
      return [thought(`${event.message}\n`)];
    default:
      return [];
  }
}

/** Returns what a client gets of a message that was said before. */
export function updatesOfMessage({ role, content }: Message, cwd: string): SessionUpdate[] {
  if (typeof content === 'string') return role === 'user' ? [chunk('user_message_chunk', content)] : [];
  return content.flatMap((part): SessionUpdate[] => {
    if (part.type === 'text') return [chunk(role === 'user' ? 'user_message_chunk' : 'agent_message_chunk', part.text)];
    if (part.type === 'reasoning') return [thought(part.text)];
    if (part.type === 'tool-call') {
      const { toolCallId: callId, toolName: name } = part;
      return [
        {
          sessionUpdate: 'tool_call',
          status: 'pending',
          ...toolCallOf({ callId, name, input: Object(part.input) }, cwd),
        },
      ];
    }
    if (part.type !== 'tool-result') return [];
    return [answerUpdate(part.toolCallId, part.output, !part.output.type.startsWith('error'))];
  });
}

function answerUpdate(toolCallId: string, output: ToolOutput, isDone: boolean, rawOutput?: unknown): SessionUpdate {
  const status = isDone ? 'completed' : 'failed';
  const raw = rawOutput === undefined || rawOutput === null ? {} : { rawOutput };
  return { sessionUpdate: 'tool_call_update', toolCallId, status, content: contentOf(output), ...raw };
}

const chunk = (sessionUpdate: 'user_message_chunk' | 'agent_message_chunk', text: string): SessionUpdate => ({
  ...{ sessionUpdate, content: { type: 'text', text } },
});
const thought = (text: string): SessionUpdate => ({
  ...{ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } },
});

function contentOf(output: ToolOutput): ToolCallContent[] {
  if (output.type === 'execution-denied') return [];
  const texts =
    output.type === 'content'
      ? output.value.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`))
      : [typeof output.value === 'string' ? output.value : JSON.stringify(output.value)];
  return texts.map((text) => ({ type: 'content', content: { type: 'text', text } }));
}
