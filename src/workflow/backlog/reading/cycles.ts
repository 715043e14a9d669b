import { listed } from '../../../platform/text.ts';

/** Names the items that wait for each other, each circle once. */
export function cyclesIn(items: readonly { id: string; waitsFor: readonly string[] }[]): string[] {
  const byId = new Map(items.map((item) => [item.id, item]));
  const settled = new Set<string>();
  const notes: string[] = [];
  for (const { id } of items) {
    // Not by recursion: a chain of items may be longer than the stack.
    const path: { id: string; waitsFor: Iterator<string> }[] = [];
    const onPath = new Set<string>();
    const enter = (at: string) => {
      if (onPath.has(at)) {
        const circle = path.map((one) => one.id).slice(path.findIndex((one) => one.id === at));
        notes.push(`${listed([...circle, at], ' waits for ')}: none of them can be taken`);
      } else if (!settled.has(at)) {
        onPath.add(at);
        path.push({ id: at, waitsFor: (byId.get(at)?.waitsFor ?? []).values() });
      }
    };
    enter(id);
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const next = last.waitsFor.next();
      if (next.done !== true) {
        enter(next.value);
        continue;
      }
      path.pop();
      onPath.delete(last.id);
      settled.add(last.id);
    }
  }
  return notes;
}
