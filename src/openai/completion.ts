import type { Counters } from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { SessionResult } from '../session/session.ts';
import type { Answering } from './answering.ts';
import type { CompletionRequest } from './completion-request.ts';
import { answerText, failureBody } from './outcome.ts';
import type { SpokenText } from './spoken-text.ts';

/** Tells the client that an attempt failed, since text that was sent cannot be taken back. */
const takenBack = '\n\n[The last reply failed and does not count.]\n\n';

/** Precedes the whole of a reply whose text was sent in another order. */
const again = '\n\n[The whole reply:]\n\n';

/** The answers to one request, in the shapes of OpenAI's chat completions. */
export class Completion implements Answering {
  readonly last = '[DONE]';
  private readonly head: { id: string; created: number; model: string };
  private readonly spoken: SpokenText;
  private sent = '';

  private readonly includeUsage: boolean;

  /** `at`: epoch ms. */
  constructor(id: string, { model, includeUsage }: CompletionRequest, at: number, spoken: SpokenText) {
    this.head = { id: `chatcmpl-${id}`, created: Math.floor(at / 1_000), model };
    this.includeUsage = includeUsage;
    this.spoken = spoken;
  }

  /** The first piece, which says who speaks. */
  begin(): object[] {
    return [this.chunk({ role: 'assistant', content: '' })];
  }

  events(event: SessionEvent): object[] {
    const spoken = this.spoken.takeEvent(event);
    if (spoken === null) return [];
    const { type, text } = spoken;
    if (type === 'piece') return this.text(text);
    if (type === 'fails') return this.text(`${text}${takenBack}`);
    // Text before a call stays, and the rest begins a paragraph of its own.
    return this.text(`${this.sent}${text}`.endsWith('\n\n') ? text : `${text}\n\n`);
  }

  /** What was not sent of the report, the end, and the usage. */
  end(result: SessionResult): object[] {
    if (!result.success) return [failureBody(result)];
    const text = answerText(result);
    const rest = this.text(this.spoken.rest());
    // Such as when the texts of several parts came by turns.
    const missing = this.sent.endsWith(text) ? [] : this.text(this.spoken.hasSpoken ? `${again}${text}` : text);
    const usage = { ...this.head, object: 'chat.completion.chunk', choices: [], usage: usageOf(result.counters) };
    return [...rest, ...missing, this.chunk({}, 'stop'), ...(this.includeUsage ? [usage] : [])];
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
    this.sent += content;
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
