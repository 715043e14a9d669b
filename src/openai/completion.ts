import type { Counters } from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { SessionResult } from '../session/session.ts';

/** Tells the client that an attempt failed, since text that was sent cannot be taken back. */
const takenBack = '\n\n[The last reply failed and does not count.]\n\n';

/** The answers to one request, in the shapes of OpenAI's chat completions. */
export class Completion {
  private readonly head: { id: string; created: number; model: string };
  /** Whether the text of replies is the report, so that it may be sent as it comes. */
  private readonly streams: boolean;
  private sent = '';
  /** Whether text of the current attempt was sent. */
  private hasSpoken = false;

  constructor(sessionId: string, model: string, at: number, streams: boolean) {
    this.head = { id: `chatcmpl-${sessionId}`, created: Math.floor(at / 1_000), model };
    this.streams = streams;
  }

  /** The first piece, which says who speaks. */
  begin(): object {
    return this.chunk({ role: 'assistant', content: '' });
  }

  /** Returns the piece of an event of the session; null if there is nothing to send. */
  piece(event: SessionEvent): object | null {
    if (!this.streams || event.path.length > 0) return null;
    if (event.type === 'attempt.started') this.hasSpoken = false;
    if (event.type === 'model.delta' && event.kind === 'text') {
      this.hasSpoken = true;
      return this.text(event.delta);
    }
    if (!this.hasSpoken) return null;
    // Text before a call stays, and the rest begins a paragraph of its own.
    if (event.type === 'attempt.succeeded' && !this.sent.endsWith('\n\n')) return this.text('\n\n');
    return event.type === 'attempt.failed' ? this.text(takenBack) : null;
  }

  /** The pieces after the last event: what was not sent of the report, the end, and the usage. */
  *end(result: SessionResult, includeUsage: boolean): Generator<object> {
    const text = reportText(result);
    if (!this.sent.endsWith(text)) yield this.text(text);
    yield this.chunk({}, 'stop');
    if (includeUsage)
      yield { ...this.head, object: 'chat.completion.chunk', choices: [], usage: usageOf(result.counters) };
  }

  whole(result: SessionResult): object {
    const message = { role: 'assistant', content: reportText(result), refusal: null };
    return {
      ...this.head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop', logprobs: null }],
      usage: usageOf(result.counters),
    };
  }

  private text(content: string): object {
    this.sent += content;
    return this.chunk({ content });
  }

  private chunk(delta: object, finish: 'stop' | null = null): object {
    const choices = [{ index: 0, delta, finish_reason: finish, logprobs: null }];
    return { ...this.head, object: 'chat.completion.chunk', choices };
  }
}

/** An error in the shape of OpenAI's. */
export function errorBody(message: string, type: string, code: string | null, param: string | null = null): object {
  return { error: { message, type, code, param } };
}

/** A session that did not succeed, told by its slugs and its report. */
export function failure({ slugs, report, failure: why }: SessionResult): object {
  const detail = why?.detail == null ? '' : ` (${why.detail})`;
  return errorBody(`${slugs.join(', ')}${detail}. ${String(report.content)}`, 'session_failed', slugs[0] ?? null);
}

function reportText({ report }: SessionResult): string {
  const { content } = report;
  return typeof content === 'string' ? content : JSON.stringify(content);
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
