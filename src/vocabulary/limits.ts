import { z } from 'zod';
import { count, milliseconds } from '../input/shapes.ts';

const resultBytes = 'an integer of at least 256';

const replyBytes = 'an integer of at least 1024';

/** The limits of an agent's sessions, checked when the agent is defined (B-1). */
export const limitsSchema = z.strictObject({
  /** Turns per session; default: 10. */
  maxTurns: count.default(10),
  /** Attempts per turn, including the first; default: 5. */
  maxRetries: count.default(5),
  /** Calls to real tools per reply; default: 20. */
  maxToolCallsPerTurn: count.default(20),
  /** Tools that run concurrently; default: 8. */
  maxConcurrentTools: count.default(8),
  /** Timeout of a tool call, in ms; default: 60,000. */
  toolTimeoutMs: milliseconds.default(60_000),
  /** The most ms of a call to an MCP tool that reports progress, which extends its timeout; default: 600,000. */
  maxToolMs: milliseconds.default(600_000),
  /** Timeout for a request's complete reply, in ms; default: 600,000. */
  modelTimeoutMs: milliseconds.default(600_000),
  /** Longest gap between two parts of a streamed reply, in ms; default: 120,000. */
  modelIdleTimeoutMs: milliseconds.default(120_000),
  /** Ms to wait for an approval; null waits indefinitely; default: null. */
  approvalTimeoutMs: milliseconds.nullable().default(null),
  /** Ms to wait for the answer to a call of a client-side tool; null waits indefinitely; default: 600,000. */
  clientToolTimeoutMs: milliseconds.nullable().default(600_000),
  /** Bytes of a reply, beyond which the request is cancelled and the attempt fails; default: 16,777,216 (16 MiB). */
  replyBytes: z
    .int({ error: replyBytes })
    .min(1_024, { error: replyBytes })
    .default(16 * 1_024 * 1_024),
  /** Bytes of a tool result sent to the model; default: 65,536. */
  toolResultBytes: z.int({ error: resultBytes }).min(256, { error: resultBytes }).default(65_536),
  /**
   * Bytes of a tool result that is kept whole for events, records, `read_result` and the journal; a larger one is kept as the
   * model sees it. Default: 8,388,608 (8 MiB).
   */
  keptResultBytes: z
    .int({ error: resultBytes })
    .min(256, { error: resultBytes })
    .default(8 * 1_024 * 1_024),
  /** Maximum tokens of a request plus its reply; null disables the context guard; default: null. */
  contextWindow: count.nullable().default(null),
  /** Ms for `instructions()` or `prepareTurn()` to return, and for all MCP servers to connect; default: 30,000. */
  prepareTimeoutMs: milliseconds.default(30_000),
  /** How deep sub-agents may nest, counting the root session (B-7); default: 3. */
  maxDepth: count.default(3),
  /**
   * Total requests that a session and its sub-agents may send (B-7). Default: null, meaning four times
   * `maxTurns x maxRetries`.
   */
  maxTreeRequests: count.nullable().default(null),
});

export type Limits = z.output<typeof limitsSchema>;
