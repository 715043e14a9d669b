import type { JsonObject } from '../../machines/index.ts';
import type { Observer } from '../observe/observer.ts';
import type { SessionIdentity } from './wiring/identity.ts';

/** A call that a session carried out and that can be taken back (D-7c). */
export type UndoableCall = {
  callId: string;
  name: string;
  /** As the model sent it. */
  input: JsonObject;
  /**
   * Calls the tool's `undo`, once: later calls resolve as the first did. Rejects as the tool does, and then it may be called
   * again.
   */
  undo(): Promise<unknown>;
};

/** Returns the calls of a session whose tools can take back what they did, the last one first (D-7c). */
export function undoableIn(
  { agent, head, contextFor }: Pick<SessionIdentity, 'agent' | 'head' | 'contextFor'>,
  { pastCalls }: Pick<Observer['folds'], 'pastCalls'>,
): UndoableCall[] {
  const done = pastCalls.all.filter(({ executed, slug, canUndo }) => executed && slug === null && canUndo);
  return done.reverse().map(({ callId, name, input, output, key, speaker }) => {
    const tool = agent.tools.get(name);
    let undone: Promise<unknown> | null = null;
    const takeBack = async () => {
      const validation = await tool?.validate(input);
      return await tool?.undo?.({
        idempotencyKey: `${head.sessionId}/${key}/undo`,
        input: validation?.valid === true ? validation.value : input,
        output,
        context: contextFor(speaker),
      });
    };
    const undo = () => {
      undone ??= takeBack().catch((error) => {
        undone = null;
        throw error;
      });
      return undone;
    };
    return { callId, name, input, undo };
  });
}
