import type { Counters } from '../../../machines/index.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { SessionResult } from '../../session/session.ts';
import type { Answering } from '../answering.ts';
import { answerText, failureOf } from '../outcome.ts';
import type { SpokenText } from '../spoken-text.ts';
import { TextAnswer } from '../text-answer.ts';

/** Whether a client of Anthropic's asks. */
export function isForAnthropic(path: string, headers: Readonly<Record<string, unknown>>): boolean {
  return 'anthropic-version' in headers || /\/messages(?:[/?]|$)/.test(path);
}

/** An error in the shape of Anthropic's. */
export function anthropicError(message: string, status: number, code: string | null = null): object {
  const types: Record<number, string> = {
    401: 'authentication_error',
    404: 'not_found_error',
    429: 'rate_limit_error',
  };
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { type, message, ...(code !== null && { code }) } };
}

/** The answers to one request, in the shapes of Anthropic's Messages API. */
export class MessageAnswer implements Answering {
  readonly last = null;
  private readonly head: object;
  private readonly text: TextAnswer;

  constructor(id: string, { model }: { model: string }, spoken: SpokenText) {
    this.head = { id: `msg_${id}`, type: 'message', role: 'assistant', model };
    this.text = new TextAnswer(spoken);
  }

  begin(): object[] {
    const usage = { input_tokens: 0, output_tokens: 0 };
    const message = { ...this.head, content: [], stop_reason: null, stop_sequence: null, usage };
    return [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ];
  }

  events(event: SessionEvent): object[] {
    return pieces(this.text.grown(event));
  }

  end(result: SessionResult): object[] {
    if (!result.success) return [this.failed(result)];
    return [
      ...pieces(this.text.rest(result)),
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: usageOf(result.counters),
      },
      { type: 'message_stop' },
    ];
  }

  whole(result: SessionResult): object {
    const content = [{ type: 'text', text: answerText(result) }];
    return { ...this.head, content, stop_reason: 'end_turn', stop_sequence: null, usage: usageOf(result.counters) };
  }

  failed(result: SessionResult): object {
    const { message, code } = failureOf(result);
    return anthropicError(message, 500, code);
  }
}

function pieces(text: string): object[] {
  return text === '' ? [] : [{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }];
}

/** The usage of the session and its sub-agents, over all requests. Anthropic counts what was cached apart. */
function usageOf({ tree: { tokens } }: Counters): object {
  const { input, output, cacheRead, cacheWrite } = tokens;
  return {
    input_tokens: Math.max(0, input - cacheRead - cacheWrite),
    output_tokens: output,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
  };
}
