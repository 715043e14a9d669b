import { z } from 'zod';
import { emptyCounters, type Message } from '../../machines/index.ts';
import { check } from '../input/check.ts';
import type { SessionResult } from '../session/session.ts';
import { boundSchema } from './session-paths.ts';

/** Facts about a session that are not in its result. */
export type Witness = {
  /** Requests received by the model or counted on the wire. */
  requests?: number;
  /** The agent's limits: the bound is their product. */
  limits?: { maxTurns: number; maxRetries: number };
};

const resultSchema = z.custom<SessionResult>(
  (value) =>
    typeof value === 'object' && value !== null && 'counters' in value && Array.isArray(Reflect.get(value, 'turns')),
  { error: 'the result of a session' },
);
const witnessSchema = z.strictObject({
  requests: z.number({ error: 'a number of requests' }).optional(),
  limits: boundSchema.optional(),
} satisfies Record<keyof Witness, z.ZodType>);

/** Throws `invalid_options` for anything but the result of a session. */
export function checkResult(result: unknown): void {
  check(resultSchema, result, 'result', 'invalid_options');
}

/**
 * Returns the promises that `result` breaks, as sentences; empty if it keeps all. They apply to every session. Throws
 * `invalid_options`.
 */
export function brokenPromises(result: SessionResult, witness: Witness = {}): string[] {
  checkResult(result);
  check<unknown>(witnessSchema, witness, 'witness', 'invalid_options');
  const { requests, limits } = witness;
  const { counters, status, success, report, slugs, conversation, turns } = result;
  const { toolCalls } = counters;
  const refused = Object.values(toolCalls.rejected).reduce((sum, count) => sum + count, 0);
  const bound = limits === undefined ? Number.POSITIVE_INFINITY : limits.maxTurns * limits.maxRetries;
  const attempts = turns.flatMap((turn) => turn.attempts);
  const promises: [boolean, string][] = [
    [
      counters.requests === counters.attempts + counters.summaries,
      `requests (${counters.requests}) = attempts (${counters.attempts}) + summaries (${counters.summaries})`,
    ],
    [counters.requests <= bound, `requests (${counters.requests}) <= maxTurns x maxRetries (${bound})`],
    [
      (requests ?? 0) <= counters.requests,
      `requests received (${requests}) <= requests counted (${counters.requests})`,
    ],
    status === 'suspended'
      ? // Its open calls are answered when it is resumed.
        [
          toolCalls.requested >= toolCalls.answered,
          `calls requested (${toolCalls.requested}) >= calls answered (${toolCalls.answered})`,
        ]
      : [
          toolCalls.requested === toolCalls.answered,
          `calls requested (${toolCalls.requested}) = calls answered (${toolCalls.answered})`,
        ],
    [
      toolCalls.executed + toolCalls.acknowledged + refused === toolCalls.answered,
      `calls executed (${toolCalls.executed}) + acknowledged (${toolCalls.acknowledged}) + refused (${refused}) = calls answered (${toolCalls.answered})`,
    ],
    [toolCalls.succeeded + toolCalls.failed === toolCalls.executed, 'calls succeeded + calls failed = calls executed'],
    [
      attempts.length === counters.attempts,
      `attempts recorded (${attempts.length}) = attempts counted (${counters.attempts})`,
    ],
    [
      attempts.filter((attempt) => attempt.status === 'failed').every((attempt) => attempt.slugs.length > 0),
      'every failed attempt has a slug',
    ],
    [success === (status === 'succeeded'), `success (${success}) matches the status (${status})`],
    [report.accepted === success, `the report was accepted (${report.accepted}) if and only if the session succeeded`],
    [report.content !== '' && report.content !== undefined, 'the report has content'],
    [success === (slugs.length === 0), 'there are slugs if and only if the session did not succeed'],
    [Object.keys(emptyCounters()).every((name) => name in counters), 'every counter is present'],
  ];
  return [...promises.flatMap(([holds, sentence]) => (holds ? [] : [sentence])), ...malformed(conversation)];
}

/** Throws an error that lists all promises that `result` breaks, if any; `invalid_options` for bad input. */
export function assertInvariants(result: SessionResult, witness: Witness | number = {}): void {
  const broken = brokenPromises(result, typeof witness === 'number' ? { requests: witness } : witness);
  if (broken.length > 0) throw new Error(`The session ${result.sessionId} broke its promises: ${broken.join('; ')}.`);
}

/** Checks that answers directly follow their calls, in order and once each, and that no message is empty (C-1, C-6). */
function malformed(messages: readonly Message[]): string[] {
  const broken: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.content.length === 0) broken.push(`message ${index} has content`);
    const next = messages[index + 1];
    if (message.role === 'tool' && messages[index - 1]?.role !== 'assistant')
      broken.push(`the answers in message ${index} follow their calls`);
    if (message.role !== 'assistant') continue;
    const calls = message.content.flatMap((part) =>
      part.type === 'tool-call' && part.providerExecuted !== true ? [part.toolCallId] : [],
    );
    const answers = next?.role === 'tool' ? next.content.map((part) => part.toolCallId) : [];
    if (calls.join() !== answers.join())
      broken.push(`the calls of message ${index} (${calls}) are answered at once and in order (${answers})`);
  }
  return broken;
}
