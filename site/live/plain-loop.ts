import { type Fault, replyTo, type World } from './wire.ts';

export type Line = { text: string; how: 'done' | 'failed' | 'note'; from: number; to: number };

/** A loop as one writes it in an afternoon: it asks, runs what is asked for, and ends when there is only text. */
export async function plainLoop(
  world: World,
  wire: { next(): Promise<Fault | null>; isKilled(): boolean },
  tell: (line: Line) => void,
): Promise<string> {
  const answered: string[] = [];
  for (;;) {
    const from = performance.now();
    const reply = replyTo(answered, await wire.next());
    if (wire.isKilled()) throw new Error('its process was killed');
    const line = (text: string, how: Line['how'] = 'done') => tell({ text, how, from, to: performance.now() });
    if (reply.fault === '429') throw new Error('429 Too Many Requests');
    if (reply.fault === 'cut') throw new Error('terminated');
    if (reply.calls === undefined) {
      line(`answer: “${reply.text ?? ''}”`);
      return reply.text ?? '';
    }
    for (const { name } of reply.calls) {
      const tool = world.tools[name as keyof typeof world.tools];
      if (tool === undefined) throw new TypeError(`tools.${name} is not a function`);
      tool();
      answered.push(name);
      line(`${name}: done`);
    }
  }
}
