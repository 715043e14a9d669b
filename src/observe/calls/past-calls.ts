import {
  type CallFacts,
  type Fact,
  type JsonObject,
  type Slug,
  type ToolOutput,
  toolKey,
} from '../../../machines/index.ts';
import type { Conversation } from '../conversation.ts';
import type { Fold, ToolTraits } from '../events.ts';

/** An answered call, for policies to consult. `input` is as the model sent it, before validation. */
export type AnsweredCall = {
  callId: string;
  name: string;
  input: JsonObject;
  executed: boolean;
  slug: Slug | null;
  output: ToolOutput;
  /** Whether its tool can take back what it did (D-7c). */
  canUndo: boolean;
  /** The key of its effect. */
  key: string;
  /** The agent that made it, by its name in `handoffs`; null for the one that the session began with. */
  speaker: string | null;
};

/** A session's valid, answered calls, in order. */
export class PastCalls implements Fold {
  readonly all: AnsweredCall[] = [];
  private readonly conversation: Conversation;
  private readonly tools: ToolTraits;
  private calls: readonly CallFacts[] = [];

  constructor(conversation: Conversation, tools: ToolTraits) {
    this.conversation = conversation;
    this.tools = tools;
  }

  fact(fact: Fact): void {
    if (fact.type === 'attempt.replied') this.calls = fact.calls;
    if (fact.type !== 'tool.answered') return;
    const { index, callId, name, executed, slug, output } = fact;
    const call = this.calls[index];
    if (call?.tool !== 'real' || call.input !== 'valid') return;
    // These were refused before their input was checked.
    if (call.refusal?.slug === 'depth_exceeded' || call.refusal?.slug === 'tool_limit') return;
    this.all.push({
      ...{ callId, name, input: this.conversation.inputOf(index), executed, slug, output },
      canUndo: this.tools.get(name)?.undo !== undefined,
      key: toolKey(fact),
      speaker: this.conversation.plan?.speaker ?? null,
    });
  }
}
