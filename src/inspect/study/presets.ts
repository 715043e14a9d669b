import { type Delivery, failedOutcome, type Json, noUsage } from '../../../machines/index.ts';

/** Something else that might have been delivered, by a name for it. */
export type Preset = { name: string; delivery: Delivery };

/** A request that failed before anything was counted costs nothing. */
const noReply = { calls: [], textReport: null, usage: noUsage, costUsd: 0, measured: null };

const faults = ['auth', 'rate_limited', 'server', 'network', 'timeout', 'content_filter', 'malformed_call'] as const;

/** Returns what might have been delivered in place of a recorded delivery, and the commands that might have come first. */
export function presetsFor(recorded: Delivery): Preset[] {
  const { at } = recorded;
  const commands: Preset[] = [
    { name: 'abort here', delivery: { at, event: { type: 'session.abort', reason: 'what if' } } },
    { name: 'stop here', delivery: { at, event: { type: 'session.stop' } } },
  ];
  if ('event' in recorded) return commands;
  const { key } = recorded;
  const was = 'outcome' in recorded ? recorded.outcome : null;
  const instead = (name: string, outcome: Json): Preset => ({ name, delivery: { key, at, chance: 0.5, outcome } });
  const kind = /([a-z]+)(-\d+)?$/.exec(key)?.[1];
  return [...(presets[kind ?? '']?.(instead, was) ?? []), ...commands];
}

type Instead = (name: string, outcome: Json) => Preset;

const presets: Record<string, (instead: Instead, was: unknown) => Preset[]> = {
  model: requests,
  tool: tools,
  approval: decisions,
};

function requests(instead: Instead, was: unknown): Preset[] {
  const reply = {
    provider: 'what if',
    content: [],
    openInputs: [],
    errors: [],
    warnings: [],
    responseId: null,
    modelId: null,
  };
  const finishReason = { unified: 'stop', raw: 'stop' };
  return [
    ...faults.map((kind) => {
      const fault = { kind, message: 'what if', status: null, retryAfterMs: null };
      return instead(`a fault: ${kind}`, { ...noReply, reply: null, fault });
    }),
    instead('an empty reply', { ...noReply, ...paidIn(was), reply: { ...reply, finishReason }, fault: null }),
  ];
}

function tools(instead: Instead): Preset[] {
  return [
    instead('the tool fails', failedOutcome('tool_exec_failed', 'what if it failed')),
    instead('the tool times out', failedOutcome('tool_timeout', 'what if it timed out')),
  ];
}

function decisions(instead: Instead): Preset[] {
  return [
    instead('approved', { decision: 'approved', reason: null }),
    instead('denied', { decision: 'denied', reason: 'what if' }),
    instead('no decision before the timeout', { decision: 'timeout', reason: null }),
  ];
}

/** What the recorded request cost: an empty reply is paid for, too. */
function paidIn(was: unknown): { usage?: Json; costUsd?: Json } {
  const { usage, costUsd } = Object(was) as { usage?: Json; costUsd?: Json };
  return { ...(usage !== undefined && { usage }), ...(costUsd !== undefined && { costUsd }) };
}
