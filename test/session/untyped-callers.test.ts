import { describe, expect, it } from 'vitest';
import { type AgentDefinition, slice, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { keptLog, report, run, runOverWire } from '../support/session.ts';
import { agentOf, call, echo, finish, modelOf, reported } from '../support/untyped-model.ts';

describe('callers that violate the types', () => {
  const agent = agentOf(rehearsalModel([report()]));
  it.each<[object, string]>([
    [{ signal: null }, '`signal` must be an AbortSignal; got null.'],
    [{ signal: {} }, '`signal` must be an AbortSignal; got {}.'],
    [{ clock: {} }, '`clock` must be a clock: { now, sleepUntil, alarm }; got {}.'],
    [{ logger: 'x' }, '`logger` must be a logger with debug, info, warn and error, or false for none; got "x".'],
    [{ onEvent: 'x' }, '`onEvent` must be a function; got "x".'],
    [{ inspect: 5 }, '`inspect` must be a function; got 5.'],
    [{ onDelivery: 5 }, '`onDelivery` must be a function; got 5.'],
    [{ random: 5 }, '`random` must be a function; got 5.'],
    [{ sessionId: ' ' }, '`sessionId` must be a string that is not blank; got " ".'],
  ])('%s is refused before anything runs', (options, message) => {
    expect(() => startSession(agent, { prompt: 'x', ...options } as never)).toThrow(message);
  });

  it.each<[object, object]>([
    [
      { type: 'image-data', data: 'aGk=', mediaType: 'image/png' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
    ],
    [
      { type: 'file-url', url: 'https://example.com/a.pdf' },
      { type: 'file', mediaType: '*/*', data: { type: 'url', url: 'https://example.com/a.pdf' } },
    ],
    [{ type: 'custom' }, { type: 'text', text: '[unsupported content: custom]' }],
  ])('C-6: an SDK tool result with %o is accepted', async (piece, kept) => {
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 't', input: {} }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'a', toolName: 't', output: { type: 'content', value: [piece] } }],
      },
    ];
    const { result } = await run({ agent, options: { messages: messages as never } });
    expect(result.conversation[2]).toMatchObject({ content: [{ output: { type: 'content', value: [kept] } }] });
  });

  it('C-6: SDK approval parts are dropped, and their call is answered', async () => {
    const messages = [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'a', toolName: 't', input: {} },
          { type: 'tool-approval-request', approvalId: 'p', toolCallId: 'a' },
        ],
      },
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'p', approved: true }] },
    ];
    const { result } = await run({
      agent: agentOf(rehearsalModel([report()])),
      options: { messages: messages as never },
    });
    expect(result.conversation.slice(1, 3)).toMatchObject([
      { role: 'assistant', content: [{ type: 'tool-call' }] },
      { role: 'tool', content: [{ output: { type: 'error-text', value: expect.stringContaining('interrupted') } }] },
    ]);
  });

  it.each([
    ['an error', new Error('boom'), 'boom'],
    ['an object without a string form', Object.create(null), '{}'],
  ])('S-3: an abort with %s as its reason logs one INFO line', async (_, reason, said) => {
    const { lines, logger } = keptLog();
    const hanging = agentOf(rehearsalModel([{ hangs: true }]));
    const session = startSession(hanging, { prompt: 'x', logger });
    session.abort(reason as never);
    const result = await session.result;
    expect(result.failure?.detail).toBe(said);
    expect(lines.filter(({ level }) => level >= 30).map(({ level }) => level)).toEqual([30]);
  });

  const never = () => new Promise<never>(() => undefined);
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const odd = {
    name: 'odd',
    description: '',
    contentSchema: {},
    validate: never,
    parseText: () => ({ ok: false, reasons: '' }) as const,
  };
  it.each<[string, Partial<AgentDefinition>]>([
    ['a policy', { toolPolicies: [never], tools: { echo } }],
    ['the instructions function', { instructions: never }],
    ['a report validator', { report: { format: odd } }],
  ])('D-2: an abort while %s hangs leaves no timer behind', async (_, over) => {
    const before = timers();
    const model = modelOf([over.tools === undefined ? reported('done') : call('echo'), finish]);
    const session = startSession(agentOf(model, over), { prompt: 'x', logger: keptLog().logger });
    await new Promise((resolve) => setTimeout(resolve, 30));
    session.abort();
    expect((await session.result).status).toBe('aborted');
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it('rejections in slices and observers are reported and break nothing', async () => {
    const late = () => Promise.reject(new Error('late'));
    const { result, events } = await runOverWire({
      script: [report()],
      definition: { slices: { folded: slice(0, late as never) } },
      options: { inspect: late as never, onDelivery: late as never },
    });
    expect(result.success).toBe(true);
    expect(result.slices).toEqual({ folded: 0 });
    const failed = events.flatMap((event) => (event.type === 'observer.failed' ? [event.observer] : []));
    expect(new Set(failed)).toEqual(new Set(['slice folded', 'inspect', 'onDelivery']));
  });
});
