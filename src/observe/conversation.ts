import {
  assistantMessage,
  type Fact,
  historyName,
  type Message,
  type Reply,
  replyCalls,
  type ToolResultPart,
  userMessage,
} from '../../machines/index.ts';

/** The conversation as it lasts, as a fold over the facts (D-6): always well formed between two attempts (C-6). */
export class Conversation {
  readonly messages: Message[];
  /** Ids of the tool calls in it: a reply's own are made unique against them (C-2). */
  readonly callIds: Set<string>;
  /** Estimated tokens of each answer that may be left out, in order (T-6). */
  readonly answerTokens = new Map<string, number>();
  private steering: string[] = [];
  private reply: Reply | null = null;
  private answers: ToolResultPart[] = [];

  constructor(messages: Message[]) {
    this.messages = messages;
    this.callIds = new Set(
      messages.flatMap((message) =>
        message.role === 'assistant'
          ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
          : [],
      ),
    );
  }

  apply(fact: Fact): void {
    switch (fact.type) {
      case 'session.steered':
        this.steering.push(fact.text);
        return;
      case 'attempt.started':
        for (const text of this.steering) this.messages.push(userMessage(text));
        this.steering = [];
        return;
      case 'attempt.replied':
        this.reply = fact.reply;
        this.answers = [];
        for (const { callId } of fact.calls) this.callIds.add(callId);
        return;
      case 'tool.answered': {
        const { index, callId, name, output, tokens } = fact;
        this.answers[index] = { type: 'tool-result', toolCallId: callId, toolName: historyName(name), output };
        this.answerTokens.set(callId, tokens);
        return;
      }
      case 'attempt.finished':
      case 'attempt.succeeded':
      case 'attempt.failed':
      case 'attempt.aborted':
        this.close();
        return;
      default:
        return;
    }
  }

  /** The reply and the answers to its calls become part of the conversation, in the order of the calls (C-1). */
  private close(): void {
    const { reply, answers } = this;
    this.reply = null;
    if (reply === null) return;
    const message = assistantMessage(reply);
    if (message === null) return;
    this.messages.push(message);
    const results = replyCalls(reply).flatMap((call, index) => {
      const answer = answers[index];
      return call.providerExecuted || answer === undefined ? [] : [answer];
    });
    if (results.length > 0) this.messages.push({ role: 'tool', content: results });
  }
}
