import { type CallName, failedOutcome, keptResultId, nothingSpent, type ToolOutcome } from '../../machines/index.ts';
import type { Clock } from '../host/clock.ts';
import { waitOut } from '../host/deadline.ts';
import type { EffectContext } from '../host/driver.ts';
import type { Conversation } from '../observe/conversation.ts';
import type { Sighting } from '../observe/events.ts';
import { estimateOutputTokens } from '../vocabulary/tokens.ts';
import { type ResultLimits, renderError, renderValue } from './result.ts';

export type ClientToolOptions = Omit<ResultLimits, 'keptId'> & {
  /** Whether the model can read a large result in full, whichever agent has the conversation then. */
  isReadable: boolean;
  clock: Clock;
  /** How long an answer may take, in ms; null for no limit. */
  clientToolTimeoutMs: number | null;
  sight: (sighting: Sighting) => void;
  conversation: Pick<Conversation, 'inputOf'>;
};

/** Hands a call out as an event. Its answer is delivered from outside (`Session.answer`); here it only times out. */
export async function handOut(
  { clock, clientToolTimeoutMs, sight, conversation }: ClientToolOptions,
  { callId, name, index }: CallName,
  { signal, since }: EffectContext,
): Promise<ToolOutcome> {
  sight({ type: 'tool.handedOut', callId, name, input: conversation.inputOf(index) });
  await waitOut({ clock, timeoutMs: clientToolTimeoutMs, signal }, since);
  return unanswered(name, clientToolTimeoutMs);
}

export function unanswered(name: string, timeoutMs: number | null): ToolOutcome {
  return failedOutcome('tool_timeout', `${name} was not answered within ${timeoutMs} ms.`);
}

/** Returns the outcome of a call that was answered from outside. */
export function clientOutcome(
  options: ClientToolOptions,
  call: CallName,
  { output, isError }: { output: unknown; isError: boolean },
): ToolOutcome {
  const keptId = options.isReadable ? keptResultId(call) : null;
  const limits = { ...options, keptId };
  const rendered = isError ? renderError(new Error(textOf(output)), limits) : renderValue(output, limits);
  const slug = rendered.result.success ? null : 'tool_exec_failed';
  return { slug, ...rendered, tokens: estimateOutputTokens(rendered.output), spent: nothingSpent };
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : (JSON.stringify(output) ?? 'it failed');
}
