import {
  type CallFacts,
  callFacts,
  historyInput,
  type JsonObject,
  type Message,
  type Permission,
  parseTextInput,
  parseToolInput,
  type ReplyCall,
  type ReportVerdict,
} from '../../machines/index.ts';
import type { Clock } from '../host/clock.ts';
import { inTime, type TaskLimits } from '../host/deadline.ts';
import { messageOf } from '../input/errors.ts';
import type { AnsweredCall } from '../observe/past-calls.ts';
import { ownCopy } from '../platform/own-copy.ts';
import { inexactNumber } from '../platform/plain-json.ts';
import { isSameList } from '../platform/text.ts';
import { schemaFail } from '../report/format.ts';
import type { Validation } from '../schema/schema.ts';
import { after } from '../schema/validation.ts';
import type { OfferedTool } from '../vocabulary/offered-tool.ts';
import { callsInside } from './built-in/batch.ts';
import type { CallContext, CatalogTool } from './catalog-tool.ts';
import type { Policies } from './policies.ts';

export type CatalogOptions = {
  clock: Clock;
  checkTimeoutMs: number;
  /** The plan of the turn names the tools that exist in it (T-7); null for all. */
  conversation: { readonly messages: readonly Message[]; readonly plan: { tools: readonly string[] | null } | null };
  /** The context and the policies for the agent that has the conversation. */
  context: () => unknown;
  policies: () => Policies | null;
  /** Checks a report that its format accepted (G-3). */
  checks: { report(verdict: ReportVerdict, signal: AbortSignal): Promise<ReportVerdict> };
};

const validationTimeoutText = 'the input check did not finish in time';

type Tools = ReadonlyMap<string, CatalogTool>;
type Offers = { all: readonly OfferedTool[]; report: readonly OfferedTool[] };

/** Tools, their `forms` for providers by name, and the lists of forms that requests offer. */
type Shown = { tools: Tools; forms: ReadonlyMap<string, OfferedTool>; offers: Offers };

const nothing: Shown = { tools: new Map(), forms: new Map(), offers: { all: [], report: [] } };

/** Cache: all sessions of an agent share its own tools. */
const shownBefore = new WeakMap<Tools, Shown>();

/**
 * The tools of a session by name, in a fixed order, because the order is part of the prefix that providers cache.
 * The catalog inspects each call and returns facts (C-5); the machines decide what happens to the call.
 */
export class Catalog {
  private readonly options: CatalogOptions;
  private whole = nothing;
  /** The tools of a turn that lacks some, made once for each list, since the list is part of the cached prefix. */
  private turn: { names: readonly string[]; tools: Tools; offers: Offers } | null = null;
  private shown = 0;
  /** Validated inputs, until their tools run: validating again may fail or yield another random default. */
  private readonly checked = new Map<string, unknown>();

  constructor(options: CatalogOptions) {
    this.options = options;
  }

  /**
   * Sets the tools. Await it before the first request, and again whenever a server's list changes. Of two concurrent
   * calls, the later one wins.
   */
  async show(tools: Tools): Promise<void> {
    this.shown += 1;
    const own = this.shown;
    const whole = shownBefore.get(tools) ?? (await this.shownOf(tools));
    shownBefore.set(tools, whole);
    if (own !== this.shown) return;
    this.whole = whole;
    this.turn = null;
  }

  private async shownOf(tools: Tools): Promise<Shown> {
    const { clock, checkTimeoutMs: timeoutMs } = this.options;
    const late = `its schema was not ready within ${timeoutMs} ms`;
    const made = [...tools.values()].map(async ({ name, offered }) => {
      try {
        return [name, await inTime({ clock, timeoutMs }, late, () => offered)] as const;
      } catch (error) {
        throw new Error(`tools.${name} cannot be offered: ${messageOf(error)}`, { cause: error });
      }
    });
    const forms = new Map(await Promise.all(made));
    return { tools, forms, offers: offersOf(tools, forms) };
  }

  private get tools(): Tools {
    return this.whole.tools;
  }

  /** All tools of the session, those that this turn lacks among them. */
  all(): CatalogTool[] {
    return [...this.tools.values()];
  }

  /**
   * Returns the tools to offer in a request (B-5). Without a report tool it returns all of them, because providers
   * require the tool list if the conversation has tool calls. A provider's own tool stays once it was called: without it,
   * the SDK would leave out what the provider found.
   */
  offered(offer: Permission): readonly OfferedTool[] {
    const { all, report } = this.present().offers;
    if (offer !== 'report' || report.length === 0) return all;
    const kept = all.filter(
      ({ type, name }) => type === 'provider' && hasCalls(this.options.conversation.messages, name),
    );
    return kept.length === 0 ? report : [...report, ...kept];
  }

  /** Returns the tools to offer in a turn that has those of these names; null for all. */
  offeredOf(names: readonly string[] | null): readonly OfferedTool[] {
    return this.present(names).offers.all;
  }

  private present(names = this.options.conversation.plan?.tools ?? null): { tools: Tools; offers: Offers } {
    if (names === null) return this.whole;
    if (this.turn !== null && isSameList(this.turn.names, names)) return this.turn;
    const tools = new Map([...this.tools].filter(([name]) => names.includes(name)));
    // Without any tool, a conversation that has calls would be refused by its provider.
    const offered = tools.size === 0 && hasCalls(this.options.conversation.messages) ? this.tools : tools;
    const turn = { names, tools, offers: offersOf(offered, this.whole.forms) };
    if (tools.size > 0) this.turn = turn;
    return turn;
  }

  takesText(name: string): boolean {
    return this.tools.get(name)?.takesText === true;
  }

  get(name: string): CatalogTool | undefined {
    return this.tools.get(name);
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
    const { tools } = this.present();
    const tool = tools.get(name);
    const parsed = tool?.takesText === true ? parseTextInput(call.input) : parseToolInput(call.input);
    const facts = {
      ...callFacts(callId, name, tool?.kind ?? 'unknown'),
      within,
      wholeInput: parsed.state === 'object',
      isClientSide: tool?.isClientSide === true,
    };
    if (tool === undefined) return { ...facts, detail: `The tools are: ${[...tools.keys()].join(', ') || 'none'}.` };
    if (within !== null && tool.kind !== 'real') return { ...facts, tool: 'real', refusal: notInside(name) };
    if (parsed.state === 'malformed') return { ...facts, input: 'malformed', detail: parsed.reason };
    const inexact = tool.takesText === true ? null : inexactNumber(call.input || '{}');
    if (inexact !== null) {
      return { ...facts, input: 'invalid', detail: inexact, report: tool.judgeReport && schemaFail(inexact) };
    }
    const { clock, checkTimeoutMs: timeoutMs } = this.options;
    if (tool.judgeReport !== null) {
      const verdict = await tool.judgeReport(parsed.value, { clock, timeoutMs, signal });
      return { ...facts, report: await this.options.checks.report(verdict, signal) };
    }
    try {
      const checked = this.check(tool, parsed.value, facts, signal);
      if (!(checked instanceof Promise)) return checked;
      return await inTime({ clock, timeoutMs, signal }, validationTimeoutText, () => checked);
    } catch (error) {
      return {
        ...facts,
        refusal: { slug: 'check_failed', reason: `The input check failed: ${messageOf(error)}` },
      };
    }
  }

  /** Checks a call, synchronously unless user code returns a promise. */
  private check(
    tool: CatalogTool,
    input: JsonObject,
    facts: CallFacts,
    signal: AbortSignal,
  ): CallFacts | Promise<CallFacts> {
    const { callId, name } = facts;
    const { clock, checkTimeoutMs, conversation } = this.options;
    return after(tool.validate(input), (validation) => {
      if (!validation.valid) return { ...facts, input: 'invalid', detail: validation.reasons };
      if (tool.kind === 'progress') return { ...facts, detail: String(input.message ?? '') };
      if (tool.refusal !== undefined) return { ...facts, refusal: tool.refusal };
      if (tool.kind === 'batch') return facts;
      this.checked.set(callId, validation.value);
      const asked = { callId, name, input: tool.takesText === true ? input : validation.value };
      const valid = (past: AnsweredCall) => this.tools.get(past.name)?.validate(past.input);
      return after(this.options.policies()?.judge(asked, valid, signal) ?? null, (denial) => {
        if (denial !== null) return { ...facts, refusal: denial };
        const context = {
          callId,
          signal,
          messages: () => ownCopy(conversation.messages),
          context: this.options.context(),
        };
        const limits = { clock, timeoutMs: checkTimeoutMs / 4, signal };
        return after(needsApproval(tool, validation.value, context, limits), (needed) =>
          typeof needed === 'boolean'
            ? { ...facts, needsApproval: needed }
            : { ...facts, refusal: { slug: 'check_failed', reason: needed.reason } },
        );
      });
    });
  }
}

function offersOf(tools: Tools, forms: Shown['forms']): Offers {
  const listed = (list: CatalogTool[]) => list.flatMap(({ name }) => forms.get(name) ?? []);
  const all = [...tools.values()];
  return { all: listed(all), report: listed(all.filter(({ kind }) => kind === 'report')) };
}

/** Whether the messages have calls, of the tool with this name or of any. */
function hasCalls(messages: readonly Message[], name?: string): boolean {
  const isCall = (part: { type: string; toolName?: string }) =>
    part.type === 'tool-call' && part.toolName === (name ?? part.toolName);
  return messages.some(({ role, content }) => role === 'assistant' && content.some(isCall));
}

const handedOver: NonNullable<CallFacts['refusal']> = {
  slug: 'tool_not_permitted',
  reason: 'Another call in this reply already hands the conversation over.',
};

function notInside(name: string): NonNullable<CallFacts['refusal']> {
  return { slug: 'tool_not_permitted', reason: `${name} is not permitted inside a batch: call it by itself.` };
}

/** Checks whether a call needs approval. If the check fails, the call is refused: the model cannot fix it. */
function needsApproval(
  tool: CatalogTool,
  input: unknown,
  context: CallContext,
  limits: TaskLimits,
): boolean | { reason: string } | Promise<boolean | { reason: string }> {
  const broken = (error: unknown) => ({
    reason: `Cannot tell whether the call needs approval: ${messageOf(error)}`,
  });
  try {
    const needed = tool.needsApproval(input, context);
    if (!(needed instanceof Promise)) return needed;
    return inTime(limits, 'the check did not finish in time', () => needed).catch(broken);
  } catch (error) {
    return broken(error);
  }
}
