import type { JSONSchema7 } from '@ai-sdk/provider';
import type { CallFacts, Json, JsonObject, Message, ReportVerdict, Spent, ToolOutput } from '../../machines/index.ts';
import type { TaskLimits } from '../host/deadline.ts';
import type { CheckAtOnce, Validation } from '../schema/schema.ts';
import type { OfferedTool } from '../vocabulary/offered-tool.ts';
import type { UserReply } from './questions.ts';
import type { CachedTool } from './running/cache.ts';

/** What is known of a call before it runs. */
export type CallContext = Omit<ToolContext, 'idempotencyKey'>;

/** The context passed to a tool with its input. */
export type ToolContext = {
  callId: string;
  /** Aborts on the tool's timeout and when the session is aborted. */
  signal: AbortSignal;
  /** The conversation so far. */
  messages: () => readonly Message[];
  /** What the session was given as its `context`. */
  context: unknown;
  /** The same for a call that runs again after a crash, and for no other call (D-4). */
  idempotencyKey: string;
};

/** The context of Pawl's own tools, which also report progress and spending. */
export type ToolRun = ToolContext & {
  /** Shows a preliminary output, cut at `mostBytes`. Default: the most bytes of a result. */
  progress(output: ToolOutput, mostBytes?: number): void;
  account(spent: Spent): void;
  /** Takes over the task with which a server answered this call to another process; null if none did. */
  takeTask(): string | null;
  /** Notes that task. Resolves when it is durable. */
  follow(taskId: string): Promise<void>;
  /** Asks the session's user, and resolves with the reply. */
  ask(question: { message: string; schema: JsonObject }): Promise<UserReply>;
  /** The application's code threw, which does not fail the call. */
  noteFailed(error: unknown): void;
  /** The value is one that was kept, so many ms ago. */
  noteCached(ageMs: number): void;
  /** The server still works on the call. */
  noteAlive(): void;
  /** Epoch ms on the session's clock. */
  now(): number;
  /** A 1-based page of a large result in this session. */
  resultPage(id: string, page: number): { text: string; of: number } | null;
  /** A 1-based page of what compactions took out of the conversation. */
  historyPage(page: number): { text: string; of: number } | null;
};

/** A call that was carried out, and whose session did not succeed. */
export type UndoneCall = {
  /** The same each time, and another than that of the call, so that a destination takes it back once. */
  idempotencyKey: string;
  /** The input as the tool had it. */
  input: unknown;
  /** What the model read of the result. */
  output: ToolOutput;
  /** What the session was given as its `context`. */
  context: unknown;
};

/** A tool in the catalog, from any source. It is offered to the model and run under its name. */
export type CatalogTool = {
  name: string;
  kind: 'real' | 'batch' | 'progress' | 'report';
  offered: Promise<OfferedTool> | OfferedTool;
  validate(input: JsonObject): Validation | Promise<Validation>;
  /** Whether a call with this (valid) input needs approval first; default: no. */
  needsApproval?(input: unknown, context: CallContext): boolean | Promise<boolean>;
  /** What a person is to see of a call before the decision. */
  preview?(input: unknown): Promise<string>;
  /** Tells the tool of its input, before it runs. */
  announce?(input: unknown, context: ToolContext): unknown;
  /** Runs the tool. Every value of an async iterable but the last is preliminary. */
  execute(input: unknown, run: ToolRun): unknown;
  /** Converts the tool's return value to output for the model, instead of the catalog. */
  toModelOutput?(value: unknown, input: unknown, callId: string): Promise<ToolOutput>;
  /** Judges the report; only the report tool has it. */
  judgeReport?(input: JsonObject, limits: TaskLimits): Promise<ReportVerdict>;
  /** Checks and takes the tool's part of a session's context; without it, the tool gets the whole. */
  checkContext?: CheckAtOnce;
  /** The call is handed out, and answered from outside (`Session.answer`). */
  isClientSide?: true;
  /** Its provider runs it, and nothing here can refuse its calls. */
  isRemote?: true;
  /** The MCP server that it comes from. */
  server?: string;
  /** A call hands the conversation to the agent of this name (T-8). */
  handsTo?: string;
  /** What its name stands for in a shared conversation; default: the agent of that name. */
  meaning?: object;
  /** The input is a text; the conversation, policies and events hold it as `{ text }`. */
  takesText?: boolean;
  /** Its provider may give the result in a later reply. */
  isDeferred?: true;
  /** Builds the item that the result must be, from a text (see `asItem`). */
  resultItem?: (text: string, failed: boolean) => Json;
  /** Why this session refuses every call to the tool, regardless of the input. */
  refusal?: NonNullable<CallFacts['refusal']>;
  /** The queue of the process in which its calls wait. */
  queue?: string;
  /** Its values, which are used again. */
  cache?: CachedTool;
  /** The tool's own timeout in ms; null for a tool that limits itself. Default: the agent's `toolTimeoutMs`. */
  timeoutMs?: number | null;
  /**
   * What follows for a call that ran when its process died (D-4): it is answered `interrupted`, runs again, is looked for by
   * `reconcile` (D-7), or continues, as a sub-agent does. Default: `answer`.
   */
  afterCrash?: 'answer' | 'repeat' | 'reconcile' | 'continue';
  /** Finds out what became of a call that ran when its process died. */
  reconcile?(input: unknown, run: ToolRun): unknown;
  /** Cancels the task of a call to this tool that is not being followed. */
  cancelTask?(taskId: string): void;
  /** Takes back what a call did (D-7c). */
  undo?(call: UndoneCall): Promise<unknown>;
};

/** Marks a promise as awaited later, so that a rejection before then is not reported as unhandled. */
export function later<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

export function functionTool(name: string, description: string, inputSchema: JSONSchema7): OfferedTool {
  return { type: 'function', name, description, inputSchema };
}
