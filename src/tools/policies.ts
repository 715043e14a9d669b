import isDeepEqual from 'fast-deep-equal';
import { z } from 'zod';
import type { CallFacts, Slug, ToolOutput } from '../../machines/index.ts';
import type { Clock } from '../host/clock.ts';
import { inTime, type TaskLimits } from '../host/deadline.ts';
import { check } from '../input/check.ts';
import { expected, messageOf } from '../input/errors.ts';
import { count } from '../input/shapes.ts';
import type { AnsweredCall } from '../observe/calls/past-calls.ts';
import { lazily } from '../platform/lazily.ts';
import type { Validation } from '../schema/schema.ts';

/** A call for a policy to judge. Its input is a copy of the tool's input, validated and with defaults filled in. */
export type PolicyCall = { callId: string; name: string; input: Record<string, unknown> };

/**
 * An answered call of the session, with what the model read of it; `slug` is the reason why it failed, or null. `canUndo`:
 * its tool has `undo`, so what it did can be taken back if the session does not succeed (D-7c).
 */
export type PastCall = PolicyCall & { executed: boolean; slug: Slug | null; output: ToolOutput; canUndo?: boolean };

export type PolicyVerdict = { allow: true } | { allow: false; reason: string };

/**
 * Decides whether a call may be executed, given the call and the answered calls before it, in order and
 * frozen. All policies of an
 * agent must allow it. A denied call is answered with the reason (`policy_denied`); one whose policy throws, hangs or
 * returns no verdict does not run either (`check_failed`). `session.context` is what the session was given.
 */
export type ToolPolicy<Context = unknown> = {
  call(
    call: PolicyCall,
    history: readonly PastCall[],
    session: { context: Context },
  ): PolicyVerdict | Promise<PolicyVerdict>;
}['call'];

const verdictShape = '`{ allow: true }` or `{ allow: false, reason }`';

export const allow: PolicyVerdict = { allow: true };

export function deny(reason: string): PolicyVerdict {
  return { allow: false, reason };
}

const toolName = z.string({ error: 'the name of a tool' }).min(1, { error: 'the name of a tool' });
const requiresSchema = lazily(() =>
  z.strictObject({
    after: z.array(toolName, { error: 'an array of tool names' }).min(1, { error: 'at least one tool name' }),
  }),
);
const readBeforeWriteSchema = lazily(() =>
  z.strictObject({
    read: toolName.default('read_file'),
    write: toolName.default('write_file'),
    field: z.string({ error: 'the name of a field' }).min(1, { error: 'the name of a field' }).default('path'),
  }),
);

const noRepeatsSchema = lazily(() =>
  z.strictObject({
    after: count.default(3),
    except: z.array(toolName, { error: 'an array of tool names' }).default([]),
  }),
);

/**
 * Returns a policy that allows `tool` only after each tool in `after` has succeeded in the session. Throws
 * `invalid_options`.
 */
export function requires(tool: string, options: { after: readonly string[] }): ToolPolicy {
  const { after } = check(requiresSchema(), options, '', 'invalid_options', 'options');
  check(toolName, tool, 'tool', 'invalid_options');
  return ({ name }, history) => {
    if (name !== tool) return allow;
    const missing = after.filter((first) => !history.some((past) => past.name === first && past.slug === null));
    return missing.length === 0 ? allow : deny(`${tool} needs a successful call to ${missing.join(' and ')} first.`);
  };
}

/**
 * Returns a policy that allows a call to `write` only after a call to `read` with the same input `field` has succeeded.
 * Defaults: `read_file`, `write_file`, `path`. Throws `invalid_options`.
 */
export function readBeforeWrite(options: { read?: string; write?: string; field?: string } = {}): ToolPolicy {
  const { read, write, field } = check(readBeforeWriteSchema(), options, '', 'invalid_options', 'options');
  return ({ name, input }, history) => {
    if (name !== write) return allow;
    const isRead = (past: PastCall) => past.name === read && past.slug === null;
    const isSame = (past: PastCall) => isDeepEqual(past.input[field], input[field]);
    const seen = input[field] !== undefined && history.some((past) => isRead(past) && isSame(past));
    return seen ? allow : deny(`Before ${write}, call ${read} with the same ${field}.`);
  };
}

/** The most calls that are taken for one circle. */
const longestCircle = 4;

/**
 * Returns a policy that ends circles: once a call, or up to four calls in turn, had the same inputs and the same answers
 * `after` times in a row, the next of them is denied. Calls to the tools of `except` never are, such as one that waits for
 * something by asking again. Defaults: 3, none. Throws `invalid_options`.
 */
export function noRepeats(options: { after?: number; except?: readonly string[] } = {}): ToolPolicy {
  const { after, except } = check(noRepeatsSchema(), options, '', 'invalid_options', 'options');
  return (call, history) => {
    if (except.includes(call.name)) return allow;
    const ran = history.filter(({ executed, name }) => executed && !except.includes(name));
    for (let length = 1; length <= longestCircle; length += 1) {
      if (!isNext(call, ran.at(-length)) || !isCircle(ran.slice(-length * after), length, after)) continue;
      return deny(`You have had this answer ${after} times. Do something else, or report what you have.`);
    }
    return allow;
  };
}

function isNext(call: PolicyCall, past: PastCall | undefined): boolean {
  return past !== undefined && isSame(call, past);
}

/** Whether these calls are `length` calls, `times` times, each time with the same answers. */
function isCircle(calls: readonly PastCall[], length: number, times: number): boolean {
  if (calls.length < length * times) return false;
  return calls.every((call, index) => {
    const first = calls[index % length];
    return first !== undefined && isSame(call, first) && isDeepEqual(call.output, first.output);
  });
}

function isSame(one: PolicyCall, other: PolicyCall): boolean {
  return one.name === other.name && isDeepEqual(one.input, other.input);
}

/** Validates an earlier call's input again, since facts store it as the model sent it. */
type Revalidate = (past: AnsweredCall) => Validation | Promise<Validation> | undefined;

/** A session's policies. They see the answered calls, which a fold stores. */
export class Policies {
  private readonly policies: readonly ToolPolicy[];
  private readonly session: { readonly context: unknown };
  private readonly past: { readonly all: readonly AnsweredCall[] };
  private readonly limits: TaskLimits & { timeoutMs: number };
  private readonly onError: (name: string, callId: string, error: unknown) => void;
  /** Inputs of the calls judged in this process, as policies saw them. */
  private readonly judged = new Map<string, PolicyCall['input']>();
  /** Past calls as policies see them; they never change. */
  private readonly seen: Promise<PastCall>[] = [];

  constructor(
    policies: readonly ToolPolicy[],
    past: Policies['past'],
    { clock, timeoutMs, onError }: { clock: Clock; timeoutMs: number; onError: Policies['onError'] },
    context: unknown,
  ) {
    this.session = Object.freeze({ context });
    this.policies = policies;
    this.onError = onError;
    this.past = past;
    // Half the check's timeout, so that a slow policy denies the call instead of invalidating it.
    this.limits = { clock, timeoutMs: timeoutMs / 2 };
  }

  /** Returns the reason for refusing the call, or null if the policies allow it. */
  async judge(
    { callId, name, input }: { callId: string; name: string; input: unknown },
    revalidate: Revalidate,
    signal: AbortSignal,
  ): Promise<CallFacts['refusal']> {
    const call = { callId, name, input: frozen(copyOf(input)) };
    this.judged.set(callId, call.input);
    try {
      const late = 'it did not decide in time';
      return await inTime({ ...this.limits, signal }, late, () => this.firstDenial(call, revalidate));
    } catch (error) {
      return { slug: 'check_failed', reason: `A policy failed on this call: ${messageOf(error)}` };
    }
  }

  private async firstDenial(call: PolicyCall, revalidate: Revalidate): Promise<CallFacts['refusal']> {
    // A frozen copy, so that no policy can change it for the others.
    const history = Object.freeze(await this.history(revalidate));
    for (const policy of this.policies) {
      // A copy, so that a policy's changes do not reach the others.
      const own = { ...call, input: copyOf(call.input) };
      const denial = denialOf(await policy(own, history, this.session));
      if (denial !== null) return denial;
    }
    return null;
  }

  private history(revalidate: Revalidate): Promise<PastCall[]> {
    const seenAs = async (past: AnsweredCall): Promise<PastCall> => {
      const judged = this.judged.get(past.callId);
      const { key: _, speaker: __, ...told } = past;
      return Object.freeze({ ...told, input: judged ?? frozen(copyOf(await this.inputOf(past, revalidate))) });
    };
    this.seen.push(...this.past.all.slice(this.seen.length).map(seenAs));
    return Promise.all(this.seen);
  }

  /** Validates the input of a call judged in another process. On failure, returns it as the model sent it. */
  private async inputOf(past: AnsweredCall, revalidate: Revalidate): Promise<unknown> {
    try {
      const limits = { ...this.limits, timeoutMs: this.limits.timeoutMs / 2 };
      const validation = await inTime(limits, 'the input check did not finish in time', () => revalidate(past));
      return validation?.valid ? validation.value : past.input;
    } catch (error) {
      this.onError(past.name, past.callId, error);
      return past.input;
    }
  }
}

/** Copies the input, since the tool may change its own. Values that cannot be cloned are shared. */
function copyOf(input: unknown): Record<string, unknown> {
  const fields: [string, unknown][] = Object.entries(input ?? {}).map(([name, value]) => {
    try {
      return [name, structuredClone(value)];
    } catch {
      return [name, value];
    }
  });
  return Object.fromEntries(fields);
}

/** Freezes plain objects and lists; anything else in them may be the user's own, which `copyOf` shares. */
function frozen<T>(value: T): T {
  const isPlain = Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]';
  if (!isPlain || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value as object)) frozen(inner);
  return Object.freeze(value);
}

/** Only an explicit `allow: true` allows the call, and only an explicit `allow: false` is the policy's own denial. */
function denialOf(verdict: unknown): CallFacts['refusal'] {
  const allows = typeof verdict === 'object' && verdict !== null && 'allow' in verdict ? verdict.allow : undefined;
  if (allows === true) return null;
  if (allows !== false) return { slug: 'check_failed', reason: expected("A policy's verdict", verdict, verdictShape) };
  const { reason } = verdict as { reason?: unknown };
  return { slug: 'policy_denied', reason: typeof reason === 'string' ? reason : 'A policy denies this call.' };
}
