import { afterAll, beforeAll, expect } from 'vitest';
import { allowed } from './leftovers.ts';

/** What a test may not leave behind. Not `PipeWrap`: the first line of output opens one. */
const watched = ['Timeout', 'ProcessWrap', 'TCPServerWrap', 'TCPSocketWrap', 'PipeServerWrap', 'FSEventWrap'];

function kept(): Record<string, number> {
  const counts = Object.fromEntries(watched.map((kind) => [kind, 0]));
  for (const kind of process.getActiveResourcesInfo()) if (kind in counts) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

let before = kept();
beforeAll(() => {
  before = kept();
});

/** Nothing that keeps a process alive is left when the tests of a file have ended. */
afterAll(async () => {
  for (let look = 0; ; look += 1) {
    const more = Object.entries(kept()).filter(([kind, count]) => count > (before[kind] ?? 0) && !allowed.has(kind));
    if (more.length === 0) return;
    // Closed resources take a moment to go.
    if (look === 150) expect(more).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 20).unref());
  }
});
