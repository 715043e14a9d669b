import { z } from 'zod';
import { aFunction } from '../../input/shapes.ts';
import { aJournal } from '../../journal/given.ts';
import { handlerShape } from '../../serve/given.ts';
import type { SessionOptions } from '../../session/options.ts';
import type { Metadata } from '../../vocabulary/metadata.ts';
import type { OnError } from '../masked-errors.ts';

/** The options of every session of a chat, as for `startSession`. */
export type ChatOptions<Context = unknown> = Pick<
  SessionOptions,
  'journal' | 'logger' | 'onEvent' | 'telemetry' | 'budget'
> & {
  metadata?: MetadataOf;
  /** Where the handler is mounted: chats are at `PATH/CHAT`. Default: /api/chat, as for `useChat`. */
  path?: string;
  /**
   * Whether the caller may do this; any answer but true is 403, and a `Response` that it throws is the answer. It may read
   * the body of a request; so may `context` and `metadata`, if each reads a `request.clone()`.
   */
  authorize?: (asked: ChatAction) => boolean | Promise<boolean>;
  /**
   * Whose word counts for what was said before. `journal`: the sessions of the chat hold it, and of what a page sends only the
   * last message of the user, decisions and client-side answers are taken. `page`: what the page sends. Default: `journal` if
   * there is one.
   */
  history?: 'journal' | 'page';
  /** What a page shows of an error of a provider or a tool (see `UIStreamOptions`). */
  onError?: OnError;
  /** Sessions at once, for all chats together; a request beyond them is answered with 503. Default: 16. */
  maxSessions?: number;
} & (unknown extends Context ? { context?: ContextOf<Context> } : { context: ContextOf<Context> });

/** What a request asks of a chat; `sessionId` is the session that it decides in, else null. */
export type ChatAction = {
  request: Request;
  chatId: string;
  sessionId: string | null;
  action: 'send' | 'decide' | 'join' | 'abort' | 'read';
};

/** Returns the `metadata` of a session from the request that starts it; it may read the request's body, which `request.clone()` lets it do twice. */
type MetadataOf = (request: Request) => Metadata | Promise<Metadata>;

/**
 * Returns the `context` of the session that a request starts or resumes. Both are called for every request of a chat, so
 * that they can refuse a caller: what they throw, if it is a `Response`, is the answer. If they throw anything else, or
 * return what does not fit, the answer is 500, and the log holds the reason.
 */
type ContextOf<Context> = (request: Request) => Context | Promise<Context>;

const aPath = 'a path that begins with a slash';
export const chatOptionsSchema = z.strictObject({
  ...handlerShape,
  journal: aJournal.optional(),
  path: z
    .string({ error: aPath })
    .regex(/^\/[^?#]*$/, { error: aPath })
    .optional(),
  authorize: aFunction.optional(),
  history: z.enum(['journal', 'page'], { error: 'journal or page' }).optional(),
  onError: aFunction.optional(),
} satisfies Record<keyof ChatOptions, z.ZodType>);
