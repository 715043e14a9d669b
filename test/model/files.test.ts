import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, type LanguageModel, type ModelMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { defineAgent, PawlError } from '../../src/index.ts';
import { rehearsalModel, startModelServer } from '../../src/testing/index.ts';
import { startStreams } from '../support/conversations.ts';
import { service } from '../support/service.ts';
import { counters, report, run, wireModel } from '../support/session.ts';

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pdf = Buffer.from('%PDF-1.4 one page').toString('base64');
const far = 'https://files.example/cat.png';

const providers: [string, (baseURL: string) => LanguageModel][] = [
  ['Anthropic', (baseURL) => createAnthropic({ baseURL, apiKey: 'k' })('claude-sonnet-4-5')],
  ['OpenAI', (baseURL) => createOpenAI({ baseURL, apiKey: 'k' }).responses('gpt-5')],
  ['OpenAI chat', (baseURL) => createOpenAI({ baseURL, apiKey: 'k' }).chat('gpt-5')],
  ['Google', (baseURL) => createGoogleGenerativeAI({ baseURL, apiKey: 'k' })('gemini-2.5-flash')],
];

const files: [string, Extract<ModelMessage, { role: 'user' }>['content']][] = [
  ['a data: URL of an image', [{ type: 'image', image: `data:image/png;base64,${pixel}` }]],
  [
    'a data: URL of a file',
    [{ type: 'file', data: `data:application/pdf;base64,${pdf}`, mediaType: 'application/pdf' }],
  ],
  ['a data: URL in capitals', [{ type: 'image', image: `DATA:image/png;BASE64,${pixel}` }]],
  [
    'a data: URL with parameters',
    [{ type: 'file', data: `data:image/png;name=a.png;base64,${pixel}`, mediaType: 'image/png' }],
  ],
  ['base64', [{ type: 'image', image: pixel, mediaType: 'image/png' }]],
  ['bytes', [{ type: 'file', data: Buffer.from(pdf, 'base64'), mediaType: 'application/pdf', filename: 'a.pdf' }]],
];
const linked: typeof files = [['a URL that the provider fetches itself', [{ type: 'image', image: new URL(far) }]]];

/** What a request says, without the settings of the call. */
const said = ({ messages, input, contents }: Record<string, unknown>) => messages ?? input ?? contents;

describe('C-6: files go out as the AI SDK sends them', () => {
  const cases = providers.flatMap(([name, model]) =>
    [...files, ...(name === 'Google' ? [] : linked)].map(([what, content]) => [name, what, model, content] as const),
  );
  it.each(cases)('%s: %s', async (_name, _what, model, content) => {
    const messages: ModelMessage[] = [{ role: 'user', content }];
    // The server answers nothing that is a reply: only the requests are compared.
    await using theirs = await startStreams([]);
    await generateText({ model: model(theirs.url), messages, maxRetries: 0 }).catch(() => null);
    await using ours = await startStreams([]);
    const own = model(ours.url);
    if (typeof own === 'string') throw new Error('not a model');
    await run({
      agent: defineAgent({
        name: 'seeing',
        models: [own],
        finish: 'text',
        limits: { maxRetries: 1, maxTurns: 2 },
        settings: { promptCaching: 'off', streaming: false },
      }),
      options: { messages },
    });
    expect(theirs.bodies).toHaveLength(1);
    expect(ours.bodies.slice(0, 1).map(said)).toEqual(theirs.bodies.map(said));
  });
});

describe('files that a model cannot fetch itself', () => {
  const picture = async () =>
    await service((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from(pixel, 'base64'));
    });
  const seen = (url: string) => ({
    messages: [{ role: 'user' as const, content: [{ type: 'image' as const, image: new URL(url) }] }],
  });

  it('are downloaded once, and go out as data', async () => {
    await using server = await picture();
    await using model = await startModelServer([{}, report()]);
    const agent = defineAgent({
      name: 'seeing',
      models: [wireModel('openai', model.url)],
      downloads: { allowPrivate: true },
    });
    const { result } = await run({ agent, options: seen(`${server.url}/cat.png`), requests: model.requests });
    expect(result.success).toBe(true);
    expect(server.received).toHaveLength(1);
    for (const { body } of model.requests) {
      expect(JSON.stringify(body.messages)).toContain(`data:image/png;base64,${pixel}`);
    }
    expect(JSON.stringify(result.conversation)).toContain(`${server.url}/cat.png`);
    expect(JSON.stringify(result.conversation)).not.toContain(pixel);
  });

  it.each([
    ['of this machine, unless that is allowed', {}, 'is not public'],
    ['of a host that is not allowed', { allowPrivate: true, allowedHosts: ['files.example'] }, 'is not allowed'],
    ['that is too large', { allowPrivate: true, maxBytes: 10 }, 'larger than 10 bytes'],
  ])('a file %s is refused before a request, and the next target is asked', async (_what, downloads, reason) => {
    await using server = await picture();
    await using model = await startModelServer([report()]);
    const fetching = rehearsalModel([report('Seen.')]);
    Object.assign(fetching, { supportedUrls: { 'image/*': [/./] } });
    const agent = defineAgent({ name: 'seeing', models: [wireModel('openai', model.url), fetching], downloads });
    const { result } = await run({ agent, options: seen(`${server.url}/cat.png`), requests: model.requests });
    expect(model.requests).toEqual([]);
    expect(result.turns[0]?.attempts[0]?.fault).toMatchObject({ kind: 'invalid_request' });
    expect(result.turns[0]?.attempts[0]?.fault?.message).toContain(reason);
    expect(result.report.content).toBe('Seen.');
    expect(result.counters).toEqual(
      counters({
        cachePrefixBreaks: { target: 1 },
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        notices: 1,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: result.counters.tokens,
        costUsd: null,
        slugs: { invalid_request: 1 },
      }),
    );
  });

  it('S-5: an address that is signed shows its signature to the provider alone', async () => {
    await using server = await service((_request, response) => response.writeHead(404).end());
    const url = `${server.url}/cat.png?X-Amz-Signature=deadbeefcafe`;
    const agent = defineAgent({ name: 'seeing', models: [rehearsalModel([])], downloads: { allowPrivate: true } });
    const { result, lines, events } = await run({ agent, options: seen(url) });
    expect(result.slugs).toContain('invalid_request');
    expect(result.failure?.detail).toContain(`The file ${server.url}/cat.png could not be downloaded: it answered 404`);
    for (const told of [lines, events, result.turns, result.failure, result.report])
      expect(JSON.stringify(told)).not.toContain('deadbeef');
  });

  it('a download that breaks off is a fault of the network, and is tried again', async () => {
    let broken = 0;
    await using server = await service((_request, response) => {
      broken += 1;
      response.writeHead(200, { 'content-type': 'image/png', ...(broken === 1 && { 'content-length': '1000' }) });
      if (broken > 1) response.end(Buffer.from(pixel, 'base64'));
      else response.write('half', () => response.destroy());
    });
    await using model = await startModelServer([report()]);
    const agent = defineAgent({
      name: 'seeing',
      models: [wireModel('openai', model.url)],
      downloads: { allowPrivate: true },
    });
    const { result } = await run({ agent, options: seen(`${server.url}/cat.png`), requests: model.requests });
    expect(result.turns[0]?.attempts[0]?.fault).toMatchObject({
      kind: 'network',
      message: expect.stringContaining(`GET ${server.url}/cat.png failed: `),
    });
    expect([result.success, server.received.length, model.requests.length]).toEqual([true, 2, 1]);
    expect(JSON.stringify(model.requests[0]?.body.messages)).toContain(pixel);
  });

  it("a file in a provider's own cloud goes there by its address, given as a text too", async () => {
    const model = rehearsalModel([report()]);
    Object.assign(model, { supportedUrls: { '*/*': [/^gs:/] } });
    const content = [{ type: 'file' as const, data: 'gs://bucket/a.pdf', mediaType: 'application/pdf' }];
    const agent = defineAgent({ name: 'seeing', models: [model] });
    const { result } = await run({ agent, options: { messages: [{ role: 'user', content }] } });
    expect(result.success).toBe(true);
    expect(model.requests[0]?.prompt.at(-1)?.content).toEqual([
      { type: 'file', mediaType: 'application/pdf', data: { type: 'url', url: new URL('gs://bucket/a.pdf') } },
    ]);
  });

  it.each([
    ['data:text/plain;charset=iso-8859-1,caf%E9', 'text/plain', 'caf\xE9'],
    ['data:image/gif,GIF89a%01%00%80', 'image/gif', 'GIF89a\x01\0\x80'],
    ['data:image/svg+xml;utf8,<svg width="100%"/>', 'image/svg+xml', '<svg width="100%"/>'],
    ['data:text/plain,%E0%A4%A', 'text/plain', '\xE0\xA4%A'],
    ['data:,na%C3%AFve', 'text/plain', 'na\xC3\xAFve'],
    ['data:image/png; base64,iVBORw0KGgo=', 'image/png', '\x89PNG\r\n\x1A\n'],
    ['data:image/png ; base64 ,iVBORw0KGgo=', 'image/png', '\x89PNG\r\n\x1A\n'],
    ['data:text/plain,%4%41%e9%zz%', 'text/plain', '%4A\xE9%zz%'],
    ['data:image/png;base64,iVBO%0ARw0KGgo%3d', 'image/png', '\x89PNG\r\n\x1A\n'],
  ])('the bytes of %s go out as they are', async (url, mediaType, bytes) => {
    const model = rehearsalModel([report()]);
    const { result } = await run({
      agent: defineAgent({ name: 'seeing', models: [model] }),
      options: { messages: [{ role: 'user', content: [{ type: 'file', data: url, mediaType }] }] },
    });
    expect(result.success).toBe(true);
    const data = { type: 'data', data: Buffer.from(bytes, 'latin1').toString('base64') };
    expect(model.requests[0]?.prompt.at(-1)?.content).toEqual([{ type: 'file', mediaType, data }]);
  });

  it.each([
    ['data:image/png;base64', 'it has no comma'],
    ['data:image/png;base64,%%%%', 'it is not base64'],
    ['data:image/png;base64,iVBO=Rw0', 'it is not base64'],
  ])('a malformed data: URL is one invalid_request: %s', async (url, why) => {
    const model = rehearsalModel([report()]);
    const content = [
      { type: 'file' as const, data: { type: 'url', url: new URL(url) } as const, mediaType: 'text/plain' },
    ];
    const { result } = await run({
      agent: defineAgent({ name: 'seeing', models: [model] }),
      options: { messages: [{ role: 'user', content }] },
    });
    expect(model.requests).toEqual([]);
    expect(result.slugs).toContain('invalid_request');
    expect(result.counters.attempts).toBe(1);
    expect(result.turns[0]?.attempts[0]?.fault?.message).toContain(`The data: URL ${url} is malformed: ${why}`);
  });

  it('an unknown option for downloads is refused', () => {
    const define = () => defineAgent({ name: 'a', models: [rehearsalModel([])], downloads: { hosts: [] } as never });
    expect(define).toThrow(PawlError);
    expect(define).toThrow('Unknown option `downloads.hosts`');
  });
});
