import type { Message } from '../../machines/index.ts';

/** The source of a prompt: the lasting, append-only conversation. */
export type PromptSource = {
  readonly instructions: string | null;
  /** The instructions of turns that do not set their own. */
  readonly ownInstructions: string | null;
  readonly messages: readonly Message[];
  /** The position of the prompt: the last message of a user that the session was given. */
  readonly prompt: number;
  /** Changes when a message is not only appended. */
  readonly revision: number;
  readonly answerTokens: ReadonlyMap<string, number>;
};
