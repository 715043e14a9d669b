import { type AssistantPart, derivedCallId, type Message } from '../../../machines/index.ts';

/** What every known provider accepts as the id of a call. */
const accepted = /^[A-Za-z0-9]{9}$/;

/** Providers that accept nothing else. */
const isStrict = (provider: string) => /^mistral(?:\.|$)/.test(provider);

/**
 * The ids under which the calls of a conversation go to one provider (C-2): to the one that made a call, as it made it; to
 * any other, nine letters and digits. A call whose maker is unknown keeps its id if the provider may accept it.
 */
export class WireIds {
  private readonly provider: string;
  /** By the id in the conversation. */
  private readonly byId = new Map<string, string>();
  private readonly taken = new Set<string>();

  constructor(provider: string) {
    this.provider = provider;
  }

  /** Returns message `position` of the conversation with these ids; `speaker` is the provider of the calls in or before it. */
  renamed(message: Message, speaker: string | undefined, position: number): Message {
    switch (message.role) {
      case 'user':
        return message;
      case 'assistant':
        return { ...message, content: message.content.map((part, index) => this.part(part, speaker, position, index)) };
      case 'tool':
        return {
          ...message,
          content: message.content.map((part) => ({
            ...part,
            toolCallId: this.byId.get(part.toolCallId) ?? part.toolCallId,
          })),
        };
      default:
        return message satisfies never;
    }
  }

  private part(part: AssistantPart, speaker: string | undefined, message: number, index: number): AssistantPart {
    if (part.type !== 'tool-call' || part.providerExecuted === true) return part;
    const { providerId, ...call } = part;
    const own = this.ownId(call.toolCallId, providerId, speaker);
    const isTaken = (id: string) => this.taken.has(id);
    const id = own !== null && !isTaken(own) ? own : derivedCallId({ message, index }, isTaken);
    this.taken.add(id);
    this.byId.set(call.toolCallId, id);
    return { ...call, toolCallId: id };
  }

  /** Returns the id that a call may keep; null if it needs another. */
  private ownId(callId: string, providerId: string | undefined, speaker: string | undefined): string | null {
    if (speaker === this.provider) return providerId ?? callId;
    if (speaker === undefined && !isStrict(this.provider)) return callId;
    return accepted.test(callId) ? callId : null;
  }
}
