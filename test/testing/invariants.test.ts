import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  defineAgent,
  exportSession,
  type Message,
  runSession,
  type SessionResult,
  sqliteJournal,
} from '../../src/index.ts';
import {
  assertInvariants,
  pawlMatchers,
  rehearsalModel,
  replayFixture,
  sessionPaths,
  type Witness,
} from '../../src/testing/index.ts';
import { brokenPromises } from '../../src/testing/invariants.ts';
import { report } from '../support/session.ts';

/** A session with one failed attempt, a call that ran, one that failed and one that was refused. */
let kept: SessionResult;
let exported: string;
beforeAll(async () => {
  const calls = ['look', 'break', 'absent'].map((name) => ({ name }));
  const tools = {
    look: () => 'seen',
    break: () => {
      throw new Error('Broken.');
    },
  };
  const agent = defineAgent({ name: 'kept', models: [rehearsalModel([{}, { calls }, report()])], tools });
  const journal = sqliteJournal(':memory:');
  kept = await runSession(agent, { prompt: 'Go.', logger: false, journal, sessionId: 's' });
  exported = await exportSession(journal, 's');
  await journal.close();
});

type Change = (result: SessionResult) => void;
const broken = (change: Change, witness: Witness = {}) => {
  const result = structuredClone(kept);
  change(result);
  return brokenPromises(result, witness);
};
const counted = (change: (counters: SessionResult['counters']) => void) => (result: SessionResult) =>
  change(result.counters as SessionResult['counters']);
const set = (fields: object) => (result: SessionResult) => void Object.assign(result, fields);
const messagesOf = (result: SessionResult) => result.conversation as Message[];

it('a suspended session may have calls that are not answered yet', () => {
  const counters = (answered: number) => ({
    ...kept.counters,
    toolCalls: { ...kept.counters.toolCalls, requested: 5, answered },
  });
  const suspended = { status: 'suspended', success: false, slugs: ['suspended'] } as const;
  const report = { ...kept.report, source: 'synthetic', accepted: false };
  const of = (answered: number) =>
    brokenPromises({ ...kept, ...suspended, report, counters: counters(answered) } as never);
  expect(of(kept.counters.toolCalls.answered)).toEqual([]);
  expect(of(6)[0]).toBe('calls requested (5) >= calls answered (6)');
});

describe('the promises that apply to every session', () => {
  it('are kept, within the bound that the agent has', () => {
    expect(kept.counters).toMatchObject({ requests: 3, attempts: 3, failedAttempts: 1 });
    for (const witness of [{}, { requests: 3 }, { requests: 0 }, { limits: { maxTurns: 3, maxRetries: 1 } }])
      expect(broken(() => {}, witness)).toEqual([]);
    expect(assertInvariants(kept)).toBeUndefined();
    expect(assertInvariants(kept, 3)).toBeUndefined();
  });

  it.each<[string, Change, Witness, string[]]>([
    [
      'requests were sent that no attempt counts',
      counted((counters) => {
        counters.requests = 4;
      }),
      {},
      ['requests (4) = attempts (3) + summaries (0)'],
    ],
    [
      'more requests were sent than allowed',
      () => {},
      { limits: { maxTurns: 1, maxRetries: 2 } },
      ['requests (3) <= maxTurns x maxRetries (2)'],
    ],
    [
      'more were received than are counted',
      () => {},
      { requests: 4 },
      ['requests received (4) <= requests counted (3)'],
    ],
    [
      'a call has no answer',
      counted(({ toolCalls }) => {
        toolCalls.requested += 1;
      }),
      {},
      ['calls requested (5) = calls answered (4)'],
    ],
    [
      'an answer has no category',
      counted(({ toolCalls }) => {
        toolCalls.acknowledged = 0;
      }),
      {},
      ['calls executed (2) + acknowledged (0) + refused (1) = calls answered (4)'],
    ],
    [
      'a call that ran has no outcome',
      counted(({ toolCalls }) => {
        toolCalls.failed = 0;
      }),
      {},
      ['calls succeeded + calls failed = calls executed'],
    ],
    [
      'an attempt has no record',
      ({ turns }) => void (turns as unknown[]).pop(),
      {},
      ['attempts recorded (2) = attempts counted (3)'],
    ],
    [
      'a failed attempt has no reason',
      ({ turns }) => {
        const [first] = turns[0]?.attempts ?? [];
        if (first !== undefined) first.slugs = [];
      },
      {},
      ['every failed attempt has a slug'],
    ],
    [
      'it is a success with another status',
      set({ status: 'failed' }),
      {},
      ['success (true) matches the status (failed)'],
    ],
    [
      'it succeeded without a report',
      (result) => void Object.assign(result.report, { accepted: false }),
      {},
      ['the report was accepted (false) if and only if the session succeeded'],
    ],
    [
      'its report is empty',
      (result) => void Object.assign(result.report, { content: '' }),
      {},
      ['the report has content'],
    ],
    [
      'its report is missing',
      (result) => void Object.assign(result.report, { content: undefined }),
      {},
      ['the report has content'],
    ],
    [
      'it succeeded but has slugs',
      set({ slugs: ['aborted'] }),
      {},
      ['there are slugs if and only if the session did not succeed'],
    ],
    [
      'a counter is missing',
      (result) => {
        delete (result.counters as Partial<SessionResult['counters']>).collapses;
      },
      {},
      ['every counter is present'],
    ],
  ])('are broken if %s', (_, change, witness, promises) => {
    expect(broken(change, witness)).toEqual(promises);
  });

  it.each<[string, Change, RegExp]>([
    [
      'a message is empty',
      (result) => void (messagesOf(result)[0] as { content: unknown[] }).content.splice(0),
      /^message 0 has content$/,
    ],
    [
      'an answer is missing',
      (result) => void (messagesOf(result)[2] as { content: unknown[] }).content.pop(),
      /^the calls of message 1 \(\S+\) are answered at once and in order \(\S+\)$/,
    ],
    [
      'answers are out of order',
      (result) => void (messagesOf(result)[2] as { content: unknown[] }).content.reverse(),
      /^the calls of message 1 \(\S+\) are answered at once and in order \(\S+\)$/,
    ],
    [
      'answers come later',
      (result) => void messagesOf(result).splice(2, 0, { role: 'user', content: [{ type: 'text', text: 'Wait.' }] }),
      /^the calls of message 1 \(\S+\) are answered at once and in order \(\); the answers in message 3 follow their calls$/,
    ],
  ])('are broken if in the conversation %s', (_, change, sentence) => {
    expect(broken(change).join('; ')).toMatch(sentence);
  });

  it('a call that the provider ran needs no answer', () => {
    const part = { type: 'tool-call', toolCallId: 'web', toolName: 'web', input: {}, providerExecuted: true };
    expect(broken((result) => void (messagesOf(result)[1] as { content: unknown[] }).content.push(part))).toEqual([]);
  });

  it('that are broken are all named, by the assertion and by the matcher', () => {
    const wrong = structuredClone(kept);
    Object.assign(wrong, { status: 'failed', slugs: ['aborted'] });
    expect(() => assertInvariants(wrong)).toThrow(
      'The session s broke its promises: success (true) matches the status (failed); there are slugs if and only if the session did not succeed.',
    );
    expect(() => assertInvariants(kept, 4)).toThrow('requests received (4) <= requests counted (3).');
    const verdict = pawlMatchers.toKeepItsPromises(wrong);
    expect([verdict.pass, verdict.message()]).toEqual([
      false,
      'broken promises: success (true) matches the status (failed); there are slugs if and only if the session did not succeed',
    ]);
    const good = pawlMatchers.toKeepItsPromises(kept, { requests: 3 });
    expect([good.pass, good.message()]).toEqual([true, 'broken promises: none']);
  });

  it('the matcher of failed attempts compares their slugs in order', () => {
    const good = pawlMatchers.toHaveFailedFor(kept, [['empty_response']]);
    const wrong = pawlMatchers.toHaveFailedFor(kept, [['empty_response'], ['aborted']]);
    expect([good.pass, wrong.pass]).toEqual([true, false]);
    expect(wrong.message()).toBe(
      'failed attempts: got [["empty_response"]]; expected [["empty_response"],["aborted"]]',
    );
  });
});

describe('replayFixture', () => {
  const file = (text: string) => {
    const path = join(mkdtempSync(join(tmpdir(), 'pawl-fixture-')), 's.jsonl');
    writeFileSync(path, text);
    return path;
  };

  it('plays a file, up to where it is told', async () => {
    expect((await replayFixture(file(exported))).counters).toEqual(kept.counters);
    expect((await replayFixture(file(exported), { until: 'turn-2' })).counters.turns).toBe(2);
  });

  it('names the step at which the machines take another way, and a file that cannot be read', async () => {
    const changed = exported.replace('"isLastTurn":false', '"isLastTurn":true');
    await expect(replayFixture(file(changed))).rejects.toThrow(
      /^The session takes another way at entry \d+: it was ".+true.+", and is ".+false.+"\.$/,
    );
    await expect(replayFixture('/no/such/file')).rejects.toMatchObject({
      code: 'invalid_journal',
      message: expect.stringMatching(/^The exported session \/no\/such\/file cannot be read: ENOENT.*\.$/),
    });
  });
});

describe('sessionPaths', () => {
  const call = { name: 'look' };
  const outcomes = (...given: Parameters<typeof sessionPaths>) =>
    sessionPaths(...given).map(({ steps, expected }) => [steps.join(), ...Object.values(expected)]);

  it('are all that a model can do, with what must come of it', () => {
    const one = { maxTurns: 1, maxRetries: 1 };
    expect(outcomes(one, { call })).toEqual([
      ['tool', 'failed', 1, 1, 0],
      ['empty', 'failed', 1, 1, 0],
      ['report', 'succeeded', 1, 1, 0],
      ['bad report', 'failed', 1, 1, 0],
      ['tool and bad report', 'failed', 1, 1, 0],
    ]);
    expect(outcomes(one)).toHaveLength(3);
    expect(outcomes({ maxTurns: 3, maxRetries: 1 }, { call, steps: ['tool', 'tool and bad report'] })).toEqual([
      ['tool,tool,tool', 'failed', 3, 3, 0],
      ['tool,tool,tool and bad report', 'failed', 3, 3, 0],
      ['tool,tool and bad report,tool', 'failed', 3, 3, 0],
      ['tool,tool and bad report,tool and bad report', 'failed', 3, 3, 0],
      ['tool and bad report,tool', 'failed', 2, 2, 1],
      ['tool and bad report,tool and bad report', 'failed', 2, 2, 1],
    ]);
    expect(outcomes({ maxTurns: 2, maxRetries: 2 }, { steps: ['empty', 'report'] })).toEqual([
      ['empty,empty', 'failed', 1, 2, 0],
      ['empty,report', 'succeeded', 1, 2, 0],
      ['report', 'succeeded', 1, 1, 0],
    ]);
  });

  it('come with the replies that take them', () => {
    const replies = (options: Parameters<typeof sessionPaths>[1]) =>
      sessionPaths({ maxTurns: 1, maxRetries: 1 }, options).flatMap((path) =>
        path.replies.map(({ calls = [] }) => calls),
      );
    const good = { name: 'final_report', input: { content: 'All done.' } };
    const bad = { name: 'final_report', input: {} };
    expect(replies({ call })).toEqual([[call], [], [good], [bad], [call, bad]]);
    expect(replies({ report: 7, steps: ['report'] })).toEqual([[{ ...good, input: { content: 7 } }]]);
  });
});
