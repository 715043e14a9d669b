/** What `promise` brings, or a rejection with `message` after `timeoutMs` or when `signal` aborts. Code of a user's that hangs is bounded by it. */
export async function timely<T>(
  timeoutMs: number,
  promise: T | PromiseLike<T>,
  message: string,
  signal?: AbortSignal,
): Promise<T> {
  const { promise: limit, reject } = Promise.withResolvers<never>();
  const fail = () => reject(new Error(message));
  const timeout = setTimeout(fail, timeoutMs);
  if (signal?.aborted) fail();
  signal?.addEventListener('abort', fail, { once: true });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timeout);
    signal?.removeEventListener('abort', fail);
  }
}
