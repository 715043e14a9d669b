import { historyInput, type ReplyPart, type Usage } from '../../../machines/index.ts';
import { type SdkContent, type SdkReply, sdkUsage } from '../../model/sdk-model.ts';
import type { SessionResult } from '../../session/session.ts';

/** What the SDK gets as one reply of a model: a step of its loop. `error`: how the session failed. */
export type AgentStep = Pick<SdkReply, 'content' | 'finishReason' | 'usage' | 'providerMetadata'> & {
  error: SessionFailed | null;
};

/** What the requests of a step took, and why those that failed did. */
export type Taken = {
  sessionId: string;
  finish: 'stop' | 'tool-calls' | 'error';
  usage: readonly Usage[];
  slugs: readonly string[];
};

/** A session that did not succeed, as an agent of the SDK says it. The message holds the slugs and the report. */
export class SessionFailed extends Error {
  override readonly name = 'SessionFailed';
  readonly sessionId: string;
  readonly slugs: readonly string[];

  constructor({ sessionId, slugs, report, failure }: SessionResult) {
    const detail = failure?.detail == null ? '' : ` (${failure.detail})`;
    super(`${slugs.join(', ')}${detail}. ${String(report.content)}`);
    this.sessionId = sessionId;
    this.slugs = slugs;
  }
}

export function stepOf(parts: readonly ReplyPart[], taken: Taken, more: object = {}): AgentStep {
  const { sessionId, finish, usage, slugs } = taken;
  const pawl = { sessionId, slugs: [...slugs], ...more };
  return {
    content: parts.flatMap((part) => contentOf(part, sessionId)),
    finishReason: { unified: finish, raw: finish },
    usage: usageOf(usage),
    providerMetadata: { pawl },
    error: null,
  };
}

/** The last step of a session that succeeded. A report that came by a tool is its text. */
export function reportStep(held: readonly ReplyPart[], { report, counters }: SessionResult, taken: Taken): AgentStep {
  const { content } = report;
  const isSaid = report.source !== 'tool_call' && held.some(({ type }) => type === 'text' || type === 'file');
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const parts: ReplyPart[] = isSaid ? [...held] : [...held, { type: 'text', text, ended: true }];
  return stepOf(parts, taken, { status: 'succeeded', costUsd: counters.tree.costUsd });
}

/** The last step of a session that did not succeed: `slugs` says why. */
export function errorStep(result: SessionResult, taken: Taken): AgentStep {
  const { status, slugs, counters } = result;
  const step = stepOf([], { ...taken, slugs }, { status, costUsd: counters.tree.costUsd });
  return { ...step, error: new SessionFailed(result) };
}

function contentOf(part: ReplyPart, sessionId: string): SdkContent[] {
  const own = part.type === 'source' || part.providerOptions === undefined ? {} : part.providerOptions;
  const metadata = Object.keys(own).length === 0 ? {} : { providerMetadata: own };
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text === '' ? [] : [{ type: part.type, text: part.text, ...metadata }];
    case 'tool-call': {
      const call = {
        type: 'tool-call' as const,
        toolCallId: part.callId,
        toolName: part.name,
        input: JSON.stringify(historyInput(part)),
        // By it, a decision finds its session.
        providerMetadata: { ...own, pawl: { sessionId } },
      };
      return [part.providerExecuted ? { ...call, providerExecuted: true, dynamic: true } : call];
    }
    case 'tool-result': {
      const { callId: toolCallId, name: toolName, result, isError } = part;
      return [{ type: 'tool-result', toolCallId, toolName, result: result ?? '', isError, dynamic: true, ...metadata }];
    }
    case 'source':
      return [part.source as unknown as SdkContent];
    case 'file':
    case 'reasoning-file':
      return [{ type: part.type, mediaType: part.mediaType, data: part.data, ...metadata } as SdkContent];
    case 'custom':
      return [{ type: 'custom', kind: part.kind, ...metadata }];
    default:
      return part satisfies never;
  }
}

function usageOf(requests: readonly Usage[]): AgentStep['usage'] {
  const sum = (name: keyof Usage) => requests.reduce((total, usage) => total + usage[name], 0);
  const [input, output, reasoning] = [sum('input'), sum('output'), sum('reasoning')];
  return sdkUsage({ input, output, reasoning, cacheRead: sum('cacheRead'), cacheWrite: sum('cacheWrite') });
}
