import type { Slug, ToolOutput } from '../../machines/index.ts';
import type { SessionEvent } from '../../src/observe/events.ts';
import { UIChunks } from '../../src/ui/ui-chunks.ts';
import { replySaying, usage } from './replies.ts';

export const event = (type: string, fields: object = {}) =>
  ({ sessionId: 's', agent: 'a', at: 1, path: [], seq: 5, type, ...fields }) as object as SessionEvent;
export const at = { turn: 1, attempt: 1, target: 'one' };
export const named = (name: string, index = 0) => ({ turn: 1, attempt: 1, index, callId: `c${index}`, name });
export const requested = (name: string, index = 0, kind = 'real') =>
  event('tool.requested', { ...named(name, index), kind, input: { q: index } });
export const delta = (text: string, more: object = {}) =>
  event('model.delta', { ...at, part: 0, kind: 'text', callId: null, toolName: null, delta: text, ...more });
export const call = (callId: string, name = 'look', input = '{}') => ({
  ...{ type: 'tool-call', callId, name, input, providerExecuted: false },
});
export const replied = (content: object[], calls: object[] = [], costUsd: number | null = null) =>
  event('attempt.replied', { ...at, reply: { ...replySaying(''), content }, fault: null, calls, usage, costUsd });
export const facts = (callId: string, within: number | null = null) => ({
  callId,
  tool: 'real',
  within,
  input: 'valid',
});
export const answered = (
  name: string,
  result: object,
  more: object = {},
  output: ToolOutput = { type: 'text', value: 'So.' },
) =>
  event('tool.answered', {
    ...named(name),
    executed: true,
    slug: null,
    result,
    output,
    kept: null,
    tokens: 1,
    ...more,
  });
export const failure = (slugs: Slug[], detail: string | null) => ({ failure: { slugs, retryAt: null, detail } });

/** A turn has begun, with an attempt; then these events came. The chunks of the last are returned. */
export async function since(...events: SessionEvent[]) {
  const ui = new UIChunks();
  let chunks: unknown[] = [];
  for (const one of [event('turn.started', { turn: 1, isLastTurn: false }), event('attempt.started', at), ...events])
    chunks = await ui.takeEvent(one);
  return { ui, chunks, status: () => ui.metadata(event('x')) };
}
export const chunksSince = async (...events: SessionEvent[]) => (await since(...events)).chunks;
