import type { SessionEvent } from '../../observe/events.ts';
import { approvalIdOf, innerPartId, waitingOutput } from '../call-reference.ts';
import type { UIChunk, UIMetadata } from '../ui-message.ts';
import { AgUiMessages } from './ag-ui-messages.ts';
import type { AgUiEvent, AgUiRun } from './run.ts';

/** A call that waits for somebody. */
type Waiting = { kind: 'approval' | 'answer' | 'question'; partId: string; name: string; input: unknown } & {
  /** Of a question. */
  message?: string;
  schema?: object;
};

/** Turns the chunks of a session's message, and what its sub-agents do, into the events of AG-UI. */
export class AgUiEvents {
  private readonly run: AgUiRun;
  private readonly messages: AgUiMessages;
  private readonly waiting = new Map<string, Waiting>();
  /** The calls inside batches. */
  private readonly inner = new Set<string>();
  private readonly batches = new Set<string>();
  /** The batches of which a page need not know that they were received. */
  private readonly acknowledged = new Set<string>();
  /** How the sub-agents that run were told, by the ids of their sessions. */
  private readonly subAgents = new Map<string, AgUiEvent>();
  private isBegun = false;
  private turn = '';
  private step: string | null = null;
  private report: unknown = null;
  private error: string | null = null;

  constructor(sessionId: string, run: AgUiRun) {
    this.run = run;
    this.messages = new AgUiMessages(`${sessionId}:${run.runId}`, run.messages);
  }

  /** Returns what an event of the session itself adds; before the run begins, it is only noted. */
  takeEvent(event: SessionEvent): AgUiEvent[] {
    switch (event.type) {
      case 'attempt.replied':
        for (const { callId, within } of event.calls) {
          if (within === null) continue;
          this.inner.add(callId);
          this.batches.add(event.calls[within]?.callId ?? '');
        }
        return [];
      case 'tool.approvalRequested':
      case 'tool.handedOut': {
        const kind = event.type === 'tool.handedOut' ? 'answer' : 'approval';
        // Calls of sub-agents and batches have a part of their own.
        const isOwn = event.path.length === 0 && !this.inner.has(event.callId);
        const partId = isOwn ? event.callId : innerPartId(event);
        this.waiting.set(approvalIdOf(event), { kind, partId, name: event.name, input: event.input });
        return [];
      }
      case 'tool.asked': {
        const { callId: partId, name, message, schema } = event;
        this.waiting.set(approvalIdOf(event), { kind: 'question', partId, name, input: null, message, schema });
        return [];
      }
      case 'tool.replied':
      case 'tool.approved':
      case 'tool.denied':
      case 'tool.answered':
        this.waiting.delete(approvalIdOf(event));
        // The answers inside a batch are its answer, once they are all there.
        if (event.type === 'tool.answered' && event.path.length === 0 && this.batches.has(event.callId))
          this.acknowledged.add(event.callId);
        return [];
      case 'attempt.finished':
      case 'attempt.progressed':
        if (event.path.length === 0) this.acknowledged.clear();
        return [];
      case 'subAgent.started': {
        const { childSessionId: subagentRunId, name, callId: parentToolCallId, path, sessionId } = event;
        const parent = path.length === 0 ? {} : { parentSubagentRunId: sessionId };
        const started = { type: 'SUBAGENT_STARTED', subagentRunId, name, parentToolCallId, ...parent };
        this.subAgents.set(subagentRunId, started);
        return this.isBegun ? [started] : [];
      }
      case 'subAgent.ended': {
        const { childSessionId: subagentRunId, status } = event;
        this.subAgents.delete(subagentRunId);
        if (!this.isBegun) return [];
        if (status === 'succeeded') return [{ type: 'SUBAGENT_FINISHED', subagentRunId }];
        return [{ type: 'SUBAGENT_ERROR', subagentRunId, message: `The sub-agent ${status}.`, code: status }];
      }
      default:
        return [];
    }
  }

  take(chunk: UIChunk): AgUiEvent[] {
    switch (chunk.type) {
      case 'start':
        return this.begin();
      case 'start-step':
        this.step = this.turn;
        return [...this.messages.begin(), { type: 'STEP_STARTED', stepName: this.turn }];
      case 'finish-step':
        return this.endStep();
      case 'error':
        this.error = chunk.errorText;
        return [];
      case 'finish':
        return this.finish(chunk.messageMetadata as UIMetadata);
      case 'data-turn':
        this.turn = String(chunk.id);
        return [{ type: 'CUSTOM', name: 'turn', value: chunk.data }];
      case 'data-report':
        if (chunk.data.state === 'accepted') this.report = chunk.data.content;
        return [{ type: 'CUSTOM', name: 'report', value: chunk.data }];
      case 'data-steering':
        return [{ type: 'CUSTOM', name: 'steering', value: chunk.data }];
      case 'data-progress': {
        const messageId = `${chunk.id}:progress`;
        return [{ type: 'ACTIVITY_SNAPSHOT', messageId, activityType: 'progress', content: chunk.data }];
      }
      case 'file':
      case 'reasoning-file':
      case 'source-url':
      case 'source-document':
      case 'custom': {
        const { type: name, ...value } = chunk;
        return [{ type: 'CUSTOM', name, value }];
      }
      case 'tool-output-available':
        return chunk.output === waitingOutput || this.acknowledged.has(chunk.toolCallId)
          ? []
          : this.messages.take(chunk);
      default:
        return this.messages.take(chunk);
    }
  }

  private begin(): AgUiEvent[] {
    const { threadId, runId } = this.run;
    this.isBegun = true;
    return [{ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' }, ...this.subAgents.values()];
  }

  private endStep(): AgUiEvent[] {
    const ended = this.messages.end();
    if (this.step === null) return ended;
    const finished = { type: 'STEP_FINISHED', stepName: this.step };
    this.step = null;
    return [...ended, finished];
  }

  private finish({ sessionId, seq, status, slugs, usage }: UIMetadata): AgUiEvent[] {
    const { threadId, runId, state } = this.run;
    const suspended = [...this.subAgents.keys()].map((subagentRunId) => {
      return { type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'suspended' } };
    });
    const { input: inputTokens, output: outputTokens, reasoning: reasoningTokens, cacheRead, cacheWrite } = usage;
    const tokens = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, reasoningTokens };
    const used = { usage: [{ ...tokens, cachedInputTokens: cacheRead, cacheWriteInputTokens: cacheWrite }] };
    const ended = [...this.endStep(), ...suspended];
    if (status === 'failed' || status === 'suspended') {
      const message = this.error ?? `The session was ${status}: ${slugs.join(', ')}`;
      return [...ended, { type: 'RUN_ERROR', message, code: slugs[0] ?? status, ...used }];
    }
    const snapshot = { ...state, pawl: { sessionId, seq } };
    const result = status === 'succeeded' ? { result: this.report } : {};
    const outcome = status === 'waiting' ? this.whatWaits() : { type: status === 'aborted' ? 'cancelled' : 'success' };
    return [
      ...ended,
      { type: 'STATE_SNAPSHOT', snapshot },
      { type: 'RUN_FINISHED', threadId, runId, ...result, outcome, ...used },
    ];
  }

  /** What the next run has to bring: decisions, and outputs; or only outputs, which come as messages. */
  private whatWaits(): object {
    const all = [...this.waiting];
    if (all.every(([, { kind }]) => kind === 'answer'))
      return { type: 'success', pendingToolCallIds: all.map(([, { partId }]) => partId) };
    const interrupts = all.map(([id, { kind, partId, name, input, message, schema }]) => ({
      id,
      reason: { approval: 'tool_approval', answer: 'tool_call', question: 'input_required' }[kind],
      toolCallId: partId,
      message: message ?? (kind === 'approval' ? `Run ${name}?` : `${name} waits for its output.`),
      responseSchema: schema ?? (kind === 'approval' ? approvalSchema : {}),
      metadata: { pawl: { name, input } },
    }));
    return { type: 'interrupt', interrupts };
  }
}

/** The `payload` with which an approval is resolved. */
const approvalSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
};
