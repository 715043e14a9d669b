import { type CallToolResult, type ElicitRequest, type ElicitResult, SdkHttpError } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { type Clock, sleep } from '../../../host/clock.ts';
import { LeftForLater } from '../../../host/effect-context.ts';
import { messageOf, shown } from '../../../input/errors.ts';
import { ToolError } from '../../../vocabulary/tool-error.ts';
import type { ToolRun } from '../../catalog-tool.ts';
import type { McpServerConfig } from '../config.ts';
import type { Connected } from '../transport.ts';
import { mostProgressBytes } from './call.ts';
import { isAnswer, saidWith } from './sdk-errors.ts';

const [soonestMs, defaultMs, latestMs] = [50, 1_000, 30_000];
/** Pauses before a request is sent again, in ms. */
const [firstPauseMs, longestPauseMs] = [100, 5_000];
/** Timeout of a question for a task, in ms. */
const longestAnswerMs = 60_000;
/** Timeout to tell a server that a task is not wanted any more, in ms. */
const cancelTimeoutMs = 3_000;

const detailed = z.looseObject({
  status: z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']),
  statusMessage: z.string().nullish(),
  pollIntervalMs: z.number().nullish().catch(null),
  result: z.unknown().optional(),
  error: z.looseObject({ message: z.string() }).nullish(),
  inputRequests: z.record(z.string(), z.looseObject({ method: z.string(), params: z.unknown().optional() })).nullish(),
});

type RemoteTasksOptions = {
  clock: Clock;
  server: string;
  handlers: McpServerConfig['handlers'];
  /** Hears what a handler throws. */
  told: (error: unknown) => void;
  /** Answers what is asked of the user. */
  ask: (params: ElicitRequest['params']) => Promise<ElicitResult>;
  /** The connection, which is opened anew if it was lost. */
  alive: (signal: AbortSignal) => Promise<Connected>;
  lose: (connected: Connected, message: string) => void;
  /** What the server said, as it may be told. */
  said: (text: string) => string;
};

type Question = { method: string; params?: unknown };

/** The task has ended without a result. */
class TaskOver extends ToolError {}

/** Whether a server, or what stands before it, may answer the same request otherwise later. */
function isPassing(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

/** The tasks of one server. */
export class RemoteTasks {
  private readonly options: RemoteTasksOptions;
  /** What the server is still told. */
  private readonly cancelling = new Set<Promise<unknown>>();

  constructor(options: RemoteTasksOptions) {
    this.options = options;
  }

  /**
   * Waits for a task, and answers what it asks by the handlers of the configuration. Ends the task if the call is aborted,
   * unless another process resumes its session.
   */
  async follow(taskId: string, run: ToolRun): Promise<CallToolResult> {
    try {
      return await this.ended(taskId, run);
    } catch (error) {
      const isLeft = run.signal.aborted && run.signal.reason instanceof LeftForLater;
      if (!(error instanceof TaskOver) && !isLeft) this.cancel(taskId);
      throw error;
    }
  }

  /** Resolves when the server knows which tasks are not wanted any more. */
  async cancelled(): Promise<void> {
    await Promise.all(this.cancelling);
  }

  private async ended(taskId: string, run: ToolRun): Promise<CallToolResult> {
    const { clock, server, said } = this.options;
    const answered = new Set<string>();
    let last = '';
    for (;;) {
      const task = await this.ask('tasks/get', { taskId }, detailed, run.signal);
      run.noteAlive();
      if (task.status === 'completed') return task.result as CallToolResult;
      if (task.status === 'failed')
        throw new TaskOver(
          `The task of the server ${server} failed: ${said(task.error?.message ?? 'no reason given')}.`,
        );
      if (task.status === 'cancelled') throw new TaskOver(`The server ${server} cancelled the task.`);
      const message = task.statusMessage ?? '';
      if (message !== last && message !== '') run.progress({ type: 'text', value: said(message) }, mostProgressBytes);
      last = message;
      const open = Object.entries(task.inputRequests ?? {}).filter(([id]) => !answered.has(id));
      if (open.length > 0) {
        const inputResponses: Record<string, unknown> = {};
        for (const [id, question] of open) {
          run.signal.throwIfAborted();
          inputResponses[id] = await this.answerTo(question);
        }
        await this.ask('tasks/update', { taskId, inputResponses }, z.looseObject({}), run.signal);
        for (const [id] of open) answered.add(id);
      }
      const waitMs = Math.min(Math.max(task.pollIntervalMs ?? defaultMs, soonestMs), latestMs);
      await sleep(clock, open.length > 0 ? soonestMs : waitMs, run.signal);
      run.signal.throwIfAborted();
    }
  }

  /** Answers by the handlers of the configuration; what nobody answers is declined. */
  private async answerTo({ method, params }: Question): Promise<unknown> {
    const { handlers, told } = this.options;
    try {
      return await this.answerOf({ method, params }, handlers);
    } catch (error) {
      if (error instanceof ToolError) throw error;
      // An application's own error: the server hears that nobody answers.
      told(error);
      return { action: 'decline' };
    }
  }

  private async answerOf({ method, params }: Question, handlers: McpServerConfig['handlers']): Promise<unknown> {
    const { server } = this.options;
    if (method === 'elicitation/create') return this.options.ask(params as never);
    if (method === 'sampling/createMessage' && handlers?.sample) return handlers.sample(params as never);
    throw new ToolError(`The task of the server ${server} asks for ${shown(method)}, which nobody here answers.`);
  }

  /** Sends a request that may be sent again, and does so if the connection was lost. */
  private async ask<Answer>(
    method: string,
    params: Record<string, unknown>,
    schema: z.ZodType<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { alive, lose, said, server, clock } = this.options;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
      const connected = await alive(signal);
      try {
        return (await connected.client.request({ method, params }, schema, {
          ...{ signal, timeout: longestAnswerMs },
        })) as Answer;
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof SdkHttpError && isPassing(error.status)) {
          await sleep(clock, pauseMs, signal);
          signal.throwIfAborted();
          continue;
        }
        if (isAnswer(error) && connected.client.transport !== undefined)
          throw new ToolError(said(saidWith(error, server)));
        lose(connected, messageOf(error));
        await sleep(clock, pauseMs, signal);
        signal.throwIfAborted();
      }
    }
  }

  /** Tells the server that a task is not wanted any more. */
  cancel(taskId: string): void {
    const cancelling = this.ask('tasks/cancel', { taskId }, z.looseObject({}), AbortSignal.timeout(cancelTimeoutMs))
      .catch(() => undefined)
      .finally(() => this.cancelling.delete(cancelling));
    this.cancelling.add(cancelling);
  }
}
