import { z } from 'zod';
import { isSameJson, type Json, type Slug } from '../../machines/index.ts';
import { check } from '../input/check.ts';
import { aFunction, count, nonBlank, text } from '../input/shapes.ts';
import { isRecord } from '../platform/plain-json.ts';
import { formatDollars } from '../platform/text.ts';
import type { SessionResult } from '../session/session.ts';
import { brokenPromises, checkResult, type Witness } from './invariants.ts';

type Verdict = { pass: boolean; message: () => string };

const slugsSchema = z.array(z.array(text, { error: 'an array of slugs' }), { error: 'an array of arrays of slugs' });
const runsSchema = z.object({ run: aFunction, times: count, of: count });

/** The types of the matchers. Declare them as in the guide: `interface Matchers extends PawlMatchers {}`. */
export interface PawlMatchers {
  toKeepItsPromises(witness?: Witness): void;
  toHaveFailedFor(expected: readonly (readonly Slug[])[]): void;
  toHaveSucceeded(): void;
  toHaveEndedWith(slug: Slug): void;
  toHaveCalled(tool: string, input?: Readonly<Record<string, unknown>>): void;
  toHaveCost(lessThan: number): void;
  toSucceedIn(times: number, of: number): Promise<void>;
}

const callsIn = ({ turns }: SessionResult) => turns.flatMap(({ attempts }) => attempts.flatMap(({ calls }) => calls));
/** The input of a call, as the conversation has it. */
function inputOf({ conversation }: SessionResult, callId: string): unknown {
  const parts = conversation.flatMap(({ role, content }) => (role === 'assistant' ? content : []));
  return parts.find((part) => part.type === 'tool-call' && part.toolCallId === callId && 'input' in part)?.[
    'input' as never
  ];
}

const howItEnded = ({ status, slugs, failure }: SessionResult) =>
  `${status}${slugs.length === 0 ? '' : `: ${slugs.join(', ')}`}${failure?.detail == null ? '' : ` (${failure.detail})`}`;

/** Matchers for `expect.extend(pawlMatchers)` in vitest or jest. */
export const pawlMatchers = {
  /** Passes if the result keeps the promises that apply to every session. */
  toKeepItsPromises(result: SessionResult, witness: Witness = {}): Verdict {
    const broken = brokenPromises(result, witness);
    return { pass: broken.length === 0, message: () => `broken promises: ${broken.join('; ') || 'none'}` };
  },
  /** Passes if the failed attempts have the expected slugs, in order. */
  toHaveFailedFor(result: SessionResult, expected: readonly (readonly Slug[])[]): Verdict {
    checkResult(result);
    check(slugsSchema, expected, 'expected', 'invalid_options');
    const found = result.turns.flatMap((turn) =>
      turn.attempts.flatMap(({ status, slugs }) => (status === 'failed' ? [slugs] : [])),
    );
    const pass = JSON.stringify(found) === JSON.stringify(expected);
    return {
      pass,
      message: () => `failed attempts: got ${JSON.stringify(found)}; expected ${JSON.stringify(expected)}`,
    };
  },
  /** Passes if the session succeeded: a report was accepted. */
  toHaveSucceeded(result: SessionResult): Verdict {
    checkResult(result);
    return { pass: result.success, message: () => `the session ${howItEnded(result)}` };
  },
  /** Passes if the session ended for this reason, the deciding one or another. */
  toHaveEndedWith(result: SessionResult, slug: Slug): Verdict {
    checkResult(result);
    return { pass: result.slugs.includes(slug), message: () => `the session ${howItEnded(result)}; asked for ${slug}` };
  },
  /** Passes if a call of the tool was executed whose input has these fields; other fields may be there. */
  toHaveCalled(result: SessionResult, tool: string, input: Readonly<Record<string, unknown>> = {}): Verdict {
    checkResult(result);
    check(z.object({ tool: nonBlank }), { tool }, '', 'invalid_options');
    const calls = callsIn(result).filter(({ name, executed }) => name === tool && executed);
    const inputs = calls.map(({ callId }) => inputOf(result, callId));
    const has = (given: unknown) =>
      isRecord(given) &&
      Object.entries(input).every(([key, value]) => isSameJson((given[key] ?? null) as Json, (value ?? null) as Json));
    const found = calls.length === 0 ? 'it was not called' : `it was called with ${JSON.stringify(inputs)}`;
    return {
      pass: inputs.some(has),
      message: () => `${tool} with ${JSON.stringify(input)}: ${found}`,
    };
  },
  /** Passes if the session and its sub-agents cost less than this, in US dollars. An unknown cost never does. */
  toHaveCost(result: SessionResult, lessThan: number): Verdict {
    checkResult(result);
    check(z.object({ lessThan: z.number({ error: 'a number of US dollars' }) }), { lessThan }, '', 'invalid_options');
    const { costUsd } = result.counters.tree;
    const cost = costUsd === null ? 'no price' : formatDollars(costUsd);
    return {
      pass: costUsd !== null && costUsd < lessThan,
      message: () => `cost: ${cost}; asked for less than ${formatDollars(lessThan)}`,
    };
  },
  /** Runs a function that runs a session so many times, and passes if enough of them succeed. */
  async toSucceedIn(run: () => Promise<SessionResult>, times: number, of: number): Promise<Verdict> {
    check<unknown>(runsSchema, { run, times, of }, '', 'invalid_options');
    const endings: string[] = [];
    let succeeded = 0;
    for (let index = 0; index < of; index += 1) {
      const result = await run();
      checkResult(result);
      if (result.success) succeeded += 1;
      else endings.push(howItEnded(result));
    }
    const why = [...new Set(endings)].map((one) => `${endings.filter((other) => other === one).length} x ${one}`);
    return {
      pass: succeeded >= times,
      message: () =>
        `${succeeded} of ${of} succeeded; asked for ${times}${why.length === 0 ? '' : `. ${why.join('; ')}`}`,
    };
  },
};
