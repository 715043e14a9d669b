import type { ModelMessage } from 'ai';
import { PawlError } from '../../input/errors.ts';
import { isRecord } from '../../platform/plain-json.ts';
import type { AgentRun, CallAnswered, CallDecision } from './agent-run.ts';

type Part = Exclude<ModelMessage['content'], string>[number];
type CallPart = Extract<Part, { type: 'tool-call' }>;

/** Returns the messages without what the SDK carried along for `decided`: a provider need not see it. */
export function withoutSession(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) => {
    if (message.role !== 'assistant' || typeof message.content === 'string') return message;
    const content = message.content
      .filter(({ type }) => type !== 'tool-approval-request')
      .map((part) => (part.type === 'tool-call' ? withoutOwn(part) : part));
    return { ...message, content };
  });
}

function withoutOwn({ providerOptions, ...part }: CallPart): CallPart {
  const { pawl: _, ...rest } = providerOptions ?? {};
  return Object.keys(rest).length === 0 ? part : { ...part, providerOptions: rest };
}

/**
 * Decides the calls that the last message decides or answers, and returns their session; null for messages that begin one.
 * Throws `session_unknown` for a decision on a session that does not wait here, and `invalid_messages` unless all that
 * waits is decided.
 */
export function decided(messages: readonly ModelMessage[], runs: ReadonlyMap<string, AgentRun>): AgentRun | null {
  const last = messages.at(-1);
  const asking = messages.findLast(({ role }) => role === 'assistant');
  if (last?.role !== 'tool' || asking === undefined || typeof asking.content === 'string') return null;
  const calls = asking.content.filter((part) => part.type === 'tool-call');
  const sessionId = calls.map(sessionOf).find((id) => id !== null) ?? null;
  const asked = new Map(
    asking.content.flatMap((part) =>
      part.type === 'tool-approval-request' ? [[part.approvalId, part.toolCallId]] : [],
    ),
  );
  const decisions = new Map<string, CallDecision>();
  const answers = new Map<string, CallAnswered>();
  const since = messages.slice(messages.indexOf(asking) + 1).flatMap(({ content }) => [...content] as Part[]);
  for (const part of since) if (part.type === 'tool-result') answers.set(part.toolCallId, outputOfPart(part.output));
  // The SDK takes decisions from there alone.
  for (const part of last.content) {
    if (part.type !== 'tool-approval-response') continue;
    const { approvalId, approved, reason } = part;
    const callId = asked.get(approvalId);
    if (callId !== undefined) decisions.set(callId, { approved, ...(reason !== undefined && { reason }) });
  }
  const run = sessionId === null ? undefined : runs.get(sessionId);
  const waiting = [...(run?.waiting ?? [])];
  if (run === undefined || waiting.length === 0) {
    if (decisions.size === 0) return null;
    const named = [...decisions.keys()].join(', ');
    throw new PawlError('session_unknown', `No session of this agent waits here for the decision on ${named}.`);
  }
  const missing = waiting.flatMap(([callId, waits]) =>
    (waits === 'approval' ? decisions : answers).has(callId) ? [] : [callId],
  );
  if (missing.length > 0) {
    const what = 'must decide or answer every call that waits';
    throw new PawlError('invalid_messages', `The last message ${what}; it lacks ${missing.join(', ')}.`);
  }
  run.decide(decisions, answers);
  return run;
}

function sessionOf({ providerOptions }: CallPart): string | null {
  const id = providerOptions?.pawl?.sessionId;
  return typeof id === 'string' ? id : null;
}

function outputOfPart(output: Extract<Part, { type: 'tool-result' }>['output']): CallAnswered {
  const isError = output.type === 'error-text' || output.type === 'error-json';
  return { output: isRecord(output) && 'value' in output ? output.value : null, isError };
}
