import {
  type Counters,
  type Fact,
  type Reply,
  replyCalls,
  replyReasoning,
  replyText,
} from '../../../machines/index.ts';
import { redact, withoutSecrets } from '../../agent/redact.ts';
import { onRejection, stackOf } from '../../errors.ts';
import type { Metadata } from '../../journal/journal.ts';
import { byteLength } from '../../platform/bytes.ts';
import { headOf } from '../../text.ts';
import type { SessionCounters } from '../counters.ts';
import type { Fold, Sighting } from '../events.ts';
import type { Records } from '../records.ts';
import type { Logger } from './logger.ts';

/** Maximum bytes of a reply in a log line, as valid UTF-8 (S-2). */
const replyBytes = 131_072;

const noteBytes = 2_000;

export type LogContext = {
  sessionId: string;
  agent: string;
  metadata: Metadata;
  /** The parent session's id, if this is a sub-agent. */
  parentSessionId: string | null;
  secrets: readonly string[];
};

/** A session's log lines: a WARN per failed attempt (S-2); one ERROR if it failed, one INFO if aborted (S-3). */
export class SessionLog implements Fold {
  private readonly options: LogContext & { logger: Logger; onFailure: (observer: string, error: unknown) => void };
  private readonly records: Records;
  private readonly counters: SessionCounters;

  constructor(options: SessionLog['options'], records: Records, counters: SessionCounters) {
    this.options = options;
    this.records = records;
    this.counters = counters;
  }

  fact(fact: Fact): void {
    const { options } = this;
    if (fact.type === 'attempt.failed') {
      const reply = this.records.attempt()?.reply ?? null;
      this.guarded((logger) => logFailedAttempt(logger, options, fact, reply));
    } else if (fact.type === 'session.failed' || fact.type === 'session.aborted') {
      this.guarded((logger) => logUnsuccessfulEnd(logger, options, fact, this.counters.all));
    }
  }

  sighting(sighting: Sighting): void {
    if (sighting.type !== 'session.suspended') return;
    this.guarded((logger) => logUnsuccessfulEnd(logger, this.options, sighting, this.counters.all));
  }

  /** Logs a line about a server, at DEBUG or INFO. */
  note(level: 'debug' | 'info', event: string, server: string, text: string): void {
    const { sessionId, agent, secrets } = this.options;
    // Redact before cutting, so that no part of a secret remains.
    const line = headOf(redact(text, secrets), noteBytes);
    this.guarded((logger) => logger[level]({ event, sessionId, agent, server, line }, line));
  }

  /** Logs a tool's exact error (C-3), which appears nowhere else. */
  toolError(name: string, callId: string, error: unknown): void {
    const { sessionId, agent, secrets } = this.options;
    const line = { event: 'tool.threw', sessionId, agent, name, callId, error: redact(stackOf(error), secrets) };
    this.guarded((logger) => logger.debug(line, `${name} threw`));
  }

  /** A logger that throws is harmless: an event reports it. */
  private guarded(write: (logger: Logger) => unknown): void {
    const { logger, onFailure } = this.options;
    try {
      onRejection(write(logger), (error) => onFailure('logger', error));
    } catch (error) {
      onFailure('logger', error);
    }
  }
}

/** Writes the one WARN line of a failed attempt (S-2), with its turn, its slugs and the complete reply. */
function logFailedAttempt(
  logger: Logger,
  { sessionId, agent, parentSessionId, metadata, secrets }: LogContext,
  { turn, attempt, target, slugs, detail }: Extract<Fact, { type: 'attempt.failed' }>,
  reply: Reply | null,
): unknown {
  const line = {
    event: 'attempt.failed',
    sessionId,
    agent,
    ...parentOf(parentSessionId),
    ...noted(metadata, secrets),
    turn,
    attempt,
    target,
    slugs,
  };
  const clean = (text: string) => redact(text, secrets);
  const body = reply === null ? { reply: null } : loggedReply(reply, clean);
  return logger.warn(
    { ...line, detail: detail === null ? null : clean(detail), ...body },
    `turn ${turn}, attempt ${attempt} failed: ${slugs.join(', ')}`,
  );
}

function noted(metadata: Metadata, secrets: readonly string[]): { metadata?: Metadata } {
  return Object.keys(metadata).length === 0 ? {} : { metadata: withoutSecrets(metadata, secrets) };
}

function parentOf(parentSessionId: string | null): { parentSessionId?: string } {
  return parentSessionId === null ? {} : { parentSessionId };
}

/** Writes the one line of a session that did not succeed (S-3): INFO if that was asked for, otherwise ERROR. */
function logUnsuccessfulEnd(
  logger: Logger,
  { sessionId, agent, parentSessionId, metadata, secrets }: LogContext,
  fact: Extract<Fact | Sighting, { type: 'session.failed' | 'session.aborted' | 'session.suspended' }>,
  counters: Counters,
): unknown {
  const { slugs, retryAt, detail } = fact.failure;
  const { turns, attempts, requests, toolCalls, tokens, costUsd } = counters;
  const isAskedFor = slugs[0] === 'aborted' || slugs[0] === 'suspended';
  return logger[isAskedFor ? 'info' : 'error'](
    {
      event: fact.type,
      sessionId,
      agent,
      ...parentOf(parentSessionId),
      ...noted(metadata, secrets),
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

type LoggedCall = { callId: string; name: string; input: string };

type LoggedReply = {
  reply: {
    finishReason: Reply['finishReason'];
    toolCalls: LoggedCall[];
    /** Calls whose input had begun when the stream broke off. */
    begunCalls?: LoggedCall[];
    text: string;
    reasoning: string;
  };
  truncated?: true;
};

/** Bytes of JSON overhead for each call. */
const bytesOfEntry = 40;

/** Keeps the calls, then the text, then the reasoning, up to the limit, so that a long text displaces no call. */
function loggedReply(reply: Reply, clean: (text: string) => string): LoggedReply {
  let room = replyBytes;
  let truncated = false;
  const take = (text: string): string => {
    const whole = clean(text).toWellFormed();
    const kept = headOf(whole, room);
    room -= byteLength(kept);
    truncated ||= kept.length < whole.length;
    return kept;
  };
  const takeCalls = (calls: readonly LoggedCall[]): LoggedCall[] =>
    calls.flatMap(({ callId, name, input }) => {
      truncated ||= room < bytesOfEntry;
      if (truncated) return [];
      room -= bytesOfEntry;
      return [{ callId: take(callId), name: take(name), input: take(input) }];
    });
  const toolCalls = takeCalls(replyCalls(reply));
  const begun = reply.openInputs.length === 0 ? {} : { begunCalls: takeCalls(reply.openInputs) };
  const text = take(replyText(reply));
  const reasoning = take(replyReasoning(reply));
  const logged = { finishReason: reply.finishReason, toolCalls, ...begun, text, reasoning };
  return truncated ? { reply: logged, truncated } : { reply: logged };
}
