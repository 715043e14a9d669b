import type { Fact } from '../../../machines/index.ts';
import type { Fold, Sighting } from '../events.ts';

/** The calls that an MCP server answered with a task: its id, by call id. A process that resumes the session waits for it. */
export class FollowedCalls implements Fold {
  private readonly tasks = new Map<string, string>();

  sighting(sighting: Sighting): void {
    if (sighting.type === 'tool.followed') this.tasks.set(sighting.callId, sighting.taskId);
  }

  fact(fact: Fact): void {
    if (fact.type === 'tool.answered') this.tasks.delete(fact.callId);
  }

  /** Returns the task of a call; null if it has none. */
  taskOf(callId: string): string | null {
    return this.tasks.get(callId) ?? null;
  }
}
