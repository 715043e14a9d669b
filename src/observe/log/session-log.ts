import {
  type Counters,
  type Fact,
  type Reply,
  replyCalls,
  replyReasoning,
  replyText,
  slugTable,
} from '../../../machines/index.ts';
import { onRejection, stackOf } from '../../input/errors.ts';
import { byteLength } from '../../platform/bytes.ts';
import { ownCopy } from '../../platform/own-copy.ts';
import { headOf } from '../../platform/text.ts';
import { redact, withoutSecrets } from '../../secrets/redact.ts';
import type { Metadata } from '../../vocabulary/metadata.ts';
import type { SessionCounters } from '../counters.ts';
import type { Fold, Sighting } from '../events.ts';
import type { Records } from '../records.ts';
import { debugLine } from './debug-line.ts';
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

/**
 * A session's log lines: a WARN per failed attempt (S-2); one ERROR if it failed, one INFO if it succeeded or was aborted;
 * DEBUG for its steps (S-3). What the logger says it drops is not made.
 */
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
      this.write('warn', () => failedAttempt(options, fact, reply));
    } else if (fact.type === 'session.failed' || fact.type === 'session.aborted') {
      this.write(levelOf(fact), () => unsuccessfulEnd(options, fact, this.counters.all));
    } else if (fact.type === 'session.succeeded') {
      this.write('info', () => successfulEnd(options, this.counters.all));
    } else {
      const line = debugLine(fact);
      if (line !== null) this.write('debug', () => [{ event: fact.type, ...lineFields(options) }, line]);
    }
  }

  sighting(sighting: Sighting): void {
    if (sighting.type !== 'session.suspended') return;
    this.write(levelOf(sighting), () => unsuccessfulEnd(this.options, sighting, this.counters.all));
  }

  /** Logs a line about a server, at DEBUG or INFO. */
  note(level: 'debug' | 'info', event: string, server: string, text: string): void {
    this.write(level, () => {
      // Redact before cutting, so that no part of a secret remains.
      const line = headOf(redact(text, this.options.secrets), noteBytes);
      return [{ event, ...lineFields(this.options), server, line }, line];
    });
  }

  /** Logs a tool's exact error (C-3), which appears nowhere else. */
  toolError(name: string, callId: string, error: unknown): void {
    this.write('debug', () => {
      const text = redact(stackOf(error), this.options.secrets);
      return [{ event: 'tool.threw', ...lineFields(this.options), name, callId, error: text }, `${name} threw`];
    });
  }

  /** Writes a line. A logger may change its fields, and one that throws is harmless: an event reports it. */
  private write(level: Level, lineOf: () => Line): void {
    const { logger, onFailure } = this.options;
    try {
      if (logger.isLevelEnabled?.(level) === false) return;
      const [fields, message] = lineOf();
      onRejection(logger[level](ownCopy(fields), message), (error) => onFailure('logger', error));
    } catch (error) {
      onFailure('logger', error);
    }
  }
}

type Level = 'debug' | 'info' | 'warn' | 'error';
/** The fields of a line, and its message. */
type Line = [fields: object, message: string];

/** What every line of a session begins with (S-7). */
function lineFields({ sessionId, agent, parentSessionId, metadata, secrets }: LogContext): object {
  return {
    sessionId,
    agent,
    ...(parentSessionId !== null && { parentSessionId }),
    ...(Object.keys(metadata).length > 0 && { metadata: withoutSecrets(metadata, secrets) }),
  };
}

/** Returns the one WARN line of a failed attempt (S-2), with its turn, its slugs and the complete reply. */
function failedAttempt(
  options: LogContext,
  { turn, attempt, target, slugs, detail }: Extract<Fact, { type: 'attempt.failed' }>,
  reply: Reply | null,
): Line {
  const clean = (text: string) => redact(text, options.secrets);
  const body = reply === null ? { reply: null } : loggedReply(reply, clean);
  const where = { ...lineFields(options), turn, attempt, target, slugs };
  return [
    { event: 'attempt.failed', ...where, detail: detail === null ? null : clean(detail), ...body },
    `turn ${turn}, attempt ${attempt} failed: ${slugs.join(', ')}`,
  ];
}

type Unsuccessful = Extract<Fact | Sighting, { type: 'session.failed' | 'session.aborted' | 'session.suspended' }>;

/** INFO if the end was asked for, otherwise ERROR (S-3). */
function levelOf({ failure: { slugs } }: Unsuccessful): Level {
  return slugs[0] === 'aborted' || slugs[0] === 'suspended' ? 'info' : 'error';
}

/** Returns the one line of a session that did not succeed (S-3). */
function unsuccessfulEnd(options: LogContext, fact: Unsuccessful, counters: Counters): Line {
  const { slugs, retryAt, detail } = fact.failure;
  const advice = slugs.flatMap((slug) => slugTable[slug].advice ?? []);
  return [
    {
      event: fact.type,
      ...lineFields(options),
      slugs,
      detail: detail === null ? null : redact(detail, options.secrets),
      retryAt: retryAt === null ? null : new Date(retryAt).toISOString(),
      ...(advice.length > 0 && { advice }),
      ...totals(counters),
    },
    `session ${fact.type.slice('session.'.length)}: ${slugs.join(', ')}`,
  ];
}

/** Returns the one line of a session that succeeded, so that rates come from the log. */
function successfulEnd(options: LogContext, counters: Counters): Line {
  const fields = { event: 'session.succeeded', ...lineFields(options), ...totals(counters) };
  return [fields, `session succeeded after turn ${counters.turns}`];
}

/** What a session spent; `tree` with its sub-agents, which may have cost most of it. */
function totals({ turns, attempts, requests, toolCalls, tokens, costUsd, tree }: Counters): object {
  return { turns, attempts, requests, toolCalls, tokens, costUsd, tree };
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
