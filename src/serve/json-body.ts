import { reasonOf } from '../input/errors.ts';
import { depthProblem } from '../platform/plain-json.ts';

/** The largest body by default, in bytes: images come in it. */
const mostByDefault = 32 * 1_024 * 1_024;

/** A body that cannot be used. */
export class UnusableBody extends Error {
  override readonly name = 'UnusableBody';
  readonly status: 400 | 413;

  constructor(message: string, status: 400 | 413) {
    super(message);
    this.status = status;
  }
}

/**
 * Returns the JSON of a request's body, and what `check` gives, which may refuse the caller before anything is read.
 * Rejects with `UnusableBody` or with its error, and lets the client know that nothing more of the body is read, here or in
 * `copies`.
 */
export async function jsonBody<Checked>(
  request: Request,
  copies: readonly Request[],
  check: () => Promise<Checked>,
  mostBytes = mostByDefault,
): Promise<[body: unknown, checked: Checked]> {
  try {
    const checked = await check();
    return [await read(request, mostBytes), checked];
  } catch (error) {
    for (const { body } of new Set([request, ...copies])) body?.cancel().catch(() => undefined);
    throw error;
  }
}

async function read(request: Request, mostBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    // Cancelling one of two copies would wait for the other.
    for await (const chunk of request.body?.values({ preventCancel: true }) ?? []) {
      length += chunk.length;
      if (length > mostBytes) throw new UnusableBody(`The body is larger than ${mostBytes} bytes.`, 413);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof UnusableBody) throw error;
    throw new UnusableBody(`The body could not be read: ${reasonOf(error)}.`, 400);
  }
  const body = await parsed(new Blob(chunks as Uint8Array<ArrayBuffer>[]));
  const why = depthProblem(body);
  if (why !== null) throw new UnusableBody(`The body cannot be read: ${why}.`, 400);
  return body;
}

async function parsed(bytes: Blob): Promise<unknown> {
  try {
    return JSON.parse(await bytes.text());
  } catch (error) {
    throw new UnusableBody(`The body is not JSON: ${reasonOf(error)}.`, 400);
  }
}
