import { describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent, runSession } from '../../src/index.ts';
import { arbitraryReply } from '../../src/testing/fast-check.ts';
import {
  assertInvariants,
  brokenPromises,
  journalConformance,
  manualClock,
  pawlMatchers,
  recorded,
  rehearsalModel,
  sessionPaths,
  startModelServer,
} from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

/** Anything, for a caller without types. */
const any = (value: unknown) => value as never;
const resultOf = (script: Parameters<typeof rehearsalModel>[0], own: Partial<AgentDefinition> = {}) =>
  runSession(defineAgent({ name: 'a', models: [rehearsalModel(script)], ...own }), { prompt: 'Go.', logger: false });
const resultOfNone = any({ counters: {}, turns: [] });
const replies = [{ text: 'a' }, { toolCalls: [] }];

describe('helpers for tests refuse what they would otherwise ignore', () => {
  it.each([
    ['`options` must be an object; got null.', () => manualClock(any(null))],
    ['Unknown option `options.now`. Options: start, hold.', () => manualClock(any({ now: 5 }))],
    ['`options.start` must be a time in epoch ms; got "today".', () => manualClock(any({ start: 'today' }))],
    ['`options.hold` must be a boolean; got 1.', () => manualClock(any({ hold: 1 }))],
    ['`ms` must be a number of ms of at least 0; got "5".', () => manualClock().advance(any('5'))],
    ['`ms` must be a number of ms of at least 0; got -1.', () => manualClock().advance(-1)],
    ['`script` must be an array of replies, or a function that returns one', () => rehearsalModel(any({ text: 'a' }))],
    ['Unknown option `script[1].toolCalls`.', () => rehearsalModel(any(replies))],
    ['`script[0]` must be a reply, such as { text } or { calls }; got "a".', () => rehearsalModel(any(['a']))],
    ['`script[0].calls[0].name` is required: a string.', () => rehearsalModel(any([{ calls: [{}] }]))],
    ['`script[0].calls` must be an array of calls; got {}.', () => rehearsalModel(any([{ calls: {} }]))],
    ["`script[0].finishReason` must be one of 'stop', 'length'", () => rehearsalModel([{ finishReason: any('done') }])],
    [
      '`script[0].usage.input` must be a number of tokens; got "5".',
      () => rehearsalModel([{ usage: any({ input: '5' }) }]),
    ],
    [
      '`script[0].delayMs` must be a number of ms from 0 to 2147483647; got "5".',
      () => rehearsalModel([{ delayMs: any('5') }]),
    ],
    ['Unknown option `options.model`. Did you mean `modelId`?', () => rehearsalModel([], any({ model: 'a' }))],
    ['`limits.maxRetries` is required: an integer of at least 1', () => sessionPaths(any({ maxTurns: 2 }))],
    ['`limits.maxTurns` must be an integer of at least 1; got 0.', () => sessionPaths({ maxTurns: 0, maxRetries: 1 })],
    [
      "`options.steps[0]` must be one of 'tool'",
      () => sessionPaths({ maxTurns: 1, maxRetries: 1 }, any({ steps: ['jump'] })),
    ],
    [
      '`options.steps` must be steps, one of them possible without `call`; got ["tool"].',
      () => sessionPaths({ maxTurns: 1, maxRetries: 1 }, { steps: ['tool'] }),
    ],
    ['`options.steps` must be steps,', () => sessionPaths({ maxTurns: 1, maxRetries: 1 }, { steps: [] })],
    ['Unknown option `options.tool`.', () => sessionPaths({ maxTurns: 1, maxRetries: 1 }, any({ tool: {} }))],
    ['`result` must be the result of a session; got {"counters":{}}.', () => brokenPromises(any({ counters: {} }))],
    ['`result` is required: the result of a session.', () => assertInvariants(any(undefined))],
    [
      '`expected` must be an array of arrays of slugs; got 7.',
      () => pawlMatchers.toHaveFailedFor(resultOfNone, any(7)),
    ],
    [
      '`expected[0]` must be an array of slugs; got "budget_exhausted".',
      () => pawlMatchers.toHaveFailedFor(resultOfNone, any(['budget_exhausted'])),
    ],
    ['`result` must be the result of a session; got 7.', () => pawlMatchers.toKeepItsPromises(any(7))],
    ['`result` must be the result of a session; got {}.', () => pawlMatchers.toHaveFailedFor(any({}), [])],
    ['`factory` must be a function; got {}.', () => journalConformance(any({}))],
    ['`test` must be a function; got "test".', () => recorded(any('test'))],
    ['`tools.echo` must be an array of inputs; got "hi".', () => arbitraryReply(any({ echo: 'hi' }))],
  ])('%s', (message, make) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  });

  it('unknown witness fields are refused', async () => {
    const result = await resultOf([report()]);
    expect(() => brokenPromises(result, any({ request: 3 }))).toThrow(
      'Unknown option `witness.request`. Did you mean `requests`? Options: requests, limits.',
    );
    expect(brokenPromises(result, any({ limits: { maxTurns: 10, maxRetries: 3, maxDepth: 2 } }))).toEqual([]);
  });

  it.each([
    [any('a'), '`script` must be an array of responses, or a function that returns one; got "a".'],
    [any([{ statusCode: 429 }]), 'Unknown option `script[0].statusCode`. Did you mean `status`?'],
    [any([{ hangs: true }]), 'Unknown option `script[0].hangs`. Did you mean `hang`?'],
    [any([{ status: '429' }]), '`script[0].status` must be an HTTP status from 200 to 599; got "429".'],
    [any([{ status: 99 }]), '`script[0].status` must be an HTTP status from 200 to 599; got 99.'],
    [any([{ status: 600 }]), '`script[0].status` must be an HTTP status from 200 to 599; got 600.'],
    [any([{ pieceLength: 0 }]), '`script[0].pieceLength` must be an integer of at least 1; got 0.'],
    [any([{ headers: { a: 5 } }]), '`script[0].headers.a` must be a string; got 5.'],
    [
      any([{ cut: { afterBytes: -1, how: 'end' } }]),
      '`script[0].cut.afterBytes` must be an integer of at least 0; got -1.',
    ],
    [any([{ cut: { afterBytes: 1, how: 'now' } }]), "`script[0].cut.how` must be one of 'end', 'reset'"],
    [any([{ hang: 'yes' }]), '`script[0].hang` must be a boolean or { afterBytes }; got "yes".'],
  ])('a model server does, too: %j', async (script, message) => {
    await expect(startModelServer(script)).rejects.toThrow(message);
  });

  it('a function of a model server that fails, or returns no response, is answered with 500 and the reason', async () => {
    const scripts = [
      any(() => ({ statusCode: 429 })),
      any(async () => 'later'),
      () => {
        throw new Error('out of replies');
      },
    ];
    const reasons = ['Unknown option `response.statusCode`', '`response` must be a response', 'out of replies'];
    for (const [index, script] of scripts.entries()) {
      await using server = await startModelServer(script);
      const response = await fetch(`${server.url}/chat/completions`, { method: 'POST', body: '{"messages":[]}' });
      expect([response.status, await response.text()]).toEqual([500, expect.stringContaining(reasons[index] ?? '')]);
    }
  });

  it.each([
    ['a header that cannot be sent', [{ headers: { 'not a name': 'x' } }], '{"messages":[]}', 'not a name'],
    ['a request that is not JSON', [{ text: 'a' }], '{', 'JSON', 400],
  ])('%s is answered with an error and the reason', async (_, script, body, reason, status = 500) => {
    await using server = await startModelServer(script);
    const response = await fetch(`${server.url}/messages`, { method: 'POST', body });
    expect([response.status, await response.json()]).toEqual([
      status,
      { type: 'error', error: { type: 'scripted_error', message: expect.stringContaining(reason) } },
    ]);
  });

  it('functions may be asynchronous', async () => {
    await using server = await startModelServer(async () => ({ status: 429 }));
    expect((await fetch(`${server.url}/messages`, { method: 'POST' })).status).toBe(429);
    const { success, counters } = await resultOf(async () => report());
    expect([success, counters.requests]).toEqual([true, 1]);
  });

  it('a function of a scripted model that returns no reply fails the request with the reason', async () => {
    const { turns, counters } = await resultOf(
      any(() => ({ toolCalls: [] })),
      { limits: { maxRetries: 1 } },
    );
    const [attempt] = turns[0]?.attempts ?? [];
    expect(attempt).toMatchObject({
      status: 'failed',
      fault: { message: expect.stringContaining('Unknown option `reply.toolCalls`') },
    });
    expect(counters).toMatchObject({ requests: 1, attempts: 1 });
  });
});
