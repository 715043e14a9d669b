import type { RehearsedReply } from './rehearsal-model.ts';

/** The server's response to one request: a reply in the wire format, and its misbehavior. */
export type ScriptedResponse = Omit<RehearsedReply, 'throws' | 'breaks' | 'cut' | 'hangs'> & {
  /** HTTP status; default: 200. From 400 up, `error` becomes the body, in the wire format. */
  status?: number;
  headers?: Record<string, string>;
  error?: { type?: string; code?: string; message?: string };
  /** Sent verbatim as the body instead of a reply. */
  body?: string;
  /** An error event sent after `afterEvents` events of the stream. */
  errorEvent?: { afterEvents: number; type: string; message: string };
  /** Text inserted into the stream after `afterEvents` events. */
  garbage?: { afterEvents: number; text: string };
  /** After `afterBytes` bytes, ends the body cleanly as if complete, or resets the connection. */
  cut?: { afterBytes: number; how: 'end' | 'reset' };
  /** Characters of a text or input per stream event; default: half of it. */
  pieceLength?: number;
  /** Resets the connection before any response. */
  reset?: boolean;
  /** Never responds; with `afterBytes`, never finishes. */
  hang?: boolean | { afterBytes: number };
};
