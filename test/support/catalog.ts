import type { Message } from '../../machines/index.ts';
import { systemClock } from '../../src/host/clock.ts';
import { Catalog, type CatalogOptions } from '../../src/tools/catalog.ts';
import type { CatalogTool } from '../../src/tools/catalog-tool.ts';

/** What a catalog reads of a conversation. */
export type Told = {
  messages: Message[];
  plan: { tools: readonly string[] | null; offered: readonly string[] | null } | null;
};

/** A catalog without tools, policies or checks of reports. */
export const emptyCatalog = (more: Partial<CatalogOptions> = {}) =>
  new Catalog({
    clock: systemClock,
    checkTimeoutMs: 1_000,
    conversation: { messages: [], plan: null },
    policies: () => null,
    checks: { report: async (verdict) => verdict },
    context: () => undefined,
    ...more,
  });

/** A catalog that shows these tools. */
export async function catalogOf(tools: readonly CatalogTool[], more: Partial<CatalogOptions> = {}): Promise<Catalog> {
  const catalog = emptyCatalog(more);
  await catalog.show(new Map(tools.map((tool) => [tool.name, tool])));
  return catalog;
}

export const namesOf = (offered: readonly { name: string }[]) => offered.map(({ name }) => name);
