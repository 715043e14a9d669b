import type { Counters } from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { SessionResult } from '../session/session.ts';
import type { Answering } from './answering.ts';
import type { CompletionRequest } from './completion-request.ts';
import { answerText, failureBody } from './outcome.ts';
import type { SpokenText } from './spoken-text.ts';
import { TextAnswer } from './text-answer.ts';

/** The answers to one request, in the shapes of OpenAI's chat completions. */
export class Completion implements Answering {
  readonly last = '[DONE]';
  private readonly head: { id: string; created: number; model: string };
  private readonly answer: TextAnswer;
  private readonly includeUsage: boolean;

  /** `at`: epoch ms. */
  constructor(id: string, { model, includeUsage }: CompletionRequest, at: number, spoken: SpokenText) {
    this.head = { id: `chatcmpl-${id}`, created: Math.floor(at / 1_000), model };
    this.includeUsage = includeUsage;
    this.answer = new TextAnswer(spoken);
  }

  /** The first piece, which says who speaks. */
  begin(): object[] {
    return [this.chunk({ role: 'assistant', content: '' })];
  }

  events(event: SessionEvent): object[] {
    return this.text(this.answer.grown(event));
  }

  /** What was not sent of the report, the end, and the usage. */
  end(result: SessionResult): object[] {
    if (!result.success) return [this.failed(result)];
    const usage = { ...this.head, object: 'chat.completion.chunk', choices: [], usage: usageOf(result.counters) };
    return [...this.text(this.answer.rest(result)), this.chunk({}, 'stop'), ...(this.includeUsage ? [usage] : [])];
  }

  failed(result: SessionResult): object {
    return failureBody(result);
  }

  whole(result: SessionResult): object {
    const message = { role: 'assistant', content: answerText(result), refusal: null };
    return {
      ...this.head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop', logprobs: null }],
      usage: usageOf(result.counters),
    };
  }

  private text(content: string): object[] {
    return content === '' ? [] : [this.chunk({ content })];
  }

  private chunk(delta: object, finish: 'stop' | null = null): object {
    const choices = [{ index: 0, delta, finish_reason: finish, logprobs: null }];
    return { ...this.head, object: 'chat.completion.chunk', choices };
  }
}

/** The usage of the session and its sub-agents, over all requests. */
function usageOf({ tree: { tokens } }: Counters): object {
  return {
    prompt_tokens: tokens.input,
    completion_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
    prompt_tokens_details: { cached_tokens: tokens.cacheRead },
    completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  };
}
