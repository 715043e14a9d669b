import { type Fault, replyTo, type World } from './wire.ts';

export type Line = { text: string; how: 'done' | 'failed' | 'note'; from: number; to: number };

/** How often it asks again after a fault of the wire. */
const retries = 2;

/**
 * A loop as one writes it in an afternoon: it asks, tries again if the wire fails, runs what is asked for, tells the model
 * of tools that are not there, and ends when there is only text.
 */
export async function plainLoop(
  world: World,
  wire: { next(): Promise<Fault | null>; isKilled(): boolean },
  tell: (line: Line) => void,
): Promise<string> {
  const answered: string[] = [];
  let failed = 0;
  for (;;) {
    const from = performance.now();
    const reply = replyTo(answered, await wire.next());
    if (wire.isKilled()) throw new Error('its process was killed');
    const line = (text: string, how: Line['how'] = 'done') => tell({ text, how, from, to: performance.now() });
    if (reply.fault === '429' || reply.fault === 'cut') {
      failed += 1;
      const why = reply.fault === '429' ? '429 Too Many Requests' : 'terminated';
      if (failed > retries) throw new Error(why);
      line(`${why}: asks again`, 'note');
      continue;
    }
    failed = 0;
    if (reply.calls === undefined) {
      line(`answer: “${reply.text ?? ''}”`);
      return reply.text ?? '';
    }
    for (const { name } of reply.calls) {
      const tool = world.tools[name as keyof typeof world.tools];
      if (tool === undefined) {
        line(`${name}: there is no such tool`, 'note');
        continue;
      }
      tool();
      answered.push(name);
      line(`${name}: done`);
    }
  }
}
