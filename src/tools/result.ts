import { type Json, plainSuccess, resultText, type ToolOutput, type ToolResult } from '../../machines/index.ts';
import { messageOf } from '../input/errors.ts';
import { byteLength } from '../platform/bytes.ts';
import { plainJson } from '../platform/plain-json.ts';
import { headOf, tailOf } from '../platform/text.ts';
import { betweenSecrets, redact, redactJson } from '../secrets/redact.ts';
import { ToolError } from '../vocabulary/tool-error.ts';

/** An error of one of Pawl's own tools, which was not executed, since the budget of its tree is spent (B-7). */
export class BudgetSpentError extends Error {
  override readonly name = 'BudgetSpentError';
}

/** Whether a thrown value, however hostile, is a `BudgetSpentError`. */
export function isBudgetSpent(error: unknown): boolean {
  try {
    return error instanceof BudgetSpentError;
  } catch {
    return false;
  }
}

/** A tool's outcome as a `ToolResult` (C-3), and as output for the model; `kept` is its complete text if cut. */
export type Rendered = { result: ToolResult; output: ToolOutput; kept: string | null };

/** Rules for every result of a session. */
export type ResultLimits = {
  /** Maximum size of a result in the conversation, in bytes. */
  resultBytes: number;
  /** Maximum size of a result that is kept whole beside it, in bytes. */
  keptBytes: number;
  /** Removed from the message and the value of a failure (S-5). */
  secrets: readonly string[];
  /** The id for reading a large result in full; null if the model can't. */
  keptId: string | null;
};

/** Renders any value that a tool returned as a clear answer of limited size (C-1). */
export function renderValue(value: unknown, limits: ResultLimits): Rendered {
  if (value instanceof Error) return renderError(value, limits);
  const failed = failureIn(value);
  if (failed !== null) return renderFailure(failed.message, failed.value, limits);
  if (isToolResult(value)) {
    if (value.value === null) return renderMessage(value.message, limits);
    return renderSuccess(value.value, value.message, limits);
  }
  if (value === undefined) return renderMessage('The tool returned nothing.', limits);
  if (typeof value === 'function' || typeof value === 'symbol') {
    return renderFailure(`The tool returned a ${typeof value}, which cannot be passed on.`, null, limits);
  }
  const unread = unreadIn(value);
  if (unread !== null) {
    return renderFailure(`The tool returned an unread ${unread}; it must return the content.`, null, limits);
  }
  return renderSuccess(value, plainSuccess, limits);
}

const unreadKinds = ['Blob', 'File', 'ReadableStream', 'Response'];

/**
 * Returns the kind of an unread body, or null for any other value. Checks the tag instead of the class, because a
 * reference to the class makes Node compile its whole `fetch`.
 */
export function unreadIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (unreadKinds.includes(tag)) return tag;
  const isStream = 'pipe' in value && typeof value.pipe === 'function' && 'readable' in value;
  return isStream ? 'stream' : null;
}

/** Renders an error that a tool threw as a failure (C-3). */
export function renderError(error: unknown, limits: ResultLimits): Rendered {
  const message = messageOf(error) || 'The tool failed without a message.';
  return renderFailure(message, carriedBy(error), limits);
}

/** Returns the value that a thrown `ToolError` carries; any other thrown value, however hostile, has none. */
function carriedBy(error: unknown): Json {
  try {
    return error instanceof ToolError ? error.value : null;
  } catch {
    return null;
  }
}

function renderMessage(said: string, limits: ResultLimits): Rendered {
  const message = said.toWellFormed() || 'The tool succeeded without a message.';
  return rendered({ success: true, value: null, message }, limits);
}

function renderSuccess(value: unknown, message: string, limits: ResultLimits): Rendered {
  try {
    const json = plainJson(value, mostNodes);
    return rendered({ success: true, value: json, message: message.toWellFormed() }, limits);
  } catch (error) {
    return renderFailure(`The tool's result cannot be converted to JSON: ${messageOf(error)}`, null, limits);
  }
}

function renderFailure(said: string, value: unknown, limits: ResultLimits): Rendered {
  const message = redact(said, limits.secrets).toWellFormed() || 'The tool failed without a message.';
  return rendered({ success: false, value: detailOf(value, limits), message }, limits);
}

function detailOf(value: unknown, { secrets }: ResultLimits): Json {
  try {
    return redactJson(plainJson(value, mostFailureNodes), secrets);
  } catch {
    return 'The details of the failure cannot be converted to JSON.';
  }
}

/**
 * The result stays complete for events, records and slices; only the model's copy is cut. One over `keptBytes` is cut for
 * all.
 */
function rendered(whole: ToolResult, limits: ResultLimits): Rendered {
  const said = resultText(whole);
  const { text, kept } = cap(said, limits);
  const value = text.trim() === '' ? emptyText : text;
  const result = byteLength(said) <= limits.keptBytes ? whole : cutResult(whole, text, limits);
  return { result, output: { type: whole.success ? 'text' : 'error-text', value }, kept };
}

/** A result whose value is too large to be kept, as the model sees it. */
function cutResult({ success, value, message }: ToolResult, text: string, { secrets }: ResultLimits): ToolResult {
  if (value === null) return { success, value, message: text };
  const end = betweenSecrets(message, headOf(message, mostMessageBytes).length, secrets, 'start');
  return { success, value: text, message: message.slice(0, end) };
}

/** Bytes of the message of a result that is cut. */
const mostMessageBytes = 1_024;

/**
 * Cuts a text to `resultBytes` of valid UTF-8: keeps its head and tail, with a note on the gap between them. `kept` is
 * the complete text if the note says how to read it. No secret is split, since events would show a part of it (S-5).
 */
export function cap(
  said: string,
  { resultBytes, keptBytes, secrets, keptId }: ResultLimits,
): { text: string; kept: string | null } {
  const text = said.toWellFormed();
  const bytes = byteLength(text);
  if (bytes <= resultBytes) return { text, kept: null };
  const isKept = keptId !== null && bytes <= keptBytes;
  const how = !isKept ? 'the result was too large' : `read all of it with read_result, id ${keptId}`;
  const half = Math.max(0, Math.floor((resultBytes - 140) / 2));
  const note = `\n[… ${bytes - 2 * half} of ${bytes} bytes left out here: ${how} …]\n`;
  const head = betweenSecrets(text, headOf(text, half).length, secrets, 'start');
  const tail = betweenSecrets(text, text.length - tailOf(text, half).length, secrets, 'end');
  return { text: `${text.slice(0, head)}${note}${text.slice(tail)}`, kept: isKept ? text : null };
}

/**
 * Limits the size of an output for the model, as `cap` does for a text. Files are kept. Texts that are too long together
 * become one text before the files, without their options for providers.
 */
export function capOutput(output: ToolOutput, limits: ResultLimits): Omit<Rendered, 'result'> {
  const capped = (type: 'text' | 'error-text', said: string) => {
    const { text, kept } = cap(said, limits);
    return { output: { type, value: text.trim() === '' ? emptyText : text }, kept };
  };
  switch (output.type) {
    case 'text':
    case 'error-text':
      return capped(output.type, output.value);
    case 'json':
    case 'error-json': {
      const text = JSON.stringify(output.value);
      if (byteLength(text) <= limits.resultBytes) return { output, kept: null };
      return capped(output.type === 'json' ? 'text' : 'error-text', text);
    }
    case 'content': {
      const bytes = output.value.reduce((sum, part) => sum + (part.type === 'text' ? byteLength(part.text) : 0), 0);
      const value = output.value.filter((part) => part.type !== 'text' || part.text !== '');
      if (
        bytes <= limits.resultBytes &&
        value.some((part) => part.type === 'file' || part.providerOptions !== undefined)
      )
        return { output: { type: 'content', value }, kept: null };
      const texts = output.value.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : []));
      const files = output.value.filter((part) => part.type === 'file');
      // The size limit of one result applies to all texts combined.
      const all = capped('text', texts.join('\n'));
      if (files.length === 0) return all;
      const text = texts.length === 0 ? [] : [{ type: 'text' as const, text: all.output.value }];
      return { output: { type: 'content', value: [...text, ...files] }, kept: all.kept };
    }
    case 'execution-denied':
      return { output, kept: null };
    default:
      return output satisfies never;
  }
}

/** What stands for a result without any text: some providers refuse a blank one. */
const emptyText = '(empty)';

/** Maximum number of values read from a result, so that a huge one cannot block the process. */
const mostNodes = 100_000;

/** The same for a failure's value, every text of which is redacted. */
const mostFailureNodes = 10_000;

/** Marks the value of a service or an agent as a success, even if it has the shape of a `ToolResult`. */
export function success(value: unknown): unknown {
  return isToolResult(value) || failureIn(value) !== null ? { success: true, value, message: plainSuccess } : value;
}

/** Returns the failure that a tool reported, or null: `success: false` with a message, whatever else stands beside it. */
function failureIn(value: unknown): { message: string; value: unknown } | null {
  if (typeof value !== 'object' || value === null || !('success' in value) || value.success !== false) return null;
  if (!('message' in value) || typeof value.message !== 'string') return null;
  const { success: _, message, ...rest } = value;
  const names = Object.keys(rest);
  if (names.length === 0) return { message, value: null };
  return { message, value: 'value' in rest && names.length === 1 ? rest.value : rest };
}

/** Whether the tool itself returned a `ToolResult`. */
function isToolResult(value: unknown): value is ToolResult {
  return (
    typeof value === 'object' &&
    value !== null &&
    'success' in value &&
    typeof value.success === 'boolean' &&
    'value' in value &&
    'message' in value &&
    typeof value.message === 'string' &&
    Object.keys(value).length === 3
  );
}
