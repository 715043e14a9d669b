import type { Json } from './json.ts';

/**
 * The one shape of every tool's outcome (C-3). A failure has `value: null` unless the tool itself supplied a
 * structured error. `message` is for people and models; programs look at `success`.
 */
export type ToolResult<T extends Json = Json> = { success: boolean; value: T | null; message: string };

export function failure(message: string, value: Json = null): ToolResult {
  return { success: false, value, message };
}
