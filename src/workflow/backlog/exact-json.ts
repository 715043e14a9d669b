import { isRecord } from '../../platform/plain-json.ts';

type Source = { source?: string };
type RawJson = { rawJSON?: (text: string) => unknown };

/**
 * Parses an object so that writing it again keeps every number as it was written: one that no number holds exactly, and
 * `1.0`. Returns null for anything else.
 */
export function exactObject(text: string | null): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text ?? 'null', exactly as (key: string, value: unknown) => unknown);
    return isRecord(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

function exactly(_key: string, value: unknown, { source }: Source): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return (JSON as RawJson).rawJSON?.(source) ?? value;
}
