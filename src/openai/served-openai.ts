export type ServedOpenai = {
  /** The base URL for clients, which ends in `/v1`. */
  readonly url: string;
  /** Resolves when the server has closed. */
  readonly closed: Promise<void>;
  /** Aborts all running sessions and closes the server. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};
