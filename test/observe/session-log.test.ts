import { describe, expect, it } from 'vitest';
import type { Fact, Failure, Reply, ReplyCall } from '../../machines/index.ts';
import type { Sighting } from '../../src/observe/events.ts';
import type { Logger } from '../../src/observe/log/logger.ts';
import { SessionLog } from '../../src/observe/log/session-log.ts';
import { replySaying } from '../support/replies.ts';
import { counters } from '../support/session.ts';

const key = 'planted-3f9c2b7a41';
const limit = 131_072;
const totals = counters({ turns: 2, attempts: 3, requests: 3, tokens: { input: 30 } });

type Context = Partial<SessionLog['options']>;

/** A session's log over a reply, and what it wrote: the level, the fields, the message. */
function logOf(reply: Reply | null = null, more: Context = {}) {
  const lines: [string, object, string | undefined][] = [];
  const failures: [string, unknown][] = [];
  const write = (level: string) => (fields: object, message?: string) => void lines.push([level, fields, message]);
  const logger: Logger = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const options = {
    ...{ sessionId: 's', agent: 'a', metadata: {}, parentSessionId: null, secrets: [key], logger },
    onFailure: (observer: string, error: unknown) => void failures.push([observer, error]),
    ...more,
  };
  const records = { attempt: () => (reply === null ? undefined : { reply }) };
  const log = new SessionLog(options, records as never, { all: totals } as never);
  return { log, lines, failures };
}

const own = { sessionId: 's', agent: 'a' };
const failed: Fact = {
  ...{ type: 'attempt.failed', turn: 2, attempt: 1, target: 'one:two' },
  ...{ slugs: ['empty_response', 'response_truncated'], detail: `no ${key}` },
};
const call = (input: string, more: object = {}) =>
  ({ type: 'tool-call', callId: 'c', name: 'look', input, ...more }) as ReplyCall;
const warned = (reply: Reply) => {
  const { log, lines } = logOf(reply);
  log.fact(failed);
  return lines[0]?.[1] as { reply: Record<string, unknown>; truncated?: true };
};

describe('S-2: a failed attempt', () => {
  it('is one WARN line with its turn, its slugs and its reply, without secrets', () => {
    const reply: Reply = {
      ...replySaying(`The ${key}.`),
      content: [
        { type: 'reasoning', text: `Hm, ${key}.`, ended: true },
        { type: 'text', text: `The ${key}.`, ended: true },
        call(`{"a":"${key}"}`),
      ],
      openInputs: [{ callId: 'd', name: 'look', input: `{"b":"${key}` }],
    };
    const { log, lines } = logOf(reply, { parentSessionId: 'p', metadata: { user: key, paid: true } });
    log.fact(failed);
    expect(lines).toEqual([
      [
        'warn',
        {
          ...{ event: 'attempt.failed', ...own, parentSessionId: 'p', metadata: { user: '[redacted]', paid: true } },
          ...{ turn: 2, attempt: 1, target: 'one:two', slugs: ['empty_response', 'response_truncated'] },
          detail: 'no [redacted]',
          reply: {
            finishReason: { unified: 'stop', raw: null },
            toolCalls: [{ callId: 'c', name: 'look', input: '{"a":"[redacted]"}' }],
            begunCalls: [{ callId: 'd', name: 'look', input: '{"b":"[redacted]' }],
            text: 'The [redacted].',
            reasoning: 'Hm, [redacted].',
          },
        },
        'turn 2, attempt 1 failed: empty_response, response_truncated',
      ],
    ]);
  });

  it('S-3: a reply without a call that it began says nothing of one', () => {
    expect(Object.keys(warned(replySaying('No.')).reply)).not.toContain('begunCalls');
  });

  it('says no more than there is', () => {
    const { log, lines } = logOf();
    log.fact({ ...failed, detail: null });
    const { detail: _, type: __, ...rest } = failed;
    expect(lines.map(([, fields]) => fields)).toEqual([
      { event: 'attempt.failed', ...own, ...rest, detail: null, reply: null },
    ]);
  });

  it('holds a reply whole up to 128 KiB of valid UTF-8, then says that it is cut', () => {
    expect(warned(replySaying('a'.repeat(limit)))).toMatchObject({ reply: { text: 'a'.repeat(limit) } });
    expect(warned(replySaying('a'.repeat(limit)))).not.toHaveProperty('truncated');
    const cut = warned(replySaying(`${'a'.repeat(limit - 1)}äb`));
    expect([cut.truncated, cut.reply.text]).toEqual([true, 'a'.repeat(limit - 1)]);
    expect(warned(replySaying('a\ud800')).reply.text).toBe('a\ufffd');
  });

  it('keeps calls before the text, and the text before the reasoning', () => {
    const text = { type: 'text', text: 't'.repeat(limit), ended: true } as const;
    const reasoning = { type: 'reasoning', text: 'r', ended: true } as const;
    const room = limit - 40 - 'clook{}'.length;
    const { reply, truncated } = warned({ ...replySaying(''), content: [reasoning, text, call('{}')] });
    expect([truncated, reply.toolCalls]).toEqual([true, [{ callId: 'c', name: 'look', input: '{}' }]]);
    expect([(reply.text as string).length, reply.reasoning]).toEqual([room, '']);
  });

  it('leaves out whole calls that have no room', () => {
    const first = call('i'.repeat(limit - 40 - 'clook'.length - 40));
    const exact = warned({ ...replySaying(''), content: [first, call('', { callId: '', name: '' })] });
    expect([(exact.reply.toolCalls as object[]).length, exact.truncated]).toEqual([2, undefined]);
    const more = call('i'.repeat(limit - 40 - 'clook'.length - 39));
    const full = warned({ ...replySaying(''), content: [more, call('', { callId: '', name: '' })] });
    expect([(full.reply.toolCalls as object[]).length, full.truncated]).toEqual([1, true]);
    // Nothing follows a call that was cut.
    const cut = call('i'.repeat(limit));
    expect((warned({ ...replySaying(''), content: [cut, call('{}')] }).reply.toolCalls as object[]).length).toBe(1);
  });
});

describe('S-3: the end of a session', () => {
  const failure: Failure = {
    slugs: ['no_targets', 'rate_limited'],
    retryAt: Date.UTC(2026, 0, 1),
    detail: `no ${key}`,
  };
  it.each<[string, Fact['type'] | Sighting['type'], Failure, string, string?]>([
    [
      'a failure is an ERROR',
      'session.failed',
      failure,
      'error',
      'The provider limits the rate: try again later, or add another model to the agent.',
    ],
    ['an abort is an INFO', 'session.aborted', { ...failure, slugs: ['aborted'] }, 'info'],
    [
      'a suspension is an INFO',
      'session.suspended',
      { ...failure, slugs: ['suspended'] },
      'info',
      'Resume it from its journal.',
    ],
    [
      'a broken journal is an ERROR',
      'session.suspended',
      { ...failure, slugs: ['journal_failed'] },
      'error',
      'See to the journal, such as a full disk, and resume the session.',
    ],
  ])('%s', (_, type, why, level, advice) => {
    const { log, lines } = logOf(null, { parentSessionId: 'p', metadata: { user: key } });
    if (type === 'session.suspended') log.sighting({ type, failure: why });
    else log.fact({ type, turns: 2, failure: why } as Fact);
    const { turns, attempts, requests, toolCalls, tokens, costUsd, tree } = totals;
    expect(lines).toEqual([
      [
        level,
        {
          ...{ event: type, ...own, parentSessionId: 'p', metadata: { user: '[redacted]' }, slugs: why.slugs },
          ...{ detail: 'no [redacted]', retryAt: '2026-01-01T00:00:00.000Z' },
          ...(advice !== undefined && { advice: [advice] }),
          ...{ turns, attempts, requests, toolCalls, tokens, costUsd, tree },
        },
        `${type.replace('.', ' ')}: ${why.slugs.length === 2 ? 'no_targets, rate_limited' : why.slugs[0]}`,
      ],
    ]);
  });

  it('says no more than there is', () => {
    const { log, lines } = logOf();
    log.fact({ type: 'session.failed', turns: 2, failure: { slugs: ['no_tools'], retryAt: null, detail: null } });
    const [[, fields] = []] = lines;
    expect(fields).toMatchObject({ retryAt: null, detail: null });
    expect(Object.keys(fields ?? {})).not.toContain('metadata');
    expect(Object.keys(fields ?? {})).not.toContain('parentSessionId');
  });

  it('what is no end has no line', () => {
    const { log, lines, failures } = logOf();
    log.fact({ type: 'turn.finished', turn: 1, attempts: 1 });
    log.sighting({ type: 'effect.late', key: 'a' } as Sighting);
    expect([lines, failures]).toEqual([[], []]);
  });
});

describe('other lines', () => {
  it('of a server: redacted, then cut', () => {
    const { log, lines } = logOf();
    log.note('info', 'server.unavailable', 'files', `${'a'.repeat(1_990)} ${key} b`);
    log.note('debug', 'server.said', 'files', 'listening');
    const line = `${'a'.repeat(1_990)} [redacted`;
    expect(lines).toEqual([
      [
        'info',
        { event: 'server.unavailable', ...own, server: 'files', line: line.slice(0, 2_000) },
        line.slice(0, 2_000),
      ],
      ['debug', { event: 'server.said', ...own, server: 'files', line: 'listening' }, 'listening'],
    ]);
  });

  it('C-3: of a tool that threw: the stack, without secrets', () => {
    const { log, lines } = logOf();
    log.toolError('look', 'c', new TypeError(`no ${key}`));
    expect(lines).toEqual([
      [
        'debug',
        {
          ...{ event: 'tool.threw', ...own, name: 'look', callId: 'c' },
          error: expect.stringMatching(/^TypeError: no \[redacted\]\n {4}at /),
        },
        'look threw',
      ],
    ]);
  });

  it.each<[Fact, string | null]>([
    [{ type: 'turn.started', turn: 2, isLastTurn: false }, 'turn 2 started'],
    [{ type: 'turn.started', turn: 3, isLastTurn: true }, 'turn 3 started, the last one'],
    [
      { type: 'session.collapsed', turn: 1, from: 9, to: 3, reason: 'final_report_rejected' },
      'collapsed from 9 turns to 3: final_report_rejected',
    ],
    [
      { type: 'wait.started', target: 'one:two', dueAt: 0 } as Fact,
      'waiting for one:two until 1970-01-01T00:00:00.000Z',
    ],
    [
      { type: 'results.omitted', callIds: ['a', 'b'], textTokens: 7 } as never,
      'left out 2 results and 7 tokens of old text, which do not fit the context window',
    ],
    [
      { type: 'target.excluded', target: 'one:two', slug: 'provider_auth', detail: 'd' },
      'dropped one:two: provider_auth',
    ],
    [{ type: 'turn.finished', turn: 1, attempts: 1 }, null],
  ])('DEBUG: %j', (fact, text) => {
    const { log, lines } = logOf();
    log.fact(fact);
    expect(lines).toEqual(text === null ? [] : [['debug', { event: fact.type, ...own }, text]]);
  });

  it('S-3: one that succeeded has one INFO line, with what it spent', () => {
    const { log, lines } = logOf();
    log.fact({ type: 'session.succeeded', turns: 2 });
    const { turns, attempts, requests, toolCalls, tokens, costUsd, tree } = totals;
    const spent = { turns, attempts, requests, toolCalls, tokens, costUsd, tree };
    expect(lines).toEqual([
      ['info', { event: 'session.succeeded', ...own, ...spent }, 'session succeeded after turn 2'],
    ]);
  });

  it('S-6: a logger that throws is told of, and harms nothing', () => {
    const broken = new Error('full');
    const fail = () => {
      throw broken;
    };
    const { log, failures } = logOf(null, { logger: { debug: fail, info: fail, warn: fail, error: fail } });
    log.fact(failed);
    log.fact({ type: 'session.failed', turns: 1, failure: { slugs: ['no_tools'], retryAt: null, detail: null } });
    log.note('info', 'server.said', 'files', 'a');
    log.toolError('look', 'c', 1);
    log.fact({ type: 'turn.started', turn: 1, isLastTurn: false });
    expect(failures).toEqual(Array(5).fill(['logger', broken]));
  });

  it('a line of a level that the logger has not enabled is not made', () => {
    const made: string[] = [];
    const write = (level: string) => () => void made.push(level);
    const levels = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    const metadata = {
      get user(): string {
        throw new Error('it was read');
      },
    };
    const { log, failures } = logOf(null, {
      logger: { ...levels, isLevelEnabled: (level) => level === 'error' },
      metadata,
    });
    log.fact({ type: 'turn.started', turn: 1, isLastTurn: false });
    log.fact(failed);
    log.note('info', 'server.said', 'files', 'a');
    expect([made, failures]).toEqual([[], []]);
  });
});
