import type { Json, JsonObject, ToolOutput, ToolResult } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import { headOf, tailOf } from '../text.ts';

/** An error that a tool throws to give the model a structured value beside the message (C-3). */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly value: Json;

  constructor(message: string, value: Json = null) {
    super(message);
    this.value = value;
  }
}

/** A tool's outcome in the one shape (C-3), and as the model reads it. */
export type Rendered = { result: ToolResult; output: ToolOutput };

/** What holds of every result of a session. */
export type ResultLimits = {
  /** What a result may take of the conversation, in bytes. */
  resultBytes: number;
  /** Takes secrets out of what a failure says (S-5). */
  redact: (text: string) => string;
  /** Keeps a result that is too large, and gives the id to read it by; null where that is not wanted. */
  keep: ((text: string) => string) | null;
};

/** What a tool returned, as a result that is not too large (C-1): whatever it is, it comes out as a clear answer. */
export function renderValue(value: unknown, limits: ResultLimits): Rendered {
  if (value instanceof Error) return renderError(value, limits);
  if (isToolResult(value)) {
    if (!value.success) return renderFailure(value.message, value.value, limits);
    if (value.value === null) return renderMessage(value.message, limits);
    return renderSuccess(value.value, value.message, limits);
  }
  if (value === undefined) return renderMessage('The tool returned nothing.', limits);
  if (typeof value === 'function' || typeof value === 'symbol') {
    return renderFailure(`The tool returned a ${typeof value}, which cannot be passed on.`, null, limits);
  }
  if (value instanceof Blob || value instanceof Response) {
    return renderFailure(
      `The tool returned a ${value.constructor.name}, unread: it has to return its content.`,
      null,
      limits,
    );
  }
  return renderSuccess(value, plainSuccess, limits);
}

/** What a tool threw, as a failure (C-3). */
export function renderError(error: unknown, limits: ResultLimits): Rendered {
  const message = messageOf(error) || 'The tool failed without saying why.';
  return renderFailure(message, error instanceof ToolError ? error.value : null, limits);
}

const plainSuccess = 'The tool succeeded.';

function renderMessage(said: string, limits: ResultLimits): Rendered {
  const message = cap(said, limits) || 'The tool succeeded without saying anything.';
  return { result: { success: true, value: null, message }, output: { type: 'text', value: message } };
}

/** The model reads the value; and the message before it, where the tool gave one of its own. */
function renderSuccess(value: unknown, said: string, limits: ResultLimits): Rendered {
  let json: Json;
  let text: string;
  try {
    json = plain(value, [], { left: mostNodes });
    text = typeof json === 'string' ? json : JSON.stringify(json);
  } catch (error) {
    return renderFailure(`The tool's result could not be turned into JSON: ${messageOf(error)}`, null, limits);
  }
  const capped = cap(text, limits);
  const message = cap(said, limits);
  const heading = said === plainSuccess || said === '' ? '' : `${message}\n`;
  const result = { success: true, value: capped === text ? json : capped, message };
  return { result, output: { type: 'text', value: `${heading}${capped}` || 'The tool returned an empty text.' } };
}

function renderFailure(message: string, value: unknown, limits: ResultLimits): Rendered {
  const text = cap(limits.redact(message), limits) || 'The tool failed without saying why.';
  let detail: Json = null;
  try {
    detail = plain(value, [], { left: mostNodes });
  } catch {
    detail = 'The details of the failure could not be turned into JSON.';
  }
  const detailText = detail === null ? '' : cap(limits.redact(JSON.stringify(detail)), limits);
  const kept = detailText === '' || detailText === JSON.stringify(detail) ? detail : detailText;
  return {
    result: { success: false, value: kept, message: text },
    output: { type: 'error-text', value: detailText === '' ? text : `${text}\n${detailText}` },
  };
}

/** At most `resultBytes` of valid UTF-8: head and tail are kept, and what is left out is said between them. */
export function cap(text: string, { resultBytes, keep }: Pick<ResultLimits, 'resultBytes' | 'keep'>): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= resultBytes) return text.isWellFormed() ? text : text.toWellFormed();
  const how = keep === null ? 'the result was too large' : `read the whole of it with read_result, id ${keep(text)}`;
  const half = Math.max(0, Math.floor((resultBytes - 140) / 2));
  const note = `\n[… ${bytes - 2 * half} of ${bytes} bytes left out here: ${how} …]\n`;
  return `${headOf(text, half)}${note}${tailOf(text, half)}`;
}

/** Values in a result beyond which the rest is left out, so that no result can keep the process from everything else. */
const mostNodes = 200_000;
type Room = { left: number };

/** A value as JSON: what JSON does not have is written so that nothing is silently lost. */
function plain(value: unknown, ancestors: readonly object[], room: Room): Json {
  room.left -= 1;
  if (room.left < 0) return '[left out: the result is too large]';
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'bigint':
      return value.toString();
    case 'undefined':
      return null;
    case 'function':
    case 'symbol':
      return `[${typeof value}]`;
    case 'object':
      return value === null ? null : plainObject(value, ancestors, room);
  }
}

function plainObject(value: object, ancestors: readonly object[], room: Room): Json {
  if (ancestors.includes(value)) return '[circular]';
  const inner = [...ancestors, value];
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Uint8Array) return binary(value);
    return plain(value.toJSON(), inner, room);
  }
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (ArrayBuffer.isView(value)) return binary(value);
  if (value instanceof ArrayBuffer) return `[binary, ${value.byteLength} bytes]`;
  if (Array.isArray(value)) return plainList(value, inner, room);
  if (value instanceof Map) return plainList([...value.entries()], inner, room);
  if (value instanceof Set) return plainList([...value], inner, room);
  const object: JsonObject = {};
  let fields = 0;
  for (const [key, item] of Object.entries(value)) {
    fields += 1;
    if (item === undefined) continue;
    // Assigning to `__proto__` would set the prototype, and lose the value.
    const property = { value: plain(item, inner, room), enumerable: true, configurable: true, writable: true };
    Object.defineProperty(object, key, property);
  }
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return fields === 0 && kind !== 'Object' ? `[${kind}]` : object;
}

function plainList(items: readonly unknown[], ancestors: readonly object[], room: Room): Json[] {
  const kept = items.slice(0, Math.max(0, room.left)).map((item) => plain(item, ancestors, room));
  if (kept.length < items.length) kept.push(`[${items.length - kept.length} more left out]`);
  return kept;
}

function binary(view: ArrayBufferView): string {
  return `[binary, ${view.byteLength} bytes]`;
}

/** What a service or an agent said is a success, of whatever shape it is. */
export function success(value: unknown): unknown {
  return isToolResult(value) ? { success: true, value, message: plainSuccess } : value;
}

/** A tool may return the one shape itself. */
function isToolResult(value: unknown): value is ToolResult {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).length === 3 &&
    'success' in value &&
    typeof value.success === 'boolean' &&
    'value' in value &&
    'message' in value &&
    typeof value.message === 'string'
  );
}
