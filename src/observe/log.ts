import pino, { type Logger } from 'pino';
import { type Counters, type Fact, type Reply, replyCalls, replyReasoning, replyText } from '../../machines/index.ts';
import { headOf } from '../text.ts';
import { redact } from './redact.ts';

export type { Logger } from 'pino';

let standardLogger: Logger | null = null;

/** pino at level warn on stderr. */
export function defaultLogger(): Logger {
  standardLogger ??= stderrLogger('warn');
  return standardLogger;
}

/** pino at `level` on stderr; `silent` turns it off. */
export function stderrLogger(level: string): Logger {
  return pino({ level }, pino.destination({ dest: 2, sync: true }));
}

/** A reply in a log line is cut to so many bytes of valid UTF-8 (S-2). */
const replyBytes = 131_072;

export type LogContext = {
  sessionId: string;
  agent: string;
  /** Of the session whose sub-agent this is. */
  parentSessionId: string | null;
  secrets: readonly string[];
};

/** The one WARN line of a failed attempt (S-2): where it was, why it failed, and the complete reply. */
export function logFailedAttempt(
  logger: Logger,
  { sessionId, agent, parentSessionId, secrets }: LogContext,
  { turn, attempt, target, slugs, detail }: Extract<Fact, { type: 'attempt.failed' }>,
  reply: Reply | null,
): void {
  const line = {
    event: 'attempt.failed',
    sessionId,
    agent,
    ...parentOf(parentSessionId),
    turn,
    attempt,
    target,
    slugs,
  };
  const clean = (text: string) => redact(text, secrets);
  const body = reply === null ? { reply: null } : loggedReply(reply, clean);
  logger.warn(
    { ...line, detail: detail === null ? null : clean(detail), ...body },
    `turn ${turn}, attempt ${attempt} failed: ${slugs.join(', ')}`,
  );
}

function parentOf(parentSessionId: string | null): { parentSessionId?: string } {
  return parentSessionId === null ? {} : { parentSessionId };
}

/** The one ERROR line of a session that did not succeed (S-3). */
export function logFailedSession(
  logger: Logger,
  { sessionId, agent, parentSessionId, secrets }: LogContext,
  fact: Extract<Fact, { type: 'session.failed' | 'session.aborted' }>,
  counters: Counters,
): void {
  const { slugs, retryAt, detail } = fact.failure;
  const { turns, attempts, requests, toolCalls, tokens, costUsd } = counters;
  logger.error(
    {
      event: fact.type,
      sessionId,
      agent,
      ...parentOf(parentSessionId),
      slugs,
      detail: detail === null ? null : redact(detail, secrets),
      retryAt: retryAt === null ? null : new Date(retryAt).toISOString(),
      turns,
      attempts,
      requests,
      toolCalls,
      tokens,
      costUsd,
    },
    `session ${fact.type.slice('session.'.length)}: ${slugs.join(', ')}`,
  );
}

type LoggedReply = {
  reply: {
    text: string;
    reasoning: string;
    toolCalls: { callId: string; name: string; input: string }[];
    finishReason: Reply['finishReason'];
  };
  truncated?: true;
};

/** What a call takes in the line beside its texts. */
const bytesOfEntry = 40;

/** The text first, then the calls, then the reasoning, for as long as there is room. */
function loggedReply(reply: Reply, clean: (text: string) => string): LoggedReply {
  let room = replyBytes;
  let truncated = false;
  const take = (text: string): string => {
    const whole = clean(text).toWellFormed();
    const kept = headOf(whole, room);
    room -= Buffer.byteLength(kept);
    truncated ||= kept.length < whole.length;
    return kept;
  };
  const text = take(replyText(reply));
  const toolCalls: LoggedReply['reply']['toolCalls'] = [];
  for (const call of replyCalls(reply)) {
    if (room < bytesOfEntry) {
      truncated = true;
      break;
    }
    room -= bytesOfEntry;
    toolCalls.push({ callId: take(call.callId), name: take(call.name), input: take(call.input) });
  }
  const reasoning = take(replyReasoning(reply));
  const logged = { text, reasoning, toolCalls, finishReason: reply.finishReason };
  return truncated ? { reply: logged, truncated } : { reply: logged };
}
