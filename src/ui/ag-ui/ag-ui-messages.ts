import type { UIChunk } from '../ui-message.ts';
import type { AgUiEvent } from './run.ts';

type Message = {
  id: string;
  role: 'assistant' | 'reasoning' | 'tool';
  content?: string;
  toolCalls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  toolCallId?: string;
};

/**
 * The messages that a run adds to its thread, and the events that say so. What an attempt that failed said is taken back by
 * a snapshot of all messages, which are those that the client had, and the run's own that count.
 */
export class AgUiMessages {
  private readonly prefix: string;
  private readonly earlier: readonly object[];
  private own: Message[] = [];
  /** Those of the current step come after so many. */
  private before = 0;
  /** The texts that grow, by the ids of their chunks. */
  private readonly growing = new Map<string, Message>();
  /** The calls whose input has not ended, and all calls. */
  private readonly openCalls = new Map<string, { arguments: string }>();
  private readonly calls = new Set<string>();
  private readonly answered = new Set<string>();
  private count = 0;

  /** `prefix`: of the ids of the messages. */
  constructor(prefix: string, earlier: readonly object[]) {
    this.prefix = prefix;
    this.earlier = earlier;
    for (const message of earlier)
      if ('role' in message && message.role === 'tool' && 'toolCallId' in message)
        this.answered.add(String(message.toolCallId));
  }

  /** A step begins. */
  begin(): AgUiEvent[] {
    const ended = this.end();
    this.before = this.own.length;
    return ended;
  }

  take(chunk: UIChunk): AgUiEvent[] {
    switch (chunk.type) {
      case 'text-start':
      case 'reasoning-start':
        return this.grows(chunk.id, chunk.type === 'text-start' ? 'assistant' : 'reasoning');
      case 'text-delta':
      case 'reasoning-delta':
        return this.grown(chunk.id, chunk.delta);
      case 'text-end':
      case 'reasoning-end':
        return this.ends(chunk.id);
      case 'tool-input-start':
        return this.call(chunk.toolCallId, chunk.toolName);
      case 'tool-input-delta':
        return this.input(chunk.toolCallId, chunk.inputTextDelta);
      case 'tool-input-available': {
        const { toolCallId, toolName, input } = chunk;
        const begun = this.calls.has(toolCallId) ? [] : this.call(toolCallId, toolName);
        const isWhole = this.openCalls.get(toolCallId)?.arguments !== '';
        const given = isWhole ? [] : this.input(toolCallId, JSON.stringify(input ?? {}));
        return [...begun, ...given, ...this.endCall(toolCallId)];
      }
      case 'tool-output-available':
        return chunk.preliminary === true ? [] : this.answer(chunk.toolCallId, textOfOutput(chunk.output));
      case 'tool-output-error':
        return this.answer(chunk.toolCallId, chunk.errorText);
      case 'tool-output-denied':
        return this.answer(chunk.toolCallId, 'The call was denied.');
      case 'reset-step':
        return this.reset();
      default:
        return [];
    }
  }

  /** Ends what is still open. */
  end(): AgUiEvent[] {
    const texts = [...this.growing.keys()].flatMap((id) => this.ends(id));
    return [...texts, ...[...this.openCalls.keys()].flatMap((id) => this.endCall(id))];
  }

  private reset(): AgUiEvent[] {
    const ended = this.end();
    const isAny = this.own.length > this.before;
    for (const { toolCalls = [] } of this.own.slice(this.before)) for (const { id } of toolCalls) this.calls.delete(id);
    this.own.length = this.before;
    return isAny ? [...ended, { type: 'MESSAGES_SNAPSHOT', messages: [...this.earlier, ...this.own] }] : ended;
  }

  private grows(id: string, role: 'assistant' | 'reasoning'): AgUiEvent[] {
    const message: Message = { id: this.nextId(), role, content: '' };
    this.own.push(message);
    this.growing.set(id, message);
    const { id: messageId } = message;
    if (role === 'assistant') return [{ type: 'TEXT_MESSAGE_START', messageId, role }];
    return [
      { type: 'REASONING_START', messageId },
      { type: 'REASONING_MESSAGE_START', messageId, role },
    ];
  }

  private grown(id: string, delta: string): AgUiEvent[] {
    const message = this.growing.get(id);
    if (message === undefined) return [];
    message.content += delta;
    const type = message.role === 'assistant' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT';
    return [{ type, messageId: message.id, delta }];
  }

  private ends(id: string): AgUiEvent[] {
    const message = this.growing.get(id);
    if (message === undefined) return [];
    this.growing.delete(id);
    const { id: messageId, role } = message;
    if (role === 'assistant') return [{ type: 'TEXT_MESSAGE_END', messageId }];
    return [
      { type: 'REASONING_MESSAGE_END', messageId },
      { type: 'REASONING_END', messageId },
    ];
  }

  /** A call belongs to the last message of its step, or to one of its own. */
  private call(toolCallId: string, toolCallName: string): AgUiEvent[] {
    const last = this.own.slice(this.before).findLast(({ role }) => role === 'assistant');
    const message: Message = last ?? { id: this.nextId(), role: 'assistant' };
    if (last === undefined) this.own.push(message);
    const called = { name: toolCallName, arguments: '' };
    message.toolCalls ??= [];
    message.toolCalls.push({ id: toolCallId, type: 'function', function: called });
    this.calls.add(toolCallId);
    this.openCalls.set(toolCallId, called);
    return [{ type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId: message.id }];
  }

  private input(toolCallId: string, delta: string): AgUiEvent[] {
    const call = this.openCalls.get(toolCallId);
    if (call === undefined) return [];
    call.arguments += delta;
    return [{ type: 'TOOL_CALL_ARGS', toolCallId, delta }];
  }

  private endCall(toolCallId: string): AgUiEvent[] {
    return this.openCalls.delete(toolCallId) ? [{ type: 'TOOL_CALL_END', toolCallId }] : [];
  }

  /** A page gets each answer once, though what the model reads of it may follow. */
  private answer(toolCallId: string, content: string): AgUiEvent[] {
    if (this.answered.has(toolCallId)) return [];
    this.answered.add(toolCallId);
    const messageId = `${toolCallId}:result`;
    this.own.push({ id: messageId, role: 'tool', toolCallId, content });
    return [...this.endCall(toolCallId), { type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' }];
  }

  private nextId(): string {
    this.count += 1;
    return `${this.prefix}:${this.count}`;
  }
}

function textOfOutput(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output ?? null);
}
