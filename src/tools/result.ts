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

/** What a tool returned, as a result of at most `maxBytes` (C-1): whatever it is, it comes out as a clear answer. */
export function renderValue(value: unknown, maxBytes: number, redact: (text: string) => string): Rendered {
  if (value instanceof Error) return renderError(value, maxBytes, redact);
  if (isToolResult(value)) {
    const render = value.success ? renderSuccess : (inner: unknown) => renderFailure(value.message, inner, maxBytes);
    return render(value.value, value.message, maxBytes);
  }
  if (value === undefined) {
    const message = 'The tool returned nothing.';
    return { result: { success: true, value: null, message }, output: { type: 'text', value: message } };
  }
  if (typeof value === 'function' || typeof value === 'symbol') {
    return renderFailure(`The tool returned a ${typeof value}, which cannot be passed on.`, null, maxBytes);
  }
  return renderSuccess(value, 'The tool succeeded.', maxBytes);
}

/** What a tool threw, as a failure (C-3). `redact` takes secrets out of its message (S-5). */
export function renderError(error: unknown, maxBytes: number, redact: (text: string) => string): Rendered {
  const message = redact(messageOf(error)) || 'The tool failed without saying why.';
  return renderFailure(message, error instanceof ToolError ? error.value : null, maxBytes);
}

function renderSuccess(value: unknown, message: string, maxBytes: number): Rendered {
  let text: string;
  let json: Json;
  try {
    json = plain(value, []);
    text = typeof json === 'string' ? json : JSON.stringify(json);
  } catch (error) {
    return renderFailure(`The tool's result could not be turned into JSON: ${messageOf(error)}`, null, maxBytes);
  }
  const capped = cap(text, maxBytes);
  const result = { success: true, value: capped === text ? json : capped, message };
  return { result, output: { type: 'text', value: capped === '' ? 'The tool returned an empty text.' : capped } };
}

function renderFailure(message: string, value: unknown, maxBytes: number): Rendered {
  const text = cap(message, maxBytes);
  let detail: Json = null;
  try {
    detail = plain(value, []);
  } catch {
    detail = 'The details of the failure could not be turned into JSON.';
  }
  const detailText = detail === null ? '' : cap(JSON.stringify(detail), maxBytes);
  const kept = detailText === '' || detailText.length === JSON.stringify(detail).length ? detail : detailText;
  return {
    result: { success: false, value: kept, message: text },
    output: { type: 'error-text', value: detailText === '' ? text : `${text}\n${detailText}` },
  };
}

/** At most `maxBytes` of valid UTF-8: head and tail are kept, and what is left out is said between them. */
export function cap(text: string, maxBytes: number): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return text.isWellFormed() ? text : text.toWellFormed();
  const half = Math.max(0, Math.floor((maxBytes - 120) / 2));
  const note = `\n[… ${bytes - 2 * half} of ${bytes} bytes left out here: the result was too large …]\n`;
  return `${headOf(text, half)}${note}${tailOf(text, half)}`;
}

/** A value as JSON: what JSON does not have is written so that nothing is silently lost. */
function plain(value: unknown, ancestors: readonly object[]): Json {
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
      return value === null ? null : plainObject(value, ancestors);
  }
}

function plainObject(value: object, ancestors: readonly object[]): Json {
  if (ancestors.includes(value)) return '[circular]';
  const inner = [...ancestors, value];
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Uint8Array) return binary(value);
    return plain(value.toJSON(), inner);
  }
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (ArrayBuffer.isView(value)) return binary(value);
  if (value instanceof ArrayBuffer) return `[binary, ${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => plain(item, inner));
  if (value instanceof Map) return [...value].map(([key, item]) => [plain(key, inner), plain(item, inner)]);
  if (value instanceof Set) return [...value].map((item) => plain(item, inner));
  const object: JsonObject = {};
  for (const [key, item] of Object.entries(value)) if (item !== undefined) object[key] = plain(item, inner);
  return object;
}

function binary(view: ArrayBufferView): string {
  return `[binary, ${view.byteLength} bytes]`;
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
