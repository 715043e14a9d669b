import type { CallFacts, Fact, JsonObject, Slug, ToolOutput } from '../../../machines/index.ts';
import type { Conversation } from '../conversation.ts';
import type { Fold } from '../events.ts';

/** An answered call, for policies to consult. `input` is as the model sent it, before validation. */
export type AnsweredCall = {
  callId: string;
  name: string;
  input: JsonObject;
  executed: boolean;
  slug: Slug | null;
  output: ToolOutput;
};

/** A session's valid, answered calls, in order. */
export class PastCalls implements Fold {
  readonly all: AnsweredCall[] = [];
  private readonly conversation: Conversation;
  private calls: readonly CallFacts[] = [];

  constructor(conversation: Conversation) {
    this.conversation = conversation;
  }

  fact(fact: Fact): void {
    if (fact.type === 'attempt.replied') this.calls = fact.calls;
    if (fact.type !== 'tool.answered') return;
    const { index, callId, name, executed, slug, output } = fact;
    const call = this.calls[index];
    if (call?.tool !== 'real' || call.input !== 'valid') return;
    // These were refused before their input was checked.
    if (call.refusal?.slug === 'depth_exceeded' || call.refusal?.slug === 'tool_limit') return;
    this.all.push({ callId, name, input: this.conversation.inputOf(index), executed, slug, output });
  }
}
