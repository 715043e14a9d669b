import type { Fact } from '../../../machines/index.ts';
import type { Fold, Sighting } from '../events.ts';

/** A task with which an MCP server answered a call to the tool `name`. */
export type FollowedTask = { name: string; taskId: string };

/** The calls that an MCP server answered with a task, and that are open. A process that resumes the session waits for them. */
export class FollowedCalls implements Fold {
  private readonly tasks = new Map<string, FollowedTask>();

  sighting(sighting: Sighting): void {
    if (sighting.type !== 'tool.followed') return;
    const { callId, name, taskId } = sighting;
    this.tasks.set(callId, { name, taskId });
  }

  fact(fact: Fact): void {
    if (fact.type === 'tool.answered') this.tasks.delete(fact.callId);
  }

  has(callId: string): boolean {
    return this.tasks.has(callId);
  }

  /** Returns the tasks of the open calls, by call id. */
  open(): Map<string, FollowedTask> {
    return new Map(this.tasks);
  }
}
