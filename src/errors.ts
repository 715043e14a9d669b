/** What can be wrong with a definition or a call of the API. Nothing else is ever thrown at a caller. */
export type PawlErrorCode =
  | 'invalid_agent'
  | 'invalid_limit'
  | 'invalid_model'
  | 'invalid_tool'
  | 'duplicate_tool'
  | 'invalid_server'
  | 'invalid_schema'
  | 'invalid_format'
  | 'invalid_budget'
  | 'invalid_messages'
  | 'invalid_options'
  | 'invalid_agent_file'
  | 'invalid_workflow'
  | 'invalid_work_item'
  | 'invalid_config'
  | 'invalid_backlog'
  | 'backlog_locked'
  | 'backlog_failed';

/** A programming error: `code` is closed, and the message names the field, the value and what is allowed. */
export class PawlError extends Error {
  override readonly name = 'PawlError';
  readonly code: PawlErrorCode;

  constructor(code: PawlErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A value as an error message shows it: JSON where that is possible, cut at 120 characters. */
export function shown(value: unknown): string {
  let text: string | undefined;
  try {
    text = typeof value === 'function' ? 'a function' : hasJson(value) ? JSON.stringify(value) : String(value);
  } catch {
    text = Object.prototype.toString.call(value);
  }
  text ??= String(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/** What JSON would show as something else: NaN as null, a Map as {}. */
function hasJson(value: unknown): boolean {
  return typeof value !== 'number' && !(value instanceof Map) && !(value instanceof Set);
}

/** Looks after what a function of the user's returned, in case that it is a promise that nobody awaits. */
export function onRejection(returned: unknown, told: (error: unknown) => void): void {
  if (returned instanceof Promise) returned.catch(told);
}

/** What was thrown, in words; whatever it is, and never by throwing. */
export function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    return typeof message === 'string' ? message : shown(message);
  } catch {
    return 'something was thrown that cannot be shown';
  }
}
