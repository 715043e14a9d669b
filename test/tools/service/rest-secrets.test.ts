import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type RestToolOptions, restTool } from '../../../src/index.ts';
import { rehearsalModel } from '../../../src/testing/index.ts';
import { service } from '../../support/service.ts';
import { report, run } from '../../support/session.ts';

const key = 'zebra/Quokka-4711=';
type Made = { execute(input: object, context: object): Promise<unknown> };
const made = (more: object) =>
  restTool({ method: 'GET', url: '', input: z.object({}), allowPrivate: true, ...more } as RestToolOptions);
const answerOf = (more: object) =>
  (made(more) as unknown as Made).execute({}, {}).then(
    (value) => JSON.stringify(value),
    (error) => JSON.stringify([error.message, error.data ?? error.value ?? { ...error }]),
  );

describe('S-5: the credentials of a REST tool', () => {
  const escaped = (text: string) => JSON.stringify(text).replaceAll('/', '\\/').replaceAll('=', '\\u003d');
  const json = { 'content-type': 'application/json' };

  it.each([200, 400])('are removed from an answer that writes them with escapes, with status %s', async (status) => {
    await using server = await service((request, response) => {
      response.writeHead(status, json).end(`{"called":${escaped(String(request.headers.authorization))}}`);
    });
    const said = await answerOf({ url: server.url, auth: { bearer: key } });
    expect(said).toContain('[redacted]');
    expect(said).not.toContain('Quokka');
  });

  it.each([200, 400])('are not cut in two with an answer that is too long, with status %s', async (status) => {
    await using server = await service((_, response) => {
      response.writeHead(status, { 'content-type': 'text/plain' }).end(`${'x'.repeat(90)}${key}${'y'.repeat(90)}`);
    });
    for (let maxBytes = 88; maxBytes < 112; maxBytes += 1) {
      const said = await answerOf({ url: server.url, auth: { bearer: key }, maxBytes });
      expect(said).toContain('truncated');
      expect(said).not.toContain('zebra');
    }
  });

  it('are removed from text that is no whole JSON, whichever of two comes first', async () => {
    const longer = `${key}-and-its-longer-end`;
    for (const type of ['text/plain', 'application/x-ndjson', 'application/json']) {
      await using server = await service((_, response) => {
        response.writeHead(200, { 'content-type': type }).end(`{"a":${escaped(longer)}}\n{"b":${escaped(key)}}`);
      });
      const headers = { 'x-api-key': longer };
      const said = await answerOf({ url: server.url, auth: { bearer: key }, headers });
      expect(said).not.toMatch(/Quokka|longer/);
    }
  });

  it('are not cut in the middle of a character', async () => {
    const accented = 'sécrèt-key-né-1';
    await using server = await service((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`${'x'.repeat(9)}${accented}${'y'.repeat(90)}`);
    });
    for (let maxBytes = 10; maxBytes < 28; maxBytes += 1)
      expect(await answerOf({ url: server.url, auth: { bearer: accented }, maxBytes })).not.toMatch(/s[é\uFFFD]|key/);
  });

  it('are what has the name of one: other headers and fields of the URL stay', async () => {
    await using server = await service((_, response) => response.end('2024-10-01-preview of france'));
    const headers = { 'x-version': '2024-10-01-preview' };
    const url = `${server.url}/?api-version=2024-10-01-preview&code=france`;
    expect(await answerOf({ url, headers })).toBe('"2024-10-01-preview of france"');
  });

  it.each<[string, (url: string) => object]>([
    ['auth', (url) => ({ url, auth: { bearer: key } })],
    ['fixed headers', (url) => ({ url, headers: { 'x-api-key': key } })],
    ['the query of the URL', (url) => ({ url: `${url}/list?api_key=${encodeURIComponent(key)}` })],
  ])('in %s are secrets of every session of the agent', async (_, options) => {
    await using server = await service((request, response) => {
      const { authorization, 'x-api-key': apiKey } = request.headers;
      response.end(JSON.stringify([request.url, authorization, apiKey]));
    });
    // Another tool returns it, and the model repeats it.
    const leak = tool({ inputSchema: z.object({}), execute: () => ({ config: key }) });
    const models = [
      rehearsalModel(({ prompt }) =>
        prompt.some(({ role }) => role === 'tool')
          ? report(`It is ${key}.`)
          : { calls: [{ name: 'rest' }, { name: 'leak' }] },
      ),
    ];
    // A copy of the tool has them too.
    const tools = { rest: Object.assign({}, made(options(server.url))), leak };
    const agent = defineAgent({ name: 'calling', models, tools });
    const { result, events, lines } = await run({ agent });
    expect(result).toMatchObject({ success: true, report: { content: 'It is [redacted].' } });
    expect(JSON.stringify([events, lines])).not.toContain('Quokka');
  });
});
