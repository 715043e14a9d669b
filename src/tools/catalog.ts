import type { JSONSchema7 } from '@ai-sdk/provider';
import {
  type CallFacts,
  type JsonObject,
  type Message,
  type Permission,
  parseToolInput,
  type ReplyCall,
  type ReportVerdict,
  type ToolOutput,
} from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import type { OfferedTool } from '../model/request-model.ts';
import type { Validation } from '../model/schema.ts';

/** What a tool is told when it runs, beside its input. */
export type ToolContext = {
  callId: string;
  /** Aborted at the tool's timeout, and when the session is aborted. */
  signal: AbortSignal;
  /** The conversation so far. */
  messages: () => readonly Message[];
};

/** A tool as the catalog knows it, wherever it comes from: it is shown to the model, and run under its name. */
export type CatalogTool = {
  name: string;
  kind: 'real' | 'progress' | 'report';
  offered: Promise<OfferedTool> | OfferedTool;
  validate(input: JsonObject): Validation | Promise<Validation>;
  /** Whether somebody has to approve a call with this (valid) input first. */
  needsApproval(input: unknown, context: ToolContext): boolean | Promise<boolean>;
  /** Values of an async iterable are preliminary but for the last. */
  execute(input: unknown, context: ToolContext): unknown;
  /** What the model reads of a value that the tool returned; null leaves that to the catalog. */
  toModelOutput: ((value: unknown, input: unknown, callId: string) => Promise<ToolOutput>) | null;
  /** For the report tool. */
  judgeReport: ((input: JsonObject) => Promise<ReportVerdict>) | null;
};

const validationTimeoutText = 'the check of the input did not finish in time';

/**
 * The tools of a session under their names, in one order, since that order is part of the prefix that providers cache.
 * It looks at each call and says what it found (C-5); what happens with the call is decided in the machines.
 */
export class Catalog {
  private readonly tools: ReadonlyMap<string, CatalogTool>;
  private readonly validInputs = new Map<string, unknown>();
  private readonly checkTimeoutMs: number;
  private offeredAll: OfferedTool[] = [];
  private offeredReport: OfferedTool[] = [];

  private readonly messages: () => readonly Message[];

  constructor(
    tools: ReadonlyMap<string, CatalogTool>,
    { checkTimeoutMs, messages }: { checkTimeoutMs: number; messages: () => readonly Message[] },
  ) {
    this.tools = tools;
    this.checkTimeoutMs = checkTimeoutMs;
    this.messages = messages;
  }

  /** To be awaited once before the first request. */
  async open(): Promise<void> {
    for (const tool of this.tools.values()) {
      const offered = await tool.offered;
      this.offeredAll.push(offered);
      if (tool.kind === 'report') this.offeredReport.push(offered);
    }
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
    const input = this.validInputs.get(callId);
    this.validInputs.delete(callId);
    return input;
  }

  /** What is to be known of a call before it is disposed of (C-1, C-5). User code that hangs or throws is bounded here. */
  async inspect(call: ReplyCall, signal: AbortSignal): Promise<CallFacts> {
    const { callId, name } = call;
    const parsed = parseToolInput(call.input);
    const tool = this.tools.get(name);
    const facts: CallFacts = {
      callId,
      name,
      tool: tool?.kind ?? 'unknown',
      input: 'valid',
      detail: '',
      wholeInput: parsed.state === 'object',
      needsApproval: false,
      report: null,
      provided: null,
    };
    if (tool === undefined)
      return { ...facts, detail: `The tools are: ${[...this.tools.keys()].join(', ') || 'none'}.` };
    if (parsed.state === 'malformed') return { ...facts, input: 'malformed', detail: parsed.reason };
    try {
      const checked = this.check(tool, parsed.value, facts, signal);
      return checked instanceof Promise ? await within(this.checkTimeoutMs, signal, checked) : checked;
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
    if (tool.judgeReport !== null) return tool.judgeReport(input).then((report) => ({ ...facts, report }));
    return after(tool.validate(input), (validation) => {
      if (!validation.valid) return { ...facts, input: 'invalid', detail: validation.reasons };
      if (tool.kind === 'progress') return { ...facts, detail: String(input.message ?? '') };
      const context = { callId: facts.callId, signal, messages: this.messages };
      return after(tool.needsApproval(validation.value, context), (needsApproval) => {
        this.validInputs.set(facts.callId, validation.value);
        return { ...facts, needsApproval };
      });
    });
  }
}

function after<A, B>(value: A | Promise<A>, then: (value: A) => B | Promise<B>): B | Promise<B> {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** What `promise` brings, or a rejection after `timeoutMs` or when `signal` aborts. */
async function within<T>(timeoutMs: number, signal: AbortSignal, promise: Promise<T>): Promise<T> {
  let timeout: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    const fail = () => reject(new Error(validationTimeoutText));
    timeout = setTimeout(fail, timeoutMs);
    if (signal.aborted) fail();
    signal.addEventListener('abort', fail, { once: true });
    promise.finally(() => signal.removeEventListener('abort', fail)).catch(() => undefined);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timeout);
  }
}

/** A name that every provider accepts. */
export const toolNamePattern = /^[A-Za-z0-9_-]{1,64}$/;

export function functionTool(name: string, description: string, inputSchema: JSONSchema7): OfferedTool {
  return { type: 'function', name, description, inputSchema };
}
