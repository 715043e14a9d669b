import type { RunState } from '../../../machines/index.ts';
import { messageOf, shown } from '../../input/errors.ts';
import type { BacklogItem } from '../backlog/backlog.ts';
import { askAgent, type Done, resultOrAborted, wasAborted } from './agents.ts';
import type { WorkflowAgents, WorkflowParts } from './parts.ts';
import { scanPrompt } from './prompts.ts';
import type { RunFolder } from './run-folder.ts';
import { statedIn } from './stated.ts';

/** The order in which a run works on its items. */
export class Queue {
  private readonly parts: Pick<WorkflowParts, 'agents' | 'sessions' | 'home'>;
  private readonly folder: RunFolder;
  private readonly note: (problem: string) => void;
  /** The last order from the scan agent, followed by the items that it left out. */
  private order: string[] = [];

  constructor(
    parts: Pick<WorkflowParts, 'agents' | 'sessions' | 'home'>,
    folder: RunFolder,
    note: (problem: string) => void,
  ) {
    this.parts = parts;
    this.folder = folder;
    this.note = note;
  }

  /**
   * Sorts the items; if any are new to the scan agent, asks it for an order first. Returns how that failed if the agent
   * could not be invoked (W-1), or its session could not be written down.
   */
  async ordered(items: BacklogItem[], state: RunState): Promise<BacklogItem[] | { failed: Done }> {
    const { scan } = this.parts.agents;
    if (scan === undefined) return items;
    if (items.some(({ id }) => !this.order.includes(id))) {
      const asked = await this.askedOrder(scan, items, state);
      if ('failed' in asked) return asked;
      this.order = [...asked, ...items.map(({ id }) => id).filter((id) => !asked.includes(id))];
    }
    const place = new Map(this.order.map((id, index) => [id, index]));
    return items.toSorted((one, other) => (place.get(one.id) ?? 0) - (place.get(other.id) ?? 0));
  }

  private async askedOrder(
    scan: NonNullable<WorkflowAgents['scan']>,
    items: BacklogItem[],
    state: RunState,
  ): Promise<string[] | { failed: Done }> {
    const problem = (message: string) => {
      this.note(`The scan agent returned no usable order, so the default order was kept: ${message}`);
      return [];
    };
    try {
      const sessions = { ...this.parts.sessions, place: this.parts.home, folder: this.folder.of(state) };
      const reply =
        typeof scan === 'function'
          ? { report: await resultOrAborted(sessions.signal, () => scan(items)) }
          : await askAgent(scan, 'scan', scanPrompt(items), sessions);
      if ('failed' in reply) {
        const { verdict, message } = reply.failed;
        if (verdict === 'aborted') return [];
        return verdict === 'unavailable' || verdict === 'critical' ? reply : problem(message);
      }
      const { report: answer } = reply;
      if (answer === wasAborted) return [];
      const order: unknown = Array.isArray(answer) ? answer : statedIn(answer)?.order;
      if (!Array.isArray(order)) return problem(shown(order));
      const known = order.filter((id) => items.some((item) => item.id === id));
      return known.length === 0 && items.length > 0 ? problem(shown(order)) : [...new Set<string>(known)];
    } catch (error) {
      return problem(messageOf(error));
    }
  }
}

/** What failed in an earlier run comes behind all that was not tried, so that it cannot keep runs from the rest. */
export function behind(items: readonly BacklogItem[], tries: ReadonlyMap<string, unknown>): BacklogItem[] {
  return [...items.filter(({ id }) => !tries.has(id)), ...items.filter(({ id }) => tries.has(id))];
}
