import {
  assistantMessage,
  estimateTokens,
  failedMessage,
  type LeftOut,
  type Measured,
  noUsage,
  providerResults,
  type Reply,
  type SizedResult,
  stubTokens,
  type Usage,
} from '../../machines/index.ts';
import { estimateJsonTokens, estimateMessageTokens } from '../vocabulary/tokens.ts';
import { freeableText, isOldText } from './context-guard.ts';
import type { PromptSource } from './prompt-source.ts';

/** A provider that reports less than this share of the estimate does not count everything that was sent. */
const leastShare = 0.5;

/**
 * Measures requests: instructions, tools and messages (T-6). Messages are only appended, so each is measured once.
 */
export class RequestMeter {
  private readonly source: PromptSource;
  private readonly tools: () => readonly object[];
  private messages = { taken: 0, tokens: 0, oldText: 0, revision: 0 };
  private offered: { tools: readonly object[]; tokens: number } = { tools: [], tokens: 0 };

  constructor(source: PromptSource, tools: () => readonly object[]) {
    this.source = source;
    this.tools = tools;
  }

  /** Estimates a request that leaves out the results of `omit`, and so many tokens of old text. */
  estimate({ omit, omitText }: LeftOut, instructions = this.source.instructions): number {
    const { answerTokens } = this.source;
    const left = omit.reduce((sum, callId) => sum + (answerTokens.get(callId) ?? stubTokens) - stubTokens, 0);
    return estimateTokens(instructions ?? '') + this.toolTokens() + this.read().tokens - left - omitText;
  }

  /** Returns a meter of the same tools, for another conversation. */
  of(source: PromptSource): RequestMeter {
    return new RequestMeter(source, this.tools);
  }

  /** Estimates the first request, and the tool results in it. */
  first(instructions: string | null): { tokens: number; results: SizedResult[]; oldText: number } {
    const results = [...this.source.answerTokens].map(([callId, tokens]) => ({ callId, tokens }));
    const tokens = this.estimate({ omit: [], omitText: 0 }, instructions);
    return { tokens, results, oldText: this.read().oldText };
  }

  /** Returns how many tokens more a request has with these instructions (null: the session's) and tools. */
  growth(instructions: string | null, tools: readonly object[]): number {
    const { instructions: now, ownInstructions } = this.source;
    const text = estimateTokens(instructions ?? ownInstructions ?? '') - estimateTokens(now ?? '');
    return text + (tools === this.tools() ? 0 : estimateJsonTokens(tools) - this.toolTokens());
  }

  /** Estimates what a request and its reply, which may have broken off, used. */
  guess(left: LeftOut, { content, openInputs }: Reply): Usage {
    const texts = content.flatMap((part) =>
      part.type === 'tool-call' ? part.input : part.type === 'text' || part.type === 'reasoning' ? part.text : [],
    );
    const written = [...texts, ...openInputs.map(({ input }) => input)];
    const output = written.reduce((sum, text) => sum + estimateTokens(text), 0);
    return { ...noUsage, input: this.estimate(left), output };
  }

  /** Returns the size of a request and its reply, as the provider counted it, or estimated if it did not. */
  measure(left: LeftOut, reply: Reply, usage: Usage): Measured {
    const provided = new Set(providerResults(reply).keys());
    const [added, kept] = [assistantMessage(reply, provided), failedMessage(reply, provided)].map((message) =>
      message === null ? 0 : estimateMessageTokens(message),
    ) as [number, number];
    const request = this.estimate(left);
    const oldText = Math.max(0, this.read().oldText - left.omitText);
    if (usage.input === 0) return { tokens: request + added, failed: request + kept, counted: false, oldText };
    const least = (estimate: number) => Math.ceil(estimate * leastShare);
    return {
      tokens: Math.max(usage.input + usage.output, least(request + added)),
      failed: Math.max(usage.input + Math.min(usage.output, kept), least(request + kept)),
      counted: true,
      oldText,
    };
  }

  private toolTokens(): number {
    const tools = this.tools();
    if (tools !== this.offered.tools) this.offered = { tools, tokens: estimateJsonTokens(tools) };
    return this.offered.tokens;
  }

  /** Returns the tokens of all messages, and of the old text among them that may be left out. */
  private read(): { tokens: number; oldText: number } {
    const { source } = this;
    const { messages, revision } = source;
    if (this.messages.revision !== revision) this.messages = { taken: 0, tokens: 0, oldText: 0, revision };
    for (; this.messages.taken < messages.length; this.messages.taken += 1) {
      const message = messages[this.messages.taken];
      if (message === undefined) continue;
      this.messages.tokens += estimateMessageTokens(message);
      if (isOldText(message, this.messages.taken, source)) this.messages.oldText += freeableText(message);
    }
    return this.messages;
  }
}
