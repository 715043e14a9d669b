import { isDeepStrictEqual } from 'node:util';
import type { Slug } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import { timely } from '../timely.ts';

/** A call that a policy is asked about; its input is a copy of what the tool gets: checked, and with its defaults filled in. */
export type PolicyCall = { callId: string; name: string; input: Record<string, unknown> };

/** A call of the session that has its answer; `slug` says why it was no success. */
export type PastCall = PolicyCall & { executed: boolean; slug: Slug | null };

export type PolicyVerdict = { allow: true } | { allow: false; reason: string };

/**
 * Says whether a call may be executed, from the call and the answered calls before it, in order. All policies of an agent
 * must allow; one that throws denies. A denied call is answered with the reason (`tool_not_permitted`).
 */
export type ToolPolicy = (call: PolicyCall, history: readonly PastCall[]) => PolicyVerdict | Promise<PolicyVerdict>;

export const allow: PolicyVerdict = { allow: true };

export function deny(reason: string): PolicyVerdict {
  return { allow: false, reason };
}

/** `tool` may be called only after each of `after` has succeeded in the session. */
export function requires(tool: string, { after }: { after: readonly string[] }): ToolPolicy {
  return ({ name }, history) => {
    if (name !== tool) return allow;
    const missing = after.filter((first) => !history.some((past) => past.name === first && past.slug === null));
    return missing.length === 0 ? allow : deny(`${tool} is allowed only after ${missing.join(' and ')} has succeeded.`);
  };
}

/**
 * A call of `write` is allowed only if a call of `read` with the same `field` of its input has succeeded before. Defaults:
 * `read_file`, `write_file`, `path`.
 */
export function readBeforeWrite({
  read = 'read_file',
  write = 'write_file',
  field = 'path',
}: {
  read?: string;
  write?: string;
  field?: string;
} = {}): ToolPolicy {
  return ({ name, input }, history) => {
    if (name !== write) return allow;
    const isRead = (past: PastCall) => past.name === read && past.slug === null;
    const isSame = (past: PastCall) => isDeepStrictEqual(past.input[field], input[field]);
    const seen = input[field] !== undefined && history.some((past) => isRead(past) && isSame(past));
    return seen ? allow : deny(`${write} is allowed only after ${read} of the same ${field}: read it first.`);
  };
}

/** The policies of one session, with its answered calls. */
export class Policies {
  private readonly policies: readonly ToolPolicy[];
  private readonly timeoutMs: number;
  private readonly asked = new Map<string, PolicyCall>();
  private readonly history: PastCall[] = [];

  constructor(policies: readonly ToolPolicy[], timeoutMs: number) {
    this.policies = policies;
    // It ends before the check of the whole call does, so that the call is denied rather than called invalid.
    this.timeoutMs = timeoutMs / 2;
  }

  /** Why the call is denied; null if it is not. */
  async judge(
    { callId, name, input }: { callId: string; name: string; input: unknown },
    signal: AbortSignal,
  ): Promise<string | null> {
    const call = { callId, name, input: copyOf(input) };
    this.asked.set(callId, call);
    return await this.firstDenial(call, signal);
  }

  /** To be told of each answer. */
  answered(callId: string, executed: boolean, slug: Slug | null): void {
    const call = this.asked.get(callId);
    if (call !== undefined) this.history.push({ ...call, executed, slug });
  }

  private async firstDenial(call: PolicyCall, signal: AbortSignal): Promise<string | null> {
    // A copy, so that no policy can change what the others see.
    const history = Object.freeze([...this.history]);
    const until = performance.now() + this.timeoutMs;
    for (const policy of this.policies) {
      try {
        const left = Math.max(0, until - performance.now());
        const verdict: unknown = await timely(left, policy(call, history), 'it did not decide in time', signal);
        const denial = denialOf(verdict);
        if (denial !== null) return denial;
      } catch (error) {
        return `A policy broke on this call, so it is denied: ${messageOf(error)}`;
      }
    }
    return null;
  }
}

/** The tool may change its input, and a schema may make of it what cannot be copied. */
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

/** Only a clear yes is one. */
function denialOf(verdict: unknown): string | null {
  if (typeof verdict !== 'object' || verdict === null || !('allow' in verdict))
    return 'A policy gave no verdict on this call.';
  if (verdict.allow === true) return null;
  return 'reason' in verdict && typeof verdict.reason === 'string' ? verdict.reason : 'A policy denies this call.';
}
