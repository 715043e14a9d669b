import {
  type AssistantMessage,
  assistantMessage,
  batchOutput,
  type CallFacts,
  type Fact,
  failedMessage,
  historyInput,
  historyName,
  isComplete,
  type JsonObject,
  type Message,
  type ProviderData,
  type RefusedPiece,
  type Reply,
  replyCalls,
  type ToolResultPart,
  type TurnPlan,
  userMessage,
  withoutItemIds,
} from '../../machines/index.ts';
import { withoutPiece } from '../vocabulary/refused-pieces.ts';
import { estimateOutputTokens } from '../vocabulary/tokens.ts';
import { compacted, type Ranges } from './compaction.ts';
import type { Fold, Sighting, ToolTraits } from './events.ts';

/** The durable conversation, folded over the facts (D-6). It is well formed between any two attempts (C-6). */
export class Conversation implements Fold {
  readonly messages: Message[];
  /** The number of messages that the session was given. */
  given = 0;
  /** The position of the prompt: the last message of a user among those. */
  prompt = 0;
  /** Where the turns begin; see `Compactable`. */
  turnStarts: readonly number[] = [];
  /** What compactions took out of the conversation, in order (T-9). */
  readonly replaced: Message[] = [];
  /** The model that is asked for a summary, while it is. */
  summaryFrom: string | null = null;
  /** Changes when a message is not only appended. */
  revision = 0;
  /** The tools whose schema a provider refused; they are offered with one that permits anything (P-2). */
  readonly refusedSchemas = new Set<string>();
  /** Whether `checkInput` replaced the messages that the session was given. */
  private isReplaced = false;
  /** The system prompt as the session was prepared; null before that, or if the agent has none. */
  ownInstructions: string | null = null;
  /** The plan of the current turn, or of the next while the session advances; null without one (T-7). */
  plan: Omit<TurnPlan, 'targets'> | null = null;
  /** The agent that has the conversation, by its name in `handoffs`; null for the one that it began with (T-8). */
  speaker: string | null = null;
  /** Ids of all tool calls so far. The ids in a new reply are made unique against them (C-2). */
  readonly callIds = new Set<string>();
  /** Estimated tokens of each answer that the context guard may omit, in order (T-6). */
  readonly answerTokens = new Map<string, number>();
  /** Ids of the provider-executed calls whose result is still to come. */
  private readonly open = new Set<string>();
  private steering: string[] = [];
  private reply: Reply | null = null;
  private calls: CallFacts[] = [];
  private inputs: JsonObject[] | null = null;
  private answers: (ToolResultPart & { success: boolean })[] = [];
  private readonly tools: ToolTraits | null;

  /** `tools` are the agent's own, of which some may hand the conversation over. */
  constructor(messages: Message[], tools: ToolTraits | null = null) {
    this.messages = messages;
    this.tools = tools;
    this.begin();
  }

  /** Takes in the messages that the session was given. */
  private begin(): void {
    this.given = this.messages.length;
    this.prompt = this.messages.findLastIndex(({ role }) => role === 'user');
    this.turnStarts = this.messages.flatMap(({ role }, at) => (role === 'user' && at < this.prompt ? [at] : []));
    this.revision += 1;
    this.callIds.clear();
    this.answerTokens.clear();
    this.open.clear();
    for (const message of this.messages) {
      if (message.role === 'assistant') {
        this.noteOpen(message);
        for (const part of message.content)
          if (part.type === 'tool-call') this.noteIds(part.toolCallId, part.providerId);
      }
      if (message.role !== 'tool') continue;
      for (const part of message.content) this.answerTokens.set(part.toolCallId, estimateOutputTokens(part.output));
    }
  }

  /** The system prompt of the next request. */
  get instructions(): string | null {
    return this.plan?.instructions ?? this.plan?.own ?? this.ownInstructions;
  }

  /** Returns the task: the prompt that the session was given, or the text of the user message that replaced it (G-1). */
  promptOr(given: string | null): string | null {
    return this.isReplaced ? lastPrompt(this.messages.slice(0, this.given)) : given;
  }

  /** Returns a call's input, from the current reply, as kept in the history; also for a call inside a batch. */
  inputOf(index: number): JsonObject {
    this.inputs ??= this.allInputs();
    return this.inputs[index] ?? {};
  }

  /** The inputs of all calls in the reply: parsed once, since a batch may hold thousands. */
  private allInputs(): JsonObject[] {
    const own = this.reply === null ? [] : replyCalls(this.reply).map(historyInput);
    const seen = new Map<number, number>();
    return this.calls.map(({ within }, index) => {
      if (within === null) return own[index] ?? {};
      const position = seen.get(within) ?? 0;
      seen.set(within, position + 1);
      const inside = own[within]?.calls;
      const call = Array.isArray(inside) ? inside[position] : null;
      const input = typeof call === 'object' && call !== null && 'input' in call ? call.input : null;
      return historyInput({ input: JSON.stringify(input ?? {}) });
    });
  }

  fact(fact: Fact): void {
    switch (fact.type) {
      case 'session.prepared':
        this.ownInstructions = fact.instructions;
        if (fact.messages !== null) {
          this.isReplaced = true;
          this.messages.splice(0, this.messages.length, ...fact.messages);
          this.begin();
        }
        return;
      case 'turn.planned':
        this.plan = fact;
        return;
      case 'turn.started':
        this.turnStarts = [...this.turnStarts, this.messages.length];
        return;
      case 'conversation.compacted':
        this.compact(fact.ranges, fact.message);
        return;
      case 'compaction.failed':
        this.summaryFrom = null;
        return;
      case 'session.steered':
        this.steering.push(fact.text);
        return;
      case 'attempt.started':
        this.takeSteering();
        return;
      // Steering that missed the last request stays in the conversation, so that it is not lost.
      case 'session.succeeded':
      case 'session.failed':
      case 'session.aborted':
        this.takeSteering();
        return;
      case 'attempt.replied':
        this.reply = fact.reply;
        this.calls = fact.calls;
        this.inputs = null;
        this.answers = [];
        for (const { callId } of fact.calls) this.noteIds(callId);
        for (const part of fact.reply?.content ?? []) if (part.type === 'tool-call') this.noteIds(part.providerId);
        return;
      case 'tool.answered': {
        const { index, callId, name, output, tokens, slug } = fact;
        const part = { type: 'tool-result' as const, toolCallId: callId, toolName: historyName(name), output };
        this.answers[index] = { ...part, success: slug === null };
        if (slug === null) this.speaker = this.tools?.get(name)?.handsTo ?? this.speaker;
        const batch = this.calls[this.calls[index]?.within ?? index]?.callId ?? callId;
        this.answerTokens.set(batch, (this.answerTokens.get(batch) ?? 0) + tokens);
        return;
      }
      case 'attempt.finished':
      case 'attempt.progressed':
      case 'attempt.aborted':
        this.close(assistantMessage);
        return;
      case 'attempt.failed':
        this.close(failedMessage);
        return;
      case 'piece.replaced':
        this.replace(fact.piece);
        return;
      default:
        return;
    }
  }

  /** Puts a stub in place of a piece that a provider refused, for good, so that the conversation can be handed on (P-2). */
  private replace(piece: RefusedPiece): void {
    if (piece.kind === 'schema') this.refusedSchemas.add(piece.tool);
    this.messages.splice(0, this.messages.length, ...withoutPiece(this.messages, piece));
    this.revision += 1;
  }

  sighting(sighting: Sighting): void {
    if (sighting.type === 'summary.requested') this.summaryFrom = sighting.target;
  }

  /** Puts one message in the place of earlier ones (T-9). */
  private compact(ranges: Ranges, text: string): void {
    const { messages, replaced, answerTokens, ...positions } = compacted(this, ranges, text);
    this.messages.splice(0, this.messages.length, ...messages);
    for (const message of replaced) this.replaced.push(message);
    for (const callId of this.answerTokens.keys()) if (!answerTokens.has(callId)) this.answerTokens.delete(callId);
    Object.assign(this, positions);
    this.summaryFrom = null;
    this.revision += 1;
  }

  /** Keeps track of the provider-executed calls that still wait for their result. */
  private noteOpen({ content }: AssistantMessage): void {
    for (const part of content) {
      if (part.type === 'tool-call' && part.providerExecuted === true) this.open.add(part.toolCallId);
      if (part.type === 'tool-result') this.open.delete(part.toolCallId);
    }
  }

  private noteIds(...ids: (string | undefined)[]): void {
    for (const id of ids) if (id !== undefined) this.callIds.add(id);
  }

  private takeSteering(): void {
    for (const text of this.steering) this.messages.push(userMessage(text));
    this.steering = [];
  }

  /** Adds what lasts of the reply to the conversation, with the answers to its calls in the order of the calls (C-1). */
  private close(lasting: typeof assistantMessage): void {
    const { reply, answers } = this;
    this.reply = null;
    this.inputs = null;
    if (reply === null) return;
    const message = lasting(reply, this.open);
    if (message === null) return;
    this.noteOpen(message);
    this.messages.push(message);
    const inside = new Map<number, typeof answers>();
    for (const [position, { within }] of this.calls.entries()) {
      const answer = answers[position];
      if (within === null || answer === undefined) continue;
      const known = inside.get(within);
      if (known === undefined) inside.set(within, [answer]);
      else known.push(answer);
    }
    const results = replyCalls(reply).flatMap((call, index) => {
      const answer = answers[index];
      if (call.providerExecuted || answer === undefined) return [];
      const { success: _, ...own } = answer;
      // The provider's options on a call go back with its answer (C-6).
      const part = { ...own, ...returned(call.providerOptions, reply) };
      const inner = inside.get(index)?.map(({ toolName, success, output }) => ({ name: toolName, success, output }));
      if (inner === undefined) return [part];
      return [{ ...part, output: batchOutput(inner) }];
    });
    if (results.length > 0) this.messages.push({ role: 'tool', content: results });
  }
}

/** Returns what goes back of a call's data with its answer; of a reply that did not complete, no references (P-6). */
function returned(data: ProviderData | undefined, reply: Reply): { providerOptions?: ProviderData } {
  if (data === undefined) return {};
  return { providerOptions: isComplete(reply) ? data : withoutItemIds(data) };
}

/** Returns the text of the last user message; null if there is none. */
export function lastPrompt(messages: readonly Message[]): string | null {
  const last = messages.findLast(({ role }) => role === 'user')?.content ?? [];
  return last.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n') || null;
}
