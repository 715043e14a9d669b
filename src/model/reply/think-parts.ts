import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';

type Part = LanguageModelV4StreamPart;
type TextStart = Extract<Part, { type: 'text-start' }>;

const opening = '<think>';
const closing = '</think>';
const reasoningId = 'think';

/**
 * Passes on the parts of a stream. A text that begins with `<think>…</think>` is reasoning up to there, as if the server
 * had parsed it (F-4): parts of reasoning take its place. Only the head of a reply is looked at.
 */
export class ThinkParts {
  private readonly pass: (part: Part, at?: number) => void;
  private state: 'before' | 'undecided' | 'thinking' | 'after' | 'over' = 'before';
  /** The start of the text, which is passed on once it is clear that it is one. */
  private start: TextStart | null = null;
  private held = '';

  constructor(pass: (part: Part, at?: number) => void) {
    this.pass = pass;
  }

  take(part: Part, at?: number): void {
    if (this.state === 'over') this.pass(part, at);
    else if (this.state === 'before') this.first(part, at);
    else if (part?.type === 'text-delta' && part.id === this.start?.id && typeof part.delta === 'string') {
      this.held += part.delta;
      if (this.state === 'undecided') this.decide(at);
      if (this.state === 'thinking') this.think(at);
      if (this.state === 'after') this.answer(at);
    } else {
      this.end(at);
      this.pass(part, at);
    }
  }

  /** Passes on what was held back. */
  end(at?: number): void {
    const { state, start, held } = this;
    this.state = 'over';
    if (start === null) return;
    if (state === 'undecided') this.text(held, at);
    if (state !== 'thinking') return;
    this.reasoning(held, at);
    this.pass({ type: 'reasoning-end', id: reasoningId }, at);
  }

  private first(part: Part, at?: number): void {
    const type = part?.type;
    if (type === 'text-start') {
      this.start = part;
      this.state = 'undecided';
      return;
    }
    if (type !== 'stream-start' && type !== 'response-metadata' && type !== 'ping' && type !== 'raw')
      this.state = 'over';
    this.pass(part, at);
  }

  private decide(at?: number): void {
    const text = this.held.trimStart();
    if (opening.startsWith(text)) return;
    if (text.startsWith(opening)) {
      this.state = 'thinking';
      this.held = text.slice(opening.length);
      this.pass({ type: 'reasoning-start', id: reasoningId }, at);
    } else {
      this.state = 'over';
      this.text(this.held, at);
    }
  }

  private think(at?: number): void {
    const end = this.held.indexOf(closing);
    if (end === -1) {
      // The end of what came may be the start of the closing tag.
      let kept = Math.min(this.held.length, closing.length - 1);
      while (kept > 0 && !closing.startsWith(this.held.slice(-kept))) kept -= 1;
      this.reasoning(this.held.slice(0, this.held.length - kept), at);
      this.held = this.held.slice(this.held.length - kept);
      return;
    }
    this.reasoning(this.held.slice(0, end), at);
    this.pass({ type: 'reasoning-end', id: reasoningId }, at);
    this.state = 'after';
    this.held = this.held.slice(end + closing.length);
  }

  /** Passes on the text after the reasoning, without the blanks before it. */
  private answer(at?: number): void {
    const text = this.held.trimStart();
    if (text === '') return;
    this.state = 'over';
    this.text(text, at);
  }

  private reasoning(delta: string, at?: number): void {
    if (delta !== '') this.pass({ type: 'reasoning-delta', id: reasoningId, delta }, at);
  }

  private text(delta: string, at?: number): void {
    if (this.start === null) return;
    this.pass(this.start, at);
    if (delta !== '') this.pass({ type: 'text-delta', id: this.start.id, delta }, at);
  }
}
