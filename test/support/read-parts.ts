import { ReplyReader } from '../../src/model/reply/read-reply.ts';

const place = { turn: 2, attempt: 1, takenIds: new Set(['taken']) };
export const meta = (data: object) => ({ providerMetadata: { own: data } });

/** The reply that is read from these parts, and the deltas that they gave. */
export function read(...parts: unknown[]) {
  const reader = new ReplyReader(place);
  const deltas = parts.map((part) => reader.takePart(Object(part))).filter((delta) => delta !== null);
  return { reader, reply: reader.reply('own', []), deltas };
}

export const text = (id: string, delta: string, more: object = {}) => ({ type: 'text-delta', id, delta, ...more });
export const call = (toolCallId: string, input: unknown = '{}', more: object = {}) => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'look',
  input,
  ...more,
});
