import type { JSONObject } from '@ai-sdk/provider';
import isDeepEqual from 'fast-deep-equal';
import type { ToolOutput } from '../../machines/index.ts';

/** Whether the SDK would make the output that the model read of what the page shows. */
export function isAsShown(output: ToolOutput, { isError, shown }: { isError: boolean; shown: unknown }): boolean {
  if (isError) return output.type === 'error-text' && output.value === shown;
  if (output.type === 'json') return isDeepEqual(output.value, shown);
  return output.type === 'text' && output.value === shown;
}

/** Returns an answer's metadata, which holds what the model read. */
export function readMetadata(output: ToolOutput): { pawl: JSONObject } {
  return { pawl: { output: output as unknown as JSONObject } };
}

/** Returns what the model read, from the metadata of an answer; null if it read what the page shows. */
export function outputIn(metadata: unknown): ToolOutput | null {
  const own = typeof metadata === 'object' && metadata !== null && 'pawl' in metadata ? metadata.pawl : null;
  const output = typeof own === 'object' && own !== null && 'output' in own ? own.output : null;
  return typeof output === 'object' && output !== null && 'type' in output ? (output as ToolOutput) : null;
}
