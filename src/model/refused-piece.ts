import { APICallError, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import type { FilePart, Message, RefusedPiece } from '../../machines/index.ts';
import { saidBy } from './faults.ts';

/** What is looked for: the words of the error, its path into the request, and the request as it went out. */
type Refusal = { words: string; body: unknown };

/**
 * Returns the piece of a request that its provider refused as invalid, if a stub can replace it (P-2): the one that the
 * error names by its place in the request, else the newest from a tool. Undefined if the error is about anything else.
 */
export function refusedPiece(
  error: unknown,
  messages: readonly Message[],
  tools: readonly string[],
): RefusedPiece | undefined {
  const refusal = refusalIn(error);
  if (refusal === null) return undefined;
  const tool = refusedTool(refusal, tools);
  if (tool !== undefined) return { kind: 'schema', tool };
  const named = namedPiece(refusal, messages);
  if (named !== undefined) return named;
  const { words } = refusal;
  if (takesNone.test(words))
    return messages.some((message) => filesIn(message).length > 0) ? { kind: 'files' } : undefined;
  return isAboutMessages.test(words) ? newestFromTool(messages, isAboutFile.test(words)) : undefined;
}

const isAboutFile = /\b(?:images?|image_url|pictures?|media|pdf|documents?|files?|audio|video|base64)\b/i;
const isAboutMessages = new RegExp(
  `${isAboutFile.source}|\\b(?:messages?|contents?|tool_result|tool result|inputs?)\\b[\\[. ]`,
  'i',
);

/** What a model says that takes no files, of any kind or of one. */
const takesNone =
  /(?:does ?n[o']t|do not|cannot|not|no endpoints? (?:found )?that) (?:support|accept|take|allow)[^.]{0,40}(?:image|vision|multimodal|media|file)|(?:image|vision|multimodal|media|file)[^.]{0,60}(?:not (?:supported|available|allowed)|unsupported|functionality not supported)|not a (?:multimodal|vision) model/i;

/** The place of a piece in a request: `messages[3].content[1]`, `messages.3.content.1`, `input[4]`, `contents[2].parts[0]`. */
const place = /\b(messages|input|contents)\W{1,2}(\d+)\W?(?:\W(?:content|parts)\W{1,2}(\d+))?/i;
const toolPlace = /\btools\W{1,2}(\d+)\W?(?:\W(?:function_declarations|functionDeclarations)\W{1,2}(\d+))?/i;
const toolName = /\b(?:function|tool)\b[^'"`]{0,20}['"`]([\w-]{1,64})['"`]/i;

function refusalIn(error: unknown): Refusal | null {
  if (APICallError.isInstance(error)) return { words: saidBy(error), body: error.requestBodyValues };
  // Any other error was thrown before anything was sent.
  return error instanceof Error && !UnsupportedFunctionalityError.isInstance(error)
    ? null
    : { words: saidBy(error), body: null };
}

function refusedTool({ words, body }: Refusal, tools: readonly string[]): string | undefined {
  if (!/schema|parameters|function|tool/i.test(words)) return undefined;
  const named = toolName.exec(words)?.[1];
  if (/schema|parameters/i.test(words) && named !== undefined && tools.includes(named)) return named;
  const [, index, inner] = toolPlace.exec(words) ?? [];
  if (index === undefined) return undefined;
  const sent = at(at(body, 'tools'), index);
  const declared = at(at(sent, 'functionDeclarations'), inner ?? '0') ?? at(sent, 'function') ?? sent;
  const name = at(declared, 'name');
  return typeof name === 'string' && tools.includes(name) ? name : undefined;
}

/** Finds the piece of the conversation that stands at the place which the error names. */
function namedPiece({ words, body }: Refusal, messages: readonly Message[]): RefusedPiece | undefined {
  const [, list = '', index = '', inner] = place.exec(words) ?? [];
  const message = at(at(body, list), index);
  if (message === undefined) return undefined;
  const contents = at(message, 'content') ?? at(message, 'parts');
  const sent = inner === undefined ? message : (at(contents, inner) ?? message);
  const text = JSON.stringify(sent);
  for (const [position, one] of messages.entries()) {
    for (const { part, file, callId } of filesIn(one)) {
      if (!text.includes(dataOf(file))) continue;
      return callId === null ? { kind: 'file', message: position, part } : { kind: 'result', callId };
    }
    if (one.role !== 'tool') continue;
    const result = one.content.find(({ toolCallId }) => text.includes(JSON.stringify(toolCallId)));
    if (result !== undefined && !/"(?:tool_use|tool_calls|function_call)"/.test(text)) {
      return { kind: 'result', callId: result.toolCallId };
    }
  }
  return undefined;
}

function newestFromTool(messages: readonly Message[], isFile: boolean): RefusedPiece | undefined {
  for (const message of messages.toReversed()) {
    if (message.role !== 'tool') continue;
    const result = message.content.findLast((part) => !isFile || filesIn({ ...message, content: [part] }).length > 0);
    if (result !== undefined) return { kind: 'result', callId: result.toolCallId };
  }
  if (!isFile) return undefined;
  const position = messages.findLastIndex((message) => filesIn(message).length > 0);
  const last = position === -1 ? undefined : messages[position];
  const part = last === undefined ? undefined : filesIn(last).at(-1)?.part;
  return part === undefined ? undefined : { kind: 'file', message: position, part };
}

type Found = { part: number; file: FilePart; callId: string | null };

/** Returns the files of a message, and of the results in it. */
function filesIn(message: Message): Found[] {
  return message.content.flatMap((part, index): Found[] => {
    if (part.type === 'file') return [{ part: index, file: part, callId: null }];
    if (part.type !== 'tool-result' || message.role !== 'tool' || part.output.type !== 'content') return [];
    const { toolCallId, output } = part;
    return output.value.flatMap((file) => (file.type === 'file' ? { part: index, file, callId: toolCallId } : []));
  });
}

/** Returns what a request holds of a file. */
function dataOf({ data }: FilePart): string {
  return data.type === 'url' ? data.url : data.type === 'data' ? data.data : data.text;
}

function at(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
