import type { JSONSchema7 } from '@ai-sdk/provider';
import {
  type CallFacts,
  callFacts,
  type JsonObject,
  type Message,
  type Permission,
  parseToolInput,
  type ReplyCall,
  type ReportVerdict,
  type Spent,
  type ToolOutput,
} from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import type { OfferedTool } from '../model/request-model.ts';
import type { Validation } from '../model/schema.ts';
import { timely } from '../timely.ts';
import { callsInside } from './built-in/batch.ts';
import type { Policies } from './policies.ts';

/** What a tool is told when it runs, beside its input. */
export type ToolContext = {
  callId: string;
  /** Aborted at the tool's timeout, and when the session is aborted. */
  signal: AbortSignal;
  /** The conversation so far. */
  messages: () => readonly Message[];
};

/** The same, for the tools of this library: what they say while they run, and what they spent. */
export type ToolRun = ToolContext & { progress(output: ToolOutput): void; account(spent: Spent): void };

/** A tool as the catalog knows it, wherever it comes from: it is shown to the model, and run under its name. */
export type CatalogTool = {
  name: string;
  kind: 'real' | 'batch' | 'progress' | 'report';
  offered: Promise<OfferedTool> | OfferedTool;
  validate(input: JsonObject): Validation | Promise<Validation>;
  /** Whether somebody has to approve a call with this (valid) input first. */
  needsApproval(input: unknown, context: ToolContext): boolean | Promise<boolean>;
  /** Values of an async iterable are preliminary but for the last. */
  execute(input: unknown, run: ToolRun): unknown;
  /** What the model reads of a value that the tool returned; null leaves that to the catalog. */
  toModelOutput: ((value: unknown, input: unknown, callId: string) => Promise<ToolOutput>) | null;
  /** For the report tool. */
  judgeReport: ((input: JsonObject, signal: AbortSignal) => Promise<ReportVerdict>) | null;
  /** Why no call of the tool is executed in this session, whatever its input. */
  refusal?: NonNullable<CallFacts['refusal']>;
  /** A time of its own, in ms; null for a tool that is bounded by itself. Default: the agent's `toolTimeoutMs`. */
  timeoutMs?: number | null;
};

export type CatalogOptions = {
  checkTimeoutMs: number;
  messages: () => readonly Message[];
  policies: Policies | null;
};

const validationTimeoutText = 'the check of the input did not finish in time';

/**
 * The tools of a session under their names, in one order, since that order is part of the prefix that providers cache.
 * It looks at each call and says what it found (C-5); what happens with the call is decided in the machines.
 */
export class Catalog {
  private readonly options: CatalogOptions;
  private validInputs: Map<string, unknown> | null = null;
  private tools: ReadonlyMap<string, CatalogTool> = new Map();
  private offeredAll: OfferedTool[] = [];
  private offeredReport: OfferedTool[] = [];

  constructor(options: CatalogOptions) {
    this.options = options;
  }

  /** Sets the tools; to be awaited once before the first request, and again when a server's list has changed. */
  async show(tools: ReadonlyMap<string, CatalogTool>): Promise<void> {
    const { checkTimeoutMs } = this.options;
    const offered = await Promise.all(
      [...tools.values()].map(async (tool) => {
        try {
          const late = `its schema was not made within ${checkTimeoutMs} ms`;
          return { tool, offered: await timely(checkTimeoutMs, tool.offered, late) };
        } catch (error) {
          throw new Error(`tools.${tool.name} cannot be offered: ${messageOf(error)}`, { cause: error });
        }
      }),
    );
    this.tools = tools;
    this.offeredAll = offered.map((one) => one.offered);
    this.offeredReport = offered.flatMap((one) => (one.tool.kind === 'report' ? [one.offered] : []));
  }

  /** The tools of a request (B-5). Without a report tool the list stays as it is: providers want it beside old calls. */
  offered(offer: Permission): readonly OfferedTool[] {
    return offer === 'report' && this.offeredReport.length > 0 ? this.offeredReport : this.offeredAll;
  }

  get(name: string): CatalogTool | undefined {
    return this.tools.get(name);
  }

  /** The input of a call as its schema made it; kept from the check until the call is run. */
  takeInput(callId: string): unknown {
    const input = this.validInputs?.get(callId);
    this.validInputs?.delete(callId);
    return input;
  }

  /** The calls inside a batch, as if the model had sent them one by one (T-2). */
  inside({ callId, tool, input }: CallFacts): ReplyCall[] {
    return tool === 'batch' && input === 'valid' ? callsInside(callId, this.takeInput(callId)) : [];
  }

  /**
   * What is to be known of a call before it is disposed of (C-1, C-5); `within` is the index of the batch around it. User
   * code that hangs or throws is bounded here.
   */
  async inspect(call: ReplyCall, within: number | null, signal: AbortSignal): Promise<CallFacts> {
    const { callId, name } = call;
    const parsed = parseToolInput(call.input);
    const tool = this.tools.get(name);
    const facts = {
      ...callFacts(callId, name, tool?.kind ?? 'unknown'),
      within,
      wholeInput: parsed.state === 'object',
    };
    if (tool === undefined)
      return { ...facts, detail: `The tools are: ${[...this.tools.keys()].join(', ') || 'none'}.` };
    if (within !== null && tool.kind !== 'real') return { ...facts, tool: 'real', refusal: notInside(name) };
    if (parsed.state === 'malformed') return { ...facts, input: 'malformed', detail: parsed.reason };
    try {
      const checked = this.check(tool, parsed.value, facts, signal);
      return checked instanceof Promise
        ? await timely(this.options.checkTimeoutMs, checked, validationTimeoutText, signal)
        : checked;
    } catch (error) {
      return { ...facts, input: 'invalid', detail: messageOf(error) };
    }
  }

  /** At once where nobody has to be waited for. */
  private check(
    tool: CatalogTool,
    input: JsonObject,
    facts: CallFacts,
    signal: AbortSignal,
  ): CallFacts | Promise<CallFacts> {
    const { callId, name } = facts;
    if (tool.judgeReport !== null) return tool.judgeReport(input, signal).then((report) => ({ ...facts, report }));
    return after(tool.validate(input), (validation) => {
      if (!validation.valid) return { ...facts, input: 'invalid', detail: validation.reasons };
      if (tool.kind === 'progress') return { ...facts, detail: String(input.message ?? '') };
      if (tool.refusal !== undefined) return { ...facts, refusal: tool.refusal };
      this.validInputs ??= new Map();
      this.validInputs.set(callId, validation.value);
      if (tool.kind === 'batch') return facts;
      const asked = { callId, name, input: validation.value };
      return after(this.options.policies?.judge(asked, signal) ?? null, (denial) => {
        if (denial !== null) return { ...facts, refusal: { slug: 'tool_not_permitted', reason: denial } };
        const context = { callId, signal, messages: this.options.messages };
        const { checkTimeoutMs } = this.options;
        return after(needsApproval(tool, validation.value, context, checkTimeoutMs / 4), (needed) =>
          typeof needed === 'boolean'
            ? { ...facts, needsApproval: needed }
            : { ...facts, refusal: { slug: 'tool_not_permitted', reason: needed.reason } },
        );
      });
    });
  }
}

/** A promise that somebody will await later: until then its rejection is nobody's to handle. */
export function later<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function notInside(name: string): NonNullable<CallFacts['refusal']> {
  return { slug: 'tool_not_permitted', reason: `${name} is not permitted inside a batch: call it by itself.` };
}

/** Where it cannot be found out, the call is not executed: that is not the model's fault, and not its to mend. */
function needsApproval(
  tool: CatalogTool,
  input: unknown,
  context: ToolContext,
  timeoutMs: number,
): boolean | { reason: string } | Promise<boolean | { reason: string }> {
  const broken = (error: unknown) => ({
    reason: `Whether the call needs an approval could not be found out: ${messageOf(error)}`,
  });
  try {
    const needed = tool.needsApproval(input, context);
    if (!(needed instanceof Promise)) return needed;
    return timely(timeoutMs, needed, 'it was not said in time', context.signal).catch(broken);
  } catch (error) {
    return broken(error);
  }
}

function after<A, B>(value: A | Promise<A>, then: (value: A) => B | Promise<B>): B | Promise<B> {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** A name that every provider accepts. */
export const toolNamePattern = /^[A-Za-z0-9_-]{1,64}$/;

export function functionTool(name: string, description: string, inputSchema: JSONSchema7): OfferedTool {
  return { type: 'function', name, description, inputSchema };
}
