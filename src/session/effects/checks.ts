import {
  type Json,
  type Message,
  type Reply,
  type ReportVerdict,
  repairConversation,
  replyText,
} from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { CheckVerdict } from '../../agent/guardrails.ts';
import { voiceOf } from '../../agent/handoffs.ts';
import type { Clock } from '../../host/clock.ts';
import { inTime } from '../../host/deadline.ts';
import { expected, messageOf } from '../../input/errors.ts';
import { type InputMessage, parseMessages } from '../../model/messages.ts';
import { withText } from '../../model/reply/with-text.ts';
import { judgeContent } from '../../report/format.ts';
import { redact, redactReason } from '../../secrets/redact.ts';

export type ChecksParts = {
  agent: Agent;
  /** The agent that has the conversation; null for the one that it began with. */
  speaker: () => string | null;
  clock: Clock;
  timeoutMs: number;
  contextFor: (speaker: string | null) => unknown;
  secrets: readonly string[];
};

/** What became of a checked value. */
export type Checked<Value> =
  | { kind: 'passed'; value: Value }
  | { kind: 'denied'; reason: string }
  /** The check itself failed: it threw, was late, or gave no verdict. */
  | { kind: 'unchecked'; reason: string };

type AnyCheck = (value: never, by: { context: unknown; signal: AbortSignal }) => unknown;
type Names = 'checkInput' | 'checkReply' | 'checkReport';

/**
 * A session's own checks (G-1 to G-3). Those of the agent that it began with always hold; those of the agent that has
 * the conversation are added.
 */
export class Checks {
  private readonly parts: ChecksParts;

  constructor(parts: ChecksParts) {
    this.parts = parts;
  }

  /** Whether replies are checked, so that nothing of them may be shown before. */
  get replies(): boolean {
    return this.list('checkReply').length > 0;
  }

  /** Checks the messages that the session was given; null if nothing replaced them. */
  async input(given: readonly Message[], signal: AbortSignal): Promise<Checked<Message[] | null>> {
    const wrap = (messages: readonly Message[]) => ({ messages: structuredClone(messages) });
    const take = (value: unknown) => {
      const messages = Array.isArray(value) ? repairConversation(parseMessages(value as InputMessage[])).messages : [];
      if (messages.length === 0) throw new Error(expected('value', value, 'an array of messages with content'));
      return messages;
    };
    const checked = await this.checked<readonly Message[]>('checkInput', given, wrap, take, signal);
    if (checked.kind !== 'passed') return checked;
    return { kind: 'passed', value: checked.value === given ? null : [...checked.value] };
  }

  /** Checks a reply, even one that broke off. */
  reply(reply: Reply, at: { turn: number; attempt: number }, signal: AbortSignal): Promise<Checked<Reply>> {
    let last = reply;
    const wrap = (checked: Reply) => {
      last = checked;
      return { text: replyText(checked), reply: structuredClone(checked), ...at };
    };
    const take = (value: unknown) => {
      if (typeof value !== 'string') throw new Error(expected('value', value, 'a string'));
      return withText(last, value);
    };
    return this.checked('checkReply', reply, wrap, take, signal);
  }

  /** Checks a report that its format accepted; returns any other verdict as it is. */
  async report(verdict: ReportVerdict, signal: AbortSignal): Promise<ReportVerdict> {
    if (!verdict.valid && verdict.slug !== 'check_failed') return verdict;
    if (!verdict.valid) return { ...verdict, reasons: redactReason(verdict.reasons, this.parts.secrets) };
    const wrap = (content: Json) => ({ content: structuredClone(content) });
    const take = async (value: unknown): Promise<Json> => {
      const again = await judgeContent(this.parts.agent.format, value, this.limits(signal));
      if (again.valid) return again.content;
      throw new Error(`what it put in its place is no report: ${again.reasons}`);
    };
    const checked = await this.checked('checkReport', verdict.content, wrap, take, signal);
    if (checked.kind === 'passed') return { valid: true, content: checked.value };
    const slug = checked.kind === 'denied' ? 'report_denied' : 'check_failed';
    return { valid: false, slug, reasons: checked.reason };
  }

  /** The checks of this name, each with the context of its agent. */
  private list(name: Names): { check: AnyCheck; context: unknown }[] {
    const { agent, speaker, contextFor } = this.parts;
    const voices = new Set([voiceOf(agent, null), voiceOf(agent, speaker())]);
    return [...voices].flatMap((voice) => {
      const check = voice.definition[name] as AnyCheck | undefined;
      return check === undefined ? [] : [{ check, context: contextFor(voice.name) }];
    });
  }

  private limits(signal: AbortSignal) {
    const { clock, timeoutMs } = this.parts;
    return { clock, timeoutMs, signal };
  }

  /** Runs the checks one after another, each on what the one before let pass. */
  private async checked<Value>(
    name: Names,
    given: Value,
    wrap: (value: Value) => object,
    take: (value: unknown) => Value | Promise<Value>,
    signal: AbortSignal,
  ): Promise<Checked<Value>> {
    const { timeoutMs, secrets } = this.parts;
    let value = given;
    try {
      for (const { check, context } of this.list(name)) {
        const late = `it did not decide within ${timeoutMs} ms`;
        const verdict = await inTime(this.limits(signal), late, (own) =>
          check(wrap(value) as never, { context, signal: own }),
        );
        if (!isVerdict(verdict)) throw new Error(expected('its verdict', verdict, verdictShape));
        if (!verdict.allow) return { kind: 'denied', reason: redact(verdict.reason, secrets) };
        if ('value' in verdict) value = await take(verdict.value);
      }
      return { kind: 'passed', value };
    } catch (error) {
      return { kind: 'unchecked', reason: redactReason(`${name}() failed: ${messageOf(error)}`, secrets) };
    }
  }
}

const verdictShape = '`allow`, `deny(reason)` or `replace(value)`';

function isVerdict(verdict: unknown): verdict is CheckVerdict<unknown> {
  if (typeof verdict !== 'object' || verdict === null || !('allow' in verdict)) return false;
  return (
    verdict.allow === true || (verdict.allow === false && 'reason' in verdict && typeof verdict.reason === 'string')
  );
}
