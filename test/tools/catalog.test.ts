import { expect, it } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import { Catalog } from '../../src/tools/catalog.ts';
import { localTool } from '../../src/tools/local.ts';

it('if two tool lists are shown at once, the later one is offered, whichever is ready first', async () => {
  const catalog = new Catalog({
    clock: systemClock,
    checkTimeoutMs: 1_000,
    conversation: { messages: [], plan: null },
    policies: () => null,
    checks: { report: async (verdict) => verdict },
    context: () => undefined,
  });
  const older = localTool('older', () => 1);
  const newer = localTool('newer', () => 2);
  const { promise, resolve } = Promise.withResolvers<Awaited<typeof older.offered>>();
  const first = catalog.show(new Map([['older', { ...older, offered: promise }]]));
  await catalog.show(new Map([['newer', newer]]));
  resolve(await older.offered);
  await first;
  expect(catalog.offered('all').map(({ name }) => name)).toEqual(['newer']);
});
