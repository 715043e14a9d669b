import type { Reply } from '../../../machines/index.ts';

/** Returns the reply with this text in place of all its texts, where the first was. */
export function withText(reply: Reply, text: string): Reply {
  const first = reply.content.findIndex((part) => part.type === 'text');
  const said = text === '' ? [] : [{ type: 'text' as const, text, ended: true }];
  const others = (part: Reply['content'][number]) => part.type !== 'text';
  if (first === -1) return { ...reply, content: [...reply.content, ...said] };
  return {
    ...reply,
    content: [...reply.content.slice(0, first), ...said, ...reply.content.slice(first).filter(others)],
  };
}
