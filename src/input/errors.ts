import { namesSecret, secretOnTheWay } from '../secrets/credential-names.ts';
import { redact } from '../secrets/redact.ts';
import { removed } from '../secrets/shapes.ts';

/** The codes of `PawlError`, the only error that the API throws at its callers. */
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
  | 'invalid_backlog'
  | 'backlog_locked'
  | 'backlog_failed'
  | 'invalid_journal'
  | 'journal_failed'
  | 'session_exists'
  | 'session_taken'
  | 'session_unknown'
  | 'session_ended'
  | 'agent_changed'
  | 'machines_changed'
  | 'tools_unavailable'
  | 'unsupported_runtime';

/**
 * A programming error with a code from a fixed set. Its message shows each field's required and actual value.
 * `problems` has a sentence per problem; those of a definition are reported together.
 */
export class PawlError extends Error {
  override readonly name = 'PawlError';
  readonly code: PawlErrorCode;
  readonly problems: readonly string[];

  constructor(code: PawlErrorCode, problems: string | readonly string[], options?: ErrorOptions) {
    const list = typeof problems === 'string' ? [problems] : problems;
    super(
      list.length === 1 ? list[0] : `${list.length} problems:\n${list.map((one) => `- ${one}`).join('\n')}`,
      options,
    );
    this.code = code;
    this.problems = list;
  }
}

/** Builds the bad-input sentence: "`limits.maxRetries` must be an integer of at least 1; got 0." */
export function expected(field: string, value: unknown, what: string): string {
  const name = `\`${field}\``;
  return value === undefined ? `${name} is required: ${what}.` : `${name} must be ${what}; got ${given(value, field)}.`;
}

/** Builds the error for a field that has another value than `what`; its sentence is that of `expected`. */
export function unexpected(code: PawlErrorCode, field: string, value: unknown, what: string): PawlError {
  return new PawlError(code, expected(field, value, what));
}

/**
 * Formats what a caller gave for a field, such as `mcpServers.docs.headers`, as `shown` does. What has the name of a
 * credential is not shown, nor what has the shape of one: this early, no secret is known (S-5).
 */
export function given(value: unknown, field = ''): string {
  const isHidden = (name: string, inner: unknown) =>
    (typeof inner === 'string' || (typeof inner === 'object' && inner !== null)) && namesSecret(name);
  if (field.split(/[.[\]]/).some((name) => isHidden(name, value))) {
    return typeof value === 'string' ? 'a string' : Array.isArray(value) ? 'an array' : 'an object';
  }
  const text = redact(written(value, (name, inner) => (isHidden(name, inner) ? removed : inner)));
  return cut(
    withoutQuerySecrets(text).replace(
      /(^|["'\s])([^\s/:@"']+:)[^\s/@"']+@(?=[\w-]+(?:[:/]|(?:\.[\w-]+)*\.[a-z]{2,}))/gi,
      `$1$2${removed}@`,
    ),
  );
}

/** Removes what the query of a URL, which may lack its scheme, holds under the name of a credential. */
function withoutQuerySecrets(text: string): string {
  return text.replace(/([?&])([\w.~%-]{1,64})=([^&\s"'#]+)/g, (pair, sign: string, name: string) =>
    namesSecret(name) || secretOnTheWay.test(name) ? `${sign}${name}=${removed}` : pair,
  );
}

/** Formats a path as in code: `models[0].name`. */
export function fieldName(root: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === 'number') return `${name}[${key}]`;
    return name === '' ? String(key) : `${name}.${String(key)}`;
  }, root);
}

/** Collects the problems of a definition, so that one error reports them all. */
export class Problems {
  private readonly found: PawlError[] = [];

  /** Runs `read`. Keeps any `PawlError` and returns `undefined` instead. */
  collect<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      this.found.push(error);
      return undefined;
    }
  }

  /** Throws one error with all the problems found, under the code of the first. */
  throwIfAny(): void {
    const [first, ...more] = this.found;
    if (first === undefined) return;
    if (more.length === 0) throw first;
    throw new PawlError(
      first.code,
      this.found.flatMap(({ problems }) => problems),
    );
  }
}

/** Formats a value for a message: as JSON where possible, cut at 120 characters. */
export function shown(value: unknown): string {
  return cut(written(value));
}

function written(value: unknown, replace?: (name: string, inner: unknown) => unknown): string {
  try {
    if (typeof value === 'function') return 'a function';
    return (hasJson(value) ? JSON.stringify(value, replace) : undefined) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function cut(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/** Returns false for types that JSON may misrepresent or lack: NaN becomes null, a Map becomes {}. */
function hasJson(value: unknown): boolean {
  return typeof value !== 'number' && typeof value !== 'bigint' && !(value instanceof Map) && !(value instanceof Set);
}

/** Catches the rejection of an unawaited promise that a user's function may have returned. */
export function onRejection(returned: unknown, told: (error: unknown) => void): void {
  if (returned instanceof Promise) returned.catch(told);
}

/** Returns the stack of any thrown value, or its message if it has none; never throws. */
export function stackOf(error: unknown): string {
  try {
    return error instanceof Error && typeof error.stack === 'string' ? error.stack : messageOf(error);
  } catch {
    return messageOf(error);
  }
}

/** Returns the message of any thrown value; never throws. */
export function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    return typeof message === 'string' ? message : shown(message);
  } catch {
    return 'the thrown value cannot be shown';
  }
}

/** Returns the message of a thrown value, with what caused it in the end, such as the refusal behind a `fetch failed`. */
export function messageWithCause(error: unknown): string {
  let root = error;
  for (let depth = 0; depth < 10 && root instanceof Error && root.cause !== undefined; depth += 1) root = root.cause;
  const [message, cause] = [messageOf(error), messageOf(root)];
  return message.includes(cause) ? message : `${message} (${cause})`;
}

/** Returns the message of a thrown value without its full stop, for a sentence that ends with it. */
export function reasonOf(error: unknown): string {
  return messageOf(error).replace(/\.$/, '');
}
