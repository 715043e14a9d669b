import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type SessionEvent, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { lastEventId, partialReport, toEventStreamResponse } from '../../src/ui/index.ts';

const logger = false as const;

/** Reads server-sent events as a page without the SDK does. */
async function eventsOf(
  body: ReadableStream<Uint8Array>,
): Promise<{ id: number; event: string; data: SessionEvent }[]> {
  const text = await new Response(body).text();
  return text
    .trim()
    .split('\n\n')
    .map((block) => {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2)));
      return { id: Number(fields.id), event: String(fields.event), data: JSON.parse(String(fields.data)) };
    });
}

describe('S-6: events over HTTP', () => {
  it('come as server-sent events, and continue after the last that a reader has seen', async () => {
    const model = rehearsalModel([{ text: '' }, { text: 'It is\n\nhere.' }]);
    const agent = defineAgent({ name: 'sse', models: [model], finish: 'text' });
    const session = startSession(agent, { prompt: 'Where?', logger });
    const server = createServer((request, response) => {
      const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
      const from = lastEventId(new Request('http://localhost', { headers }));
      const { status, headers: own, body } = toEventStreamResponse(session, { from, headers: { 'x-own': 'yes' } });
      response.writeHead(status, Object.fromEntries(own));
      if (body !== null) Readable.fromWeb(body as never).pipe(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answer = await fetch(url);
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(answer.headers.get('x-own')).toBe('yes');
    const all = await eventsOf(answer.body as ReadableStream<Uint8Array>);
    const known: SessionEvent[] = [];
    for await (const event of session.events) known.push(event);
    expect(all.map(({ data }) => data)).toEqual(JSON.parse(JSON.stringify(known)));
    expect(all.map(({ id, event }) => [id, event])).toEqual(known.map(({ seq, type }) => [seq, type]));
    const seen = all[5]?.id ?? 0;
    const rest = await fetch(url, { headers: { 'last-event-id': String(seen) } });
    expect(await eventsOf(rest.body as ReadableStream<Uint8Array>)).toEqual(all.slice(6));
    server.close();
  });

  it('a reader that leaves stops nothing', async () => {
    const agent = defineAgent({ name: 'left', models: [rehearsalModel([{ text: 'Here.' }])], finish: 'text' });
    const session = startSession(agent, { prompt: 'Where?', logger });
    const reader = toEventStreamResponse(session).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect((await session.result).success).toBe(true);
  });

  it('a position in a header that is none counts as none', () => {
    const of = (value: string) => lastEventId(new Request('http://localhost', { headers: { 'last-event-id': value } }));
    expect(['12', '-1', 'x', '1.5'].map(of)).toEqual([12, 0, 0, 0]);
  });
});

describe('F-5: a report as it grows', () => {
  const schema = z.object({ title: z.string(), steps: z.array(z.object({ text: z.string() })) });

  it('has what has come so far, and in the end the accepted report', async () => {
    const content = { title: 'A plan', steps: [{ text: 'First, look.' }, { text: 'Then, leap.' }] };
    const model = rehearsalModel([{ calls: [{ name: 'final_report', input: { content } }] }]);
    // The wire sends a call in many pieces.
    const whole = model.doStream.bind(model);
    model.doStream = async (options) => {
      const { stream, ...rest } = await whole(options);
      return { ...rest, stream: stream.pipeThrough(inPieces()) };
    };
    const agent = defineAgent({ name: 'grows', models: [model], report: { format: 'json', schema } });
    const session = startSession(agent, { prompt: 'Plan.', logger });
    const grown: unknown[] = [];
    for await (const report of partialReport(session)) {
      expectTypeOf(report.title).toEqualTypeOf<string | undefined>();
      grown.push(report);
    }
    const result = await session.result;
    expect(grown.at(-1)).toEqual(content);
    expect(result.report.content).toEqual(content);
    expect(grown.length).toBeGreaterThan(10);
    const texts = grown.map((one) => ((one as typeof content).steps ?? []).map(({ text }) => text));
    expect(texts.some(([first, second]) => first === 'First, look.' && second !== 'Then, leap.')).toBe(true);
    for (const one of grown)
      expect(content.title.startsWith(String((one as { title?: string }).title ?? ''))).toBe(true);
  });

  it('of what is no session is refused', () => {
    for (const odd of [{}, null, { eventsFrom: () => [] }])
      expect(() => partialReport(odd as never)).toThrow('`session` must be a session; got');
  });

  it('that is rejected begins again; a session that fails ends it', async () => {
    const model = rehearsalModel([
      { calls: [{ name: 'final_report', input: { content: { title: 'Wrong', steps: 'none' } } }] },
      { calls: [{ name: 'final_report', input: { content: { title: 'Right', steps: [] } } }] },
    ]);
    const agent = defineAgent({ name: 'again', models: [model], report: { format: 'json', schema } });
    const titles: unknown[] = [];
    for await (const { title } of partialReport(startSession(agent, { prompt: 'Plan.', logger }))) titles.push(title);
    expect(titles).toEqual(['Wrong', 'Right', 'Right']);
    // In one reply, the first is longer.
    const calls = ['Wrong, and long besides', 'Right'].map((title) => ({
      name: 'final_report',
      input: { content: { title, steps: title === 'Right' ? [] : 'none' } },
    }));
    const both = defineAgent({
      name: 'both',
      models: [rehearsalModel([{ calls }])],
      report: { format: 'json', schema },
    });
    const seen: unknown[] = [];
    for await (const { title } of partialReport(startSession(both, { prompt: 'Plan.', logger }))) seen.push(title);
    expect(seen).toEqual(['Wrong, and long besides', 'Right', 'Right']);
    const failing = defineAgent({ name: 'fails', models: [rehearsalModel([{}])], limits: { maxRetries: 1 } });
    const none: unknown[] = [];
    for await (const report of partialReport(startSession(failing, { prompt: 'Plan.', logger }))) none.push(report);
    expect(none).toEqual([]);
  });
});

/** Cuts the deltas of a stream into single characters. */
function inPieces<Part extends { type: string }>() {
  return new TransformStream<Part, Part>({
    transform(part, controller) {
      if (!('delta' in part) || typeof part.delta !== 'string') controller.enqueue(part);
      else for (const delta of part.delta) controller.enqueue({ ...part, delta });
    },
  });
}
