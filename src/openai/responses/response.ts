import type { Counters } from '../../../machines/index.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { SessionResult } from '../../session/session.ts';
import type { Answering } from '../answering.ts';
import { answerText, failureBody, failureOf } from '../outcome.ts';
import type { SpokenText } from '../spoken-text.ts';
import type { ResponseRequest } from './response-request.ts';

type Item = {
  id: string;
  status: 'in_progress' | 'completed' | 'incomplete';
  phase: 'commentary' | 'final_answer';
  text: string;
};

/** The answers to one request, in the shapes of OpenAI's Responses API. */
export class ResponseAnswer implements Answering {
  readonly last = null;
  private readonly id: string;
  private readonly head: object;
  private readonly spoken: SpokenText;
  /** The message that is being sent; null between two. */
  private item: Item | null = null;
  private items = 0;
  private sequence = 0;

  /** `at`: epoch ms. */
  constructor(id: string, { model, previous, store, metadata }: ResponseRequest, at: number, spoken: SpokenText) {
    this.id = id;
    this.spoken = spoken;
    this.head = {
      id,
      object: 'response',
      created_at: Math.floor(at / 1_000),
      model,
      previous_response_id: previous,
      store,
      metadata,
      instructions: null,
      incomplete_details: null,
      parallel_tool_calls: true,
      temperature: null,
      top_p: null,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      truncation: 'disabled',
    };
  }

  begin(): object[] {
    const response = this.response('in_progress', []);
    return [this.event('response.created', { response }), this.event('response.in_progress', { response })];
  }

  /** Returns what an event of the session sends. The text of an attempt that failed ends as an incomplete message. */
  events(event: SessionEvent): object[] {
    const spoken = this.spoken.takeEvent(event);
    if (spoken === null) return [];
    const { type, text } = spoken;
    const grown = this.grow(text);
    return type === 'piece' ? grown : [...grown, ...this.close(type === 'stays' ? 'completed' : 'incomplete')];
  }

  /** What was not sent of the report, and the end. Its only message is the report. */
  end(result: SessionResult): object[] {
    if (!result.success) {
      const open = this.close('incomplete');
      const { type, code, message } = failureOf(result);
      const error = { code: code ?? type, message };
      const failed = { ...this.response('failed', []), error, usage: usageOf(result.counters) };
      // Who reads only texts gets an error, too.
      return [
        ...open,
        this.event('response.failed', { response: failed }),
        this.event('error', { ...error, param: null }),
      ];
    }
    const text = answerText(result);
    const rest = this.grow(this.spoken.rest());
    const sent = this.item === null || this.item.text === text ? [] : this.close('completed');
    const missing = this.item === null ? this.grow(text) : [];
    const done = this.close('completed', 'final_answer');
    const response = this.whole(result);
    return [...rest, ...sent, ...missing, ...done, this.event('response.completed', { response })];
  }

  failed(result: SessionResult): object {
    return failureBody(result);
  }

  whole(result: SessionResult): object {
    const item = {
      id: this.messageId(),
      status: 'completed',
      phase: 'final_answer',
      text: answerText(result),
    } as const;
    return { ...this.response('completed', [messageItem(item)]), usage: usageOf(result.counters) };
  }

  private messageId(): string {
    return `msg_${this.id.slice(responsePrefix.length)}_${Math.max(this.items, 1)}`;
  }

  private response(status: 'in_progress' | 'completed' | 'failed', output: object[]): object {
    return { ...this.head, status, output, error: null, usage: null };
  }

  /** Adds to the message that is being sent, or to a new one. */
  private grow(delta: string): object[] {
    if (delta === '') return [];
    const begun = this.item === null ? this.open() : [];
    const item = this.item as Item | null;
    if (item !== null) item.text += delta;
    return [...begun, this.event('response.output_text.delta', { ...this.place(), delta, logprobs: [] })];
  }

  private open(): object[] {
    this.items += 1;
    const item: Item = { id: this.messageId(), status: 'in_progress', phase: 'final_answer', text: '' };
    this.item = item;
    const part = partOf('');
    return [
      this.event('response.output_item.added', { output_index: this.items - 1, item: messageItem(item, []) }),
      this.event('response.content_part.added', { ...this.place(), part }),
    ];
  }

  private close(status: Item['status'], phase: Item['phase'] = 'commentary'): object[] {
    const { item } = this;
    if (item === null) return [];
    const place = this.place();
    const { text } = item;
    this.item = null;
    return [
      this.event('response.output_text.done', { ...place, text, logprobs: [] }),
      this.event('response.content_part.done', { ...place, part: partOf(text) }),
      this.event('response.output_item.done', {
        output_index: this.items - 1,
        item: messageItem({ ...item, status, phase }),
      }),
    ];
  }

  private place(): object {
    return { item_id: this.messageId(), output_index: this.items - 1, content_index: 0 };
  }

  private event(type: string, more: object): object {
    const event = { type, sequence_number: this.sequence, ...more };
    this.sequence += 1;
    return event;
  }
}

/** What the id of a response begins with, which is that of its session. */
export const responsePrefix = 'resp_';

function partOf(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function messageItem({ id, status, phase, text }: Item, content = [partOf(text)]): object {
  return { id, type: 'message', role: 'assistant', status, phase, content };
}

function usageOf({ tree: { tokens } }: Counters): object {
  return {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: tokens.cacheRead },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: tokens.input + tokens.output,
  };
}
