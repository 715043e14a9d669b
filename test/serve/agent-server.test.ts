import type { ElicitResult } from '@modelcontextprotocol/client';
import { describe, expect, it, vi } from 'vitest';
import { packageVersion } from '../../src/platform/version.ts';
import { TooManySessions } from '../../src/serve/sessions.ts';
import { asks, connected, delivered, event, helper, type Run } from '../support/agent-client.ts';

describe('what an MCP client sees of an agent', () => {
  it('files of a report as what MCP has for them', async () => {
    const data = 'iVBORw0KGgo=';
    const inline = (mediaType: string, more: object = {}) => ({
      type: 'file',
      mediaType,
      data: { type: 'data', data },
      ...more,
    });
    const content = [
      inline('IMAGE/png'),
      inline('audio/wav'),
      inline('application/pdf', { filename: 'a b\uD800.pdf' }),
      { type: 'file', mediaType: 'text/csv', data: { type: 'text', text: 'a,b' } },
      { type: 'file', mediaType: 'video/mp4', data: { type: 'url', url: 'https://a.example/v' } },
    ];
    const { call } = await connected(() => ({ success: true, report: { format: 'files', content }, slugs: [] }));
    expect(await call()).toEqual({
      content: [
        { type: 'image', data, mimeType: 'image/png' },
        { type: 'audio', data, mimeType: 'audio/wav' },
        {
          type: 'resource',
          resource: { uri: 'report:///3/a%20b%EF%BF%BD.pdf', mimeType: 'application/pdf', blob: data },
        },
        { type: 'resource', resource: { uri: 'report:///4/file%204', mimeType: 'text/csv', text: 'a,b' } },
        { type: 'resource_link', uri: 'https://a.example/v', name: 'file 5', mimeType: 'video/mp4' },
      ],
    });
    const failed = { success: false, report: { format: 'files', content: 'No reply.' }, slugs: ['aborted'] };
    expect(await (await connected(() => failed)).call()).toMatchObject({
      ...{ isError: true, content: [{ type: 'text', text: 'No reply.' }] },
    });
  });

  it('a tool with its name and description that takes a task', async () => {
    const { client } = await connected(() => delivered);
    expect(client.getServerVersion()).toEqual({ name: 'helper', version: packageVersion });
    expect((await client.listTools()).tools).toEqual([
      {
        name: 'helper',
        description: 'Gives a task to the agent helper and returns its report.',
        inputSchema: {
          type: 'object',
          properties: {
            prompt: { type: 'string', minLength: 1, description: 'The task, with everything needed to do it.' },
          },
          required: ['prompt'],
          additionalProperties: false,
        },
      },
    ]);
    const spaced = await connected(() => delivered, { agent: helper({ name: 'A helper: yours' }) });
    expect((await spaced.client.listTools()).tools[0]).toMatchObject({
      name: 'A_helper_yours',
      title: 'A helper: yours',
    });
    expect(await spaced.client.callTool({ name: 'A_helper_yours', arguments: { prompt: 'Go.' } })).toMatchObject({
      content: [{ type: 'text' }],
    });
    const described = await connected(() => delivered, { agent: helper({ description: 'Helps.' }) });
    expect((await described.client.listTools()).tools[0]?.description).toBe('Helps.');
  });

  it.each<[string, object, object]>([
    ['a text', { ...delivered, report: { content: 'So.' } }, { content: [{ type: 'text', text: 'So.' }] }],
    [
      'an object',
      { ...delivered, report: { content: { a: 1 } } },
      { content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } },
    ],
    ['a list', { ...delivered, report: { content: [1] } }, { content: [{ type: 'text', text: '[1]' }] }],
    ['nothing', { ...delivered, report: { content: null } }, { content: [{ type: 'text', text: 'null' }] }],
    [
      'the report of a failure',
      { success: false, report: { content: 'No.' }, slugs: ['aborted'] },
      { content: [{ type: 'text', text: 'No.' }], isError: true, _meta: { slugs: ['aborted'] } },
    ],
  ])('%s as the result of a call', async (_, result, expected) => {
    const { call } = await connected(() => result);
    expect(await call()).toEqual(expected);
  });

  it.each<[string, object, string, RegExp]>([
    ['another tool', { prompt: 'x' }, 'other', /unknown tool other/],
    ['no task', {}, 'helper', /`prompt` is required: a string that is not blank\./],
    ['an empty task', { prompt: '' }, 'helper', /`prompt` must be a string that is not blank; got ""/],
    ['a blank task', { prompt: ' \n' }, 'helper', /`prompt` must be a string that is not blank/],
    ['anything more', { prompt: 'x', model: 'y' }, 'helper', /Unknown option `model`\. Options: prompt\./],
  ])('an error for %s, before anything runs', async (_, input, name, message) => {
    const run = vi.fn(() => delivered);
    const { call } = await connected(run);
    await expect(call(input, name)).rejects.toThrow(message);
    expect(run).not.toHaveBeenCalled();
  });

  it('an error while too many sessions run, and another if one cannot run', async () => {
    const full = await connected(() => {
      throw new TooManySessions(3);
    });
    await expect(full.call()).rejects.toMatchObject({
      code: -32_603,
      message: expect.stringContaining('already runs 3 sessions'),
    });
    const broken = await connected(() => Promise.reject(Object.assign(new Error('Broken.'), { code: -32_050 })));
    await expect(broken.call()).rejects.toMatchObject({ code: -32_050 });
  });

  it('its progress, if it asks for that: attempts, tools, and what the agent says, with the path to it', async () => {
    const given = [
      event({ type: 'attempt.started', turn: 1, attempt: 2 }),
      event({
        type: 'attempt.failed',
        turn: 1,
        attempt: 2,
        slugs: ['rate_limited', 'interrupted'],
        path: ['one', 'two'],
      }),
      event({ type: 'tool.answered', name: 'look', slug: null, callId: 'c' }),
      event({ type: 'turn.started', turn: 2 }),
      event({ type: 'tool.answered', name: 'look', slug: 'tool_timeout', callId: 'd' }),
      event({ type: 'progress.reported', message: 'Half.', path: ['one'] }),
    ];
    const { client, call } = await connected((_, tell) => {
      for (const one of given) tell(one);
      return delivered;
    });
    const texts: unknown[] = [];
    await client.callTool(
      { name: 'helper', arguments: { prompt: 'x' } },
      {
        onprogress: ({ progress, message }) => void texts.push([progress, message]),
      },
    );
    expect(texts).toEqual([
      [1, 'turn 1, attempt 2'],
      [2, 'one > two: turn 1, attempt 2 failed: rate_limited, interrupted'],
      [3, 'look: done'],
      [4, 'look: tool_timeout'],
      [5, 'one: Half.'],
    ]);
    const unasked: unknown[] = [];
    client.setNotificationHandler('notifications/progress', ({ params }) => void unasked.push(params));
    await call();
    expect(unasked).toEqual([]);
  });
});

describe('C-1: an approval that an MCP client is asked for', () => {
  const run: Run = async (_, tell, decided) => {
    tell(asks);
    await decided;
    return delivered;
  };
  const denied = (reason: string) => [['c', { approved: false, reason, sessionId: 's' }]];

  it.each<[string, ElicitResult, unknown]>([
    ['accepts', { action: 'accept', content: { approve: true } }, [['c', { approved: true, sessionId: 's' }]]],
    ['accepts a form that says no', { action: 'accept', content: { approve: false } }, denied('Declined by the user.')],
    ['accepts an empty form', { action: 'accept' }, denied('Declined by the user.')],
    ['declines', { action: 'decline' }, denied('Declined by the user.')],
    ['looks away', { action: 'cancel' }, denied('Dismissed by the user.')],
  ])('is decided as its user %s', async (_, answered, expected) => {
    const seen: unknown[] = [];
    const { call, approvals } = await connected(run, {
      answer: (params) => {
        seen.push(params);
        return answered;
      },
    });
    await call();
    expect(approvals).toEqual(expected);
    expect(seen).toMatchObject([
      {
        message: 'The agent wants to run send with {"to":"me"}.',
        requestedSchema: {
          type: 'object',
          properties: { approve: { type: 'boolean', title: 'Approve', description: 'Run this call?' } },
          required: ['approve'],
        },
      },
    ]);
  });

  it('is denied if it cannot ask, or fails to', async () => {
    const unable = await connected(run);
    await unable.call();
    expect(unable.approvals).toEqual(denied('The MCP client cannot ask a person for approval (elicitation).'));
    const failing = await connected(run, {
      answer: () => {
        throw new Error('No screen.');
      },
    });
    await failing.call();
    expect(failing.approvals).toEqual(denied('The client could not be asked: No screen.'));
  });

  it('is withdrawn when the call was answered otherwise, and only then', async () => {
    const held = Promise.withResolvers<ElicitResult>();
    const asked = Promise.withResolvers<void>();
    const { call, approvals } = await connected(
      async (_, tell, decided) => {
        tell(asks);
        await asked.promise;
        tell(event({ type: 'tool.answered', name: 'send', slug: null, callId: 'other' }));
        await new Promise(setImmediate);
        expect(approvals).toEqual([]);
        tell(event({ type: 'tool.answered', name: 'send', slug: 'approval_timeout', callId: 'c' }));
        await decided;
        return delivered;
      },
      {
        answer: () => {
          asked.resolve();
          return held.promise as never;
        },
      },
    );
    await call();
    expect(approvals).toMatchObject([['c', { approved: false, reason: expect.stringContaining('not be asked') }]]);
    held.resolve({ action: 'cancel' });
  });
});

describe('D-2: the signal of a session that an MCP client asked for', () => {
  it('aborts when the client disconnects, with the reason', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const { call, client, closed } = await connected(({ signal }) => {
      begun.resolve(signal);
      return new Promise(() => {});
    });
    const waiting = call().catch(() => 'gone');
    const signal = await begun.promise;
    expect(signal.aborted).toBe(false);
    await client.close();
    await closed;
    expect([await waiting, signal.aborted, signal.reason]).toEqual(['gone', true, expect.any(Error)]);
  });

  it('aborts when the client of the request vanishes', async () => {
    const vanished = new AbortController();
    const { call } = await connected(
      async ({ signal }) => {
        vanished.abort('lost');
        return { ...delivered, report: { content: `${signal.aborted} ${signal.reason}` } };
      },
      { vanished: vanished.signal },
    );
    expect(await call()).toMatchObject({ content: [{ text: 'true lost' }] });
  });
});
