import { InvalidPromptError, type LanguageModelV4 } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../machines/index.ts';
import { NamedFiles } from '../../src/model/prompt/files.ts';
import { service } from '../support/service.ts';

const signal = new AbortController().signal;
const modelFor = (supportedUrls: Record<string, RegExp[]> = {}) => ({ supportedUrls }) as unknown as LanguageModelV4;
const nothing = modelFor();
const file = (url: string, mediaType = 'image/png', more: object = {}) =>
  ({ type: 'file', mediaType, data: { type: 'url', url }, ...more }) as const;
const user = (...content: object[]) => ({ role: 'user', content }) as Message;
const tool = (...value: object[]) =>
  ({
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'c', toolName: 't', output: { type: 'content', value } }],
  }) as Message;
const sent = (mediaType: string, text: string) => ({
  type: 'file',
  mediaType,
  data: { type: 'data', data: Buffer.from(text).toString('base64') },
});
const bytes = 'bytes';

/** A service that answers each path with its status, in turn, and then 200. */
async function files(statuses: Record<string, number[]> = {}, type = 'image/webp; q=1') {
  return service(({ url }, response) => {
    const status = statuses[url.split('?')[0] ?? '']?.shift() ?? 200;
    response.writeHead(status, { 'content-type': type }).end(bytes);
  });
}
const own = (more: object = {}) => new NamedFiles({ allowPrivate: true, ...more });

describe('C-6: data: URLs', () => {
  it.each<[string, string, string, object]>([
    ['base64', 'data:image/gif;base64,QUI=', 'image/png', sent('image/png', 'AB')],
    ['base64 of any image', 'data:image/gif;base64,QUI=', 'image/*', sent('image/gif', 'AB')],
    ['base64 without a type', 'data:;base64,QUI=', '', sent('text/plain', 'AB')],
    [
      'base64 with a name, in capitals, with spaces',
      'DATA:image/gif;name=a;BASE64,QU I%3D',
      '*/*',
      sent('image/gif', 'AB'),
    ],
    ['text', 'data:text/html,a%20b', 'text/*', sent('text/html', 'a b')],
    ['text with a charset', 'data:text/html;charset=utf-8,ä', 'text/*', sent('text/html', 'ä')],
    ['nothing', 'data:,', 'text/plain', sent('text/plain', '')],
    ['a sign that begins no escape', 'data:text/plain,%', 'text/plain', sent('text/plain', '%')],
  ])('%s', async (_, url, mediaType, expected) => {
    const named = own();
    await named.prepare(nothing, [user(file(url, mediaType))], signal);
    expect(named.resolved(file(url, mediaType))).toEqual(expected);
  });

  it('without a comma, from a user, is refused', async () => {
    const url = 'data:image/png;base64';
    const refused = own().prepare(nothing, [user(file(url))], signal);
    await expect(refused).rejects.toBeInstanceOf(InvalidPromptError);
    await expect(own().prepare(nothing, [user(file(url))], signal)).rejects.toThrow(
      `The data: URL ${url} is malformed: it has no comma`,
    );
  });

  it('a malformed one from a tool or a model becomes a text that names its beginning', async () => {
    const url = `data:image/png;base64${'x'.repeat(100)}`;
    for (const message of [tool(file(url)), { role: 'assistant', content: [file(url)] } as Message]) {
      const named = own();
      await named.prepare(nothing, [message], signal);
      expect(named.resolved(file(url))).toEqual({
        type: 'text',
        text: `[image/png: The data: URL ${url.slice(0, 60)} is malformed: it has no comma]`,
      });
    }
  });
});

describe('C-6: URLs that a model cannot fetch', () => {
  it('are downloaded once, from wherever they are named', async () => {
    await using web = await files();
    const url = (name: string) => `${web.url}/${name}`;
    const named = own();
    const messages = [
      user(file(url('a')), { type: 'text', text: url('no') }),
      tool(file(url('a'), 'image/*'), { type: 'text', text: 'x' }, file(url('b'), '')),
    ];
    await named.prepare(nothing, messages, signal);
    await named.prepare(nothing, messages, signal);
    messages.push(user({ ...file(url('c')), filename: 'c.png' }));
    await named.prepare(nothing, messages, signal);
    expect(web.received.map((one) => one.url).toSorted()).toEqual(['/a', '/b', '/c']);
    expect(named.resolved(file(url('a')))).toEqual(sent('image/png', bytes));
    expect(named.resolved(file(url('a'), 'image/*'))).toEqual(sent('image/webp', bytes));
    expect(named.resolved(file(url('b'), ''))).toEqual(sent('image/webp', bytes));
    expect(named.resolved({ ...file(url('c')), filename: 'c.png' })).toEqual({
      ...sent('image/png', bytes),
      filename: 'c.png',
    });
    const unknown = file(url('d'));
    expect(named.resolved(unknown)).toBe(unknown);
    const data = { ...unknown, data: { type: 'data', data: 'AA' } } as const;
    expect(named.resolved(data)).toBe(data);
  });

  it('the type is the given one if the service names none', async () => {
    await using web = await files({}, ' ; q=1');
    const named = own();
    await named.prepare(nothing, [user(file(`${web.url}/a`, 'image/*'))], signal);
    expect(named.resolved(file(`${web.url}/a`, 'image/*'))).toEqual(sent('image/*', bytes));
  });

  it('none of a model itself, of another output, or of no file', async () => {
    const messages = [
      { role: 'assistant', content: [file('https://provider.example/own'), { type: 'text', text: 'x' }] },
      tool({ type: 'text', text: 'x' }),
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c',
            toolName: 't',
            output: { type: 'json', value: [file('https://x.example/a')] },
          },
        ],
      },
      user({ type: 'text', text: 'x' }),
    ] as Message[];
    expect(own().prepare(nothing, messages, signal)).toBeNull();
  });

  it.each<[string, Record<string, RegExp[]>, number]>([
    ['that matches', { 'image/png': [/nothing/, /^http:/] }, 0],
    ['whose family matches', { 'image/*': [/^http:/] }, 0],
    ['that matches all', { '*/*': [/^http:/] }, 0],
    ['that matches all, shortly', { '*': [/^http:/] }, 0],
    ['whose type differs', { 'image/jpeg': [/^http:/] }, 1],
    ['whose address differs', { 'image/png': [/^https:/] }, 1],
    ['without addresses', { 'image/png': [] }, 1],
  ])('what the model fetches itself, by a rule %s: %#', async (_, supported, downloads) => {
    await using web = await files();
    const named = own();
    const one = file(`${web.url}/a`);
    await named.prepare(modelFor(supported), [user(one)], signal);
    expect(web.received).toHaveLength(downloads);
    expect(named.resolved(one)).toEqual(downloads === 0 ? one : sent('image/png', bytes));
  });
});

describe('C-6: downloads that fail', () => {
  it.each([
    [400, true],
    [404, true],
    [429, false],
    [500, false],
    [503, false],
  ])("a user's file: status %i is a bad request: %j", async (status, isBad) => {
    await using web = await files({ '/a': [status, status] });
    const named = own();
    const prepare = () => named.prepare(nothing, [user(file(`${web.url}/a?sig=hidden`))], signal);
    const error: unknown = await prepare()?.catch((thrown) => thrown);
    expect(InvalidPromptError.isInstance(error)).toBe(isBad);
    const { message } = error as Error;
    expect(message).toContain(`The file ${web.url}/a could not be downloaded: it answered ${status}`);
    expect(message).not.toContain('hidden');
    await expect(prepare()).rejects.toThrow('could not be downloaded');
    // It may be there later.
    await prepare();
    expect(named.resolved(file(`${web.url}/a?sig=hidden`))).toEqual(sent('image/png', bytes));
  });

  it("a tool's file: what may pass is tried once more, then a text stands for it, and it is not asked for again", async () => {
    await using web = await files({ '/busy': [503, 503], '/gone': [404], '/slow': [503] });
    const [busy, gone, slow] = ['busy', 'gone', 'slow'].map((name) => file(`${web.url}/${name}`));
    const prepare = (named: NamedFiles, one: object | undefined) => named.prepare(nothing, [tool(one ?? {})], signal);
    const named = { busy: own(), gone: own(), slow: own() };
    await prepare(named.gone, gone);
    await expect(prepare(named.busy, busy)).rejects.toThrow('it answered 503');
    await expect(prepare(named.slow, slow)).rejects.toThrow('it answered 503');
    for (const one of [1, 2])
      await Promise.all([prepare(named.busy, busy), prepare(named.slow, slow), prepare(named.gone, gone), one]);
    const text = (name: string, status: number) => ({
      type: 'text',
      text: `[image/png: The file ${web.url}/${name} could not be downloaded: it answered ${status}]`,
    });
    expect(named.busy.resolved(file(`${web.url}/busy`))).toEqual(text('busy', 503));
    expect(named.gone.resolved(file(`${web.url}/gone`))).toMatchObject({ type: 'text', text: text('gone', 404).text });
    expect(named.slow.resolved(file(`${web.url}/slow`))).toEqual(sent('image/png', bytes));
    expect(web.received.map((one) => one.url).toSorted()).toEqual(['/busy', '/busy', '/gone', '/slow', '/slow']);
  });

  it('a model that fetches the file itself is sent its address, whatever failed before', async () => {
    await using web = await files({ '/gone': [404] });
    const gone = file(`${web.url}/gone`);
    const named = own();
    await named.prepare(nothing, [tool(gone)], signal);
    expect(named.resolved(gone)).toMatchObject({ type: 'text' });
    await named.prepare(modelFor({ '*': [/./] }), [tool(gone)], signal);
    expect(named.resolved(gone)).toBe(gone);
    await named.prepare(nothing, [tool(gone)], signal);
    expect(named.resolved(gone)).toMatchObject({ type: 'text' });
    expect(web.received).toHaveLength(1);
  });

  it('files that are too large, and addresses that are private, are refused', async () => {
    await using web = await files();
    const prepare = (policy: object) => new NamedFiles(policy).prepare(nothing, [user(file(`${web.url}/a`))], signal);
    const refused = (reason: string) =>
      expect.objectContaining({ message: expect.stringContaining(`${web.url}/a could not be downloaded: ${reason}`) });
    await expect(prepare({ allowPrivate: true, maxBytes: 4 })).rejects.toEqual(refused('it is larger than 4 bytes'));
    await expect(prepare({})).rejects.toBeInstanceOf(InvalidPromptError);
    expect(web.received).toHaveLength(1);
  });

  it('an abort ends a download, and is no failure of the file', async () => {
    const controller = new AbortController();
    await using web = await service(() => controller.abort(new Error('stopped')));
    const gone = file(`${web.url}/a`);
    const named = own();
    await expect(named.prepare(nothing, [tool(gone)], controller.signal)).rejects.toThrow();
    expect(named.resolved(gone)).toBe(gone);
  });
});
