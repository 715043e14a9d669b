import type { Json } from './json.ts';

/**
 * The result of any tool (C-3). A failure has `value: null` unless the tool itself supplied a structured error.
 * `message` is for people and models; programs check `success`.
 */
export type ToolResult<T extends Json = Json> = { success: boolean; value: T | null; message: string };

export function failure(message: string, value: Json = null): ToolResult {
  return { success: false, value, message };
}

/** The default message of a successful result. */
export const plainSuccess = 'The tool succeeded.';

/** Returns a result's full text for the model: the message if informative, then the value. */
export function resultText({ success, value, message }: ToolResult): string {
  if (value === null) return message;
  const text = typeof value === 'string' && success ? value : JSON.stringify(value);
  const heading = success && (message === plainSuccess || message === '') ? '' : `${message}\n`;
  return `${heading}${text}`;
}
