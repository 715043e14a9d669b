import type { Counters } from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import { withoutSecrets } from '../secrets/redact.ts';
import { safeLength } from '../secrets/written-secrets.ts';
import type { SessionResult } from '../session/session.ts';

/** Tells the client that an attempt failed, since text that was sent cannot be taken back. */
const takenBack = '\n\n[The last reply failed and does not count.]\n\n';

/** Precedes the whole of a reply whose text was sent in another order. */
const again = '\n\n[The whole reply:]\n\n';

/** `at`: epoch ms. `streams`: whether the text of replies is the report, so that it may be sent as it comes. */
type CompletionOptions = { at: number; streams: boolean; secrets: readonly string[] };

/** The answers to one request, in the shapes of OpenAI's chat completions. */
export class Completion {
  private readonly head: { id: string; created: number; model: string };
  private readonly streams: boolean;
  private readonly secrets: readonly string[];
  private sent = '';
  /** What waits for the rest of it: half a character, or what may be the beginning of a secret, also in the next part. */
  private held = '';
  /** Whether there is text of the current attempt. */
  private hasSpoken = false;

  constructor(id: string, model: string, { at, streams, secrets }: CompletionOptions) {
    this.head = { id: `chatcmpl-${id}`, created: Math.floor(at / 1_000), model };
    this.streams = streams;
    this.secrets = secrets;
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
      return this.grown(event.delta);
    }
    if (!this.hasSpoken) return null;
    // Text before a call stays, and the rest begins a paragraph of its own.
    if (event.type === 'attempt.progressed') {
      const rest = this.rest();
      return this.text(`${this.sent}${rest}`.endsWith('\n\n') ? rest : `${rest}\n\n`);
    }
    if (event.type !== 'attempt.failed') return null;
    this.hasSpoken = false;
    return this.text(`${this.rest()}${takenBack}`);
  }

  /** The pieces after the last event: what was not sent of the report, the end, and the usage. */
  *end(result: SessionResult, includeUsage: boolean): Generator<object | null> {
    const text = reportText(result);
    const rest = this.rest();
    if (rest !== '') yield this.text(rest);
    // Such as when the texts of several parts came by turns.
    if (!this.sent.endsWith(text)) yield this.text(this.hasSpoken ? `${again}${text}` : text);
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

  private grown(delta: string): object | null {
    const text = `${this.held}${delta}`;
    const shown = safeLength(/[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text, this.secrets);
    this.held = text.slice(shown);
    return this.text(cleaned(text.slice(0, shown), this.secrets));
  }

  /** What was held back: nothing follows it. */
  private rest(): string {
    const { held } = this;
    this.held = '';
    return cleaned(held, this.secrets);
  }

  private text(content: string): object | null {
    this.sent += content;
    return content === '' ? null : this.chunk({ content });
  }

  private chunk(delta: object, finish: 'stop' | null = null): object {
    const choices = [{ index: 0, delta, finish_reason: finish, logprobs: null }];
    return { ...this.head, object: 'chat.completion.chunk', choices };
  }
}

function cleaned(text: string, secrets: readonly string[]): string {
  return withoutSecrets(text, secrets).toWellFormed();
}

/** An error in the shape of OpenAI's. */
export function openaiError(message: string, type: string, code: string | null, param: string | null = null): object {
  return { error: { message, type, code, param } };
}

/** A session that did not succeed, told by its slugs and its report. */
export function failureBody({ slugs, report, failure: why }: SessionResult): object {
  const detail = why?.detail == null ? '' : ` (${why.detail})`;
  return openaiError(`${slugs.join(', ')}${detail}. ${String(report.content)}`, 'session_failed', slugs[0] ?? null);
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
