import {
  type CallFacts,
  callFacts,
  historyInput,
  type JsonObject,
  parseTextInput,
  parseToolInput,
  type ReplyCall,
  type ReportVerdict,
} from '../../machines/index.ts';
import { inTime } from '../host/deadline.ts';
import { messageOf } from '../input/errors.ts';
import { ownCopy } from '../platform/own-copy.ts';
import { inexactNumber } from '../platform/plain-json.ts';
import { invalidFormat, schemaFail } from '../report/format.ts';
import type { Validation } from '../schema/schema.ts';
import { callsInside } from './built-in/batch.ts';
import { type CheckedCall, settled, validationTimeoutText } from './call-check.ts';
import type { CatalogTool } from './catalog-tool.ts';
import type { Policies } from './policies.ts';
import { ShownTools, type ShownToolsOptions } from './shown-tools.ts';

export type CatalogOptions = ShownToolsOptions & {
  /** The context and the policies for the agent that has the conversation. */
  context: () => unknown;
  policies: () => Policies | null;
  /** Checks a report that its format accepted (G-3). */
  checks: { report(verdict: ReportVerdict, signal: AbortSignal): Promise<ReportVerdict> };
};

/** The tools of a session. It inspects each call and returns facts (C-5); the machines decide what happens to the call. */
export class Catalog extends ShownTools {
  private readonly options: CatalogOptions;
  /**
   * Validated inputs, until their tools run: they may hold what no fact can, such as a Date or a function, and validating
   * again may fail or yield another random default.
   */
  private readonly checked = new Map<string, unknown>();

  constructor(options: CatalogOptions) {
    super(options);
    this.options = options;
  }

  /**
   * Returns the validated input, as the policies and the approver saw it. In a different process (D-1), it validates
   * the `sent` input again.
   */
  async checkedInput(
    tool: CatalogTool,
    callId: string,
    sent: () => JsonObject,
    signal: AbortSignal,
  ): Promise<Validation & { slug?: 'check_failed' }> {
    if (this.checked.has(callId)) {
      const value = this.checked.get(callId);
      this.checked.delete(callId);
      return { valid: true, value };
    }
    const { clock, checkTimeoutMs: timeoutMs } = this.options;
    try {
      return await inTime({ clock, timeoutMs, signal }, validationTimeoutText, () =>
        tool.validate(structuredClone(sent())),
      );
    } catch (error) {
      return { valid: false, slug: 'check_failed', reasons: messageOf(error) };
    }
  }

  /** Refuses what the calls of one reply may not do together: hand the conversation over twice (T-8). */
  together(calls: CallFacts[]): CallFacts[] {
    const isHandoff = (call: CallFacts) =>
      call.input === 'valid' && call.refusal === null && this.tools.get(call.name)?.handsTo !== undefined;
    const first = calls.find(isHandoff);
    return calls.map((call) => (call !== first && isHandoff(call) ? { ...call, refusal: handedOver } : call));
  }

  /** Returns the calls inside a batch, as if the model had sent them one by one (T-2). */
  inside({ callId, tool, input }: CallFacts, sent: string): ReplyCall[] {
    return tool === 'batch' && input === 'valid' ? callsInside(callId, historyInput({ input: sent })) : [];
  }

  /**
   * Collects the facts that decide a call's disposition (C-1, C-5); `within` is the index of the enclosing batch.
   * User code that hangs or throws is contained here.
   */
  async inspect(call: ReplyCall, within: number | null, signal: AbortSignal): Promise<CallFacts> {
    const { callId, name } = call;
    const tool = this.shownTool(name);
    const parsed = tool?.takesText === true ? parseTextInput(call.input) : parseToolInput(call.input);
    const facts = {
      ...callFacts(callId, name, tool?.kind ?? 'unknown'),
      within,
      wholeInput: parsed.state === 'object',
      isClientSide: tool?.isClientSide === true,
    };
    if (tool === undefined) return { ...facts, detail: `The tools are: ${this.permitted.join(', ') || 'none'}.` };
    if (!this.permitted.includes(name)) return { ...facts, tool: 'real', refusal: notNow(name, this.permitted) };
    if (within !== null && tool.kind !== 'real') return { ...facts, tool: 'real', refusal: notInside(name) };
    if (parsed.state === 'malformed') {
      const report = invalidFormat(`the input is not a JSON object: ${parsed.reason}`);
      return { ...facts, input: 'malformed', detail: parsed.reason, ...(tool.judgeReport && { report }) };
    }
    const inexact = tool.takesText === true ? null : inexactNumber(call.input || '{}');
    if (inexact !== null) {
      return { ...facts, input: 'invalid', detail: inexact, ...(tool.judgeReport && { report: schemaFail(inexact) }) };
    }
    const { clock, checkTimeoutMs: timeoutMs } = this.options;
    if (tool.judgeReport !== undefined) {
      const verdict = await tool.judgeReport(parsed.value, { clock, timeoutMs, signal });
      return { ...facts, report: await this.options.checks.report(verdict, signal) };
    }
    try {
      const checked = settled(this.callOf(tool, parsed.value, facts, signal));
      if (!(checked instanceof Promise)) return checked;
      return await inTime({ clock, timeoutMs, signal }, validationTimeoutText, () => checked);
    } catch (error) {
      return {
        ...facts,
        refusal: { slug: 'check_failed', reason: `The input check failed: ${messageOf(error)}` },
      };
    }
  }

  /** What the steps of the check read of a call. */
  private callOf(tool: CatalogTool, input: JsonObject, facts: CallFacts, signal: AbortSignal): CheckedCall {
    const { clock, checkTimeoutMs, conversation, context, policies } = this.options;
    const { callId } = facts;
    return {
      ...{ tool, input, facts, value: undefined },
      policies: policies(),
      validated: (past) => this.tools.get(past.name)?.validate(past.input),
      context: { callId, signal, messages: () => ownCopy(conversation.messages), context: context() },
      limits: { clock, timeoutMs: checkTimeoutMs / 4, signal },
      keep: (value) => this.checked.set(callId, value),
    };
  }
}

const handedOver: NonNullable<CallFacts['refusal']> = {
  slug: 'tool_not_permitted',
  reason: 'Another call in this reply already hands the conversation over.',
};

function notNow(name: string, permitted: readonly string[]): NonNullable<CallFacts['refusal']> {
  const reason = `${name} is not permitted in this turn, only ${permitted.join(', ') || 'a reply without a call'}.`;
  return { slug: 'tool_not_permitted', reason };
}

function notInside(name: string): NonNullable<CallFacts['refusal']> {
  return { slug: 'tool_not_permitted', reason: `${name} is not permitted inside a batch: call it by itself.` };
}
