import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { StatelyInspectionEvent } from '@statelyai/inspect';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createActor, createMachine, type InspectionEvent } from 'xstate';
import { z } from 'zod';
import { defineAgent, PawlError } from '../../src/index.ts';
import { statelyInspector } from '../../src/inspect/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freePort } from '../support/free-port.ts';
import { report, run, runOverWire } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

const text = z.string();
const base = { sessionId: text, rootId: text, createdAt: text, _version: text };
const snapshot = z.looseObject({ status: z.enum(['active', 'done', 'error', 'stopped']) });
const event = z.looseObject({ type: text });
/** A schema for the package's own types. */
const schema = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('@xstate.actor'),
    name: text,
    definition: text,
    parentId: text.optional(),
    snapshot,
    ...base,
  }),
  z.looseObject({ type: z.literal('@xstate.event'), event, sourceId: text.optional(), ...base }),
  z.looseObject({ type: z.literal('@xstate.snapshot'), event, snapshot, ...base }),
]) satisfies z.ZodType<unknown>;

describe('the Stately inspector', () => {
  it('lets any machine of the user run, whatever its context holds', async () => {
    const port = await freePort();
    const inspector = await statelyInspector({ port });
    const circle: Record<string, unknown> = { big: 1n };
    circle.own = circle;
    const actor = createActor(createMachine({ context: { circle, big: 2n }, initial: 'on', states: { on: {} } }), {
      inspect: inspector.inspect,
    });
    actor.start();
    expect(actor.getSnapshot().value).toBe('on');
    actor.stop();
    inspector.stop();
  });

  it('S-5: its relay receives every session state and the actor hierarchy, without bodies or secrets', async () => {
    const port = await freePort();
    const inspector = await statelyInspector({ port, secrets: ['open-sesame'] });
    const client = new WebSocket(`ws://127.0.0.1:${port}`);
    const received: StatelyInspectionEvent[] = [];
    client.on('message', (data) => received.push(JSON.parse(String(data))));
    await once(client, 'open');
    const seen: InspectionEvent[] = [];
    const { result } = await runOverWire({
      script: [{}, { ...searchCall, text: `open-sesame sk-abcdefghijklmnop1 ${'long '.repeat(500)}` }, report()],
      definition: { tools: { search } },
      options: {
        inspect: (inspected) => {
          seen.push(inspected);
          inspector.inspect(inspected);
        },
      },
    });
    expect(result.success).toBe(true);
    const count = (type: string) => seen.filter((inspected) => inspected.type === type).length;
    await expect
      .poll(() => received.filter(({ type }) => type === '@xstate.snapshot').length)
      .toBe(count('@xstate.snapshot'));
    for (const one of received) expect(schema.safeParse(one).error).toBeUndefined();

    const actors = received.filter((one) => one.type === '@xstate.actor');
    const names = new Map(actors.map((actor) => [actor.sessionId, actor.name]));
    const paths = actors.map((actor) => {
      const path = [actor.name];
      for (
        let parent = actor.parentId;
        parent !== undefined;
        parent = actors.find((one) => one.sessionId === parent)?.parentId
      ) {
        path.unshift(names.get(parent) ?? '?');
      }
      return path.join(' > ');
    });
    expect(paths).toEqual(
      expect.arrayContaining([
        'session',
        'session > prepare',
        'session > turn 1 > attempt 1 > model',
        'session > turn 1 > attempt 2 > tool.0 search',
        'session > turn 2 > attempt 1 > model',
        'session > close',
      ]),
    );
    const states = received.flatMap((one) =>
      one.type === '@xstate.snapshot' && names.get(one.sessionId) === 'session'
        ? [JSON.stringify((one.snapshot as { value?: unknown }).value)]
        : [],
    );
    const real = seen.flatMap((one) =>
      one.type === '@xstate.snapshot' && (one.actorRef as { _parent?: unknown })._parent === undefined
        ? [JSON.stringify((one.snapshot as { value?: unknown }).value)]
        : [],
    );
    expect(states).toEqual(real);
    const everything = JSON.stringify(received);
    for (const secret of ['open-sesame', 'sk-abcdefghijklmnop1', 'long '.repeat(60)])
      expect(everything).not.toContain(secret);
    client.close();
    inspector.stop();
  });

  it('sessions and sub-agents have separate roots', async () => {
    const port = await freePort();
    const inspector = await statelyInspector({ port });
    const client = new WebSocket(`ws://127.0.0.1:${port}`);
    const roots = new Set<string>();
    client.on('message', (data) => roots.add(JSON.parse(String(data)).rootId));
    await once(client, 'open');
    const child = defineAgent({ name: 'child', models: [rehearsalModel([report()])] });
    const ask = { calls: [{ name: 'child', input: { prompt: 'x', reason: 'y' } }] };
    const agent = defineAgent({ name: 'parent', models: [rehearsalModel([ask, report()])], agents: { child } });
    await run({ agent, options: { inspect: inspector.inspect } });
    await expect.poll(() => roots.size).toBe(2);
    client.close();
    inspector.stop();
  });

  it('a page that is opened late has every actor of the latest trees, announced, where it stands now', async () => {
    const port = await freePort();
    const inspector = await statelyInspector({ port });
    const early: StatelyInspectionEvent[] = [];
    const listening = async (received: StatelyInspectionEvent[]) => {
      const client = new WebSocket(`ws://127.0.0.1:${port}`);
      client.on('message', (data) => received.push(JSON.parse(String(data))));
      await once(client, 'open');
      return client;
    };
    const first = await listening(early);
    // Long enough that a list of messages would have lost its beginning.
    const script = [...Array.from({ length: 9 }, (_, number) => ({ ...searchCall, text: `${number}` })), report()];
    await runOverWire({ script, definition: { tools: { search } }, options: { inspect: inspector.inspect } });
    const actors = (all: StatelyInspectionEvent[]) =>
      all.flatMap((one) => (one.type === '@xstate.actor' ? [one.sessionId] : []));
    await expect.poll(() => JSON.stringify(early.at(-1))).toContain('"status":"done"');
    expect(early.length).toBeGreaterThan(200);
    const late: StatelyInspectionEvent[] = [];
    const second = await listening(late);
    await expect.poll(() => actors(late).length).toBe(actors(early).length);
    expect(new Set(actors(late))).toEqual(new Set(actors(early)));
    const lastOf = (all: StatelyInspectionEvent[], id: string) =>
      JSON.stringify(all.findLast((one) => one.type === '@xstate.snapshot' && one.sessionId === id));
    await expect.poll(() => actors(early).filter((id) => lastOf(early, id) !== lastOf(late, id))).toEqual([]);
    for (const client of [first, second]) client.close();
    inspector.stop();
  });

  it('an inspector that throws is reported once and breaks nothing', async () => {
    const { result, events } = await runOverWire({
      script: [report()],
      options: {
        inspect: () => {
          throw new Error('no');
        },
      },
    });
    expect(result.success).toBe(true);
    expect(events.filter((one) => one.type === 'observer.failed')).toHaveLength(1);
  });

  it('an inspector that is stopped immediately lets its process exit', async () => {
    const script = `
      import { statelyInspector } from './src/inspect/index.ts';
      (await statelyInspector({ port: ${await freePort()} })).stop();`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(10_000) });
    expect(code).toBe(0);
  }, 15_000);

  it('a port in use is refused with a PawlError', async () => {
    const server = createServer().listen(0);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await expect(statelyInspector({ port })).rejects.toThrow(PawlError);
    server.close();
  });
});

describe('the relay', () => {
  const connect = async (url: string, headers: Record<string, string>) => {
    const client = new WebSocket(url, { headers });
    const got: string[] = [];
    client.on('message', (data) => got.push(String(data)));
    const opened = await once(client, 'open').then(
      () => true,
      () => false,
    );
    return { client, got, opened };
  };

  it('S-5: listens on loopback, and answers no page of another origin or name', async () => {
    const inspector = await statelyInspector({ port: 0, origins: ['https://tools.example'] });
    const address = inspector.address ?? '';
    const socket = address.replace('http:', 'ws:');
    expect(new URL(address).hostname).toBe('127.0.0.1');
    await runOverWire({ script: [report()], options: { inspect: inspector.inspect } });
    for (const [origin, may] of [
      ['https://stately.ai', true],
      ['http://localhost:3000', true],
      ['https://tools.example', true],
      ['https://evil.example', false],
      ['http://127.0.0.1.evil.example', false],
      ['null', false],
    ] as const) {
      const { client, got, opened } = await connect(socket, { origin });
      expect([origin, opened]).toEqual([origin, may]);
      if (may) await expect.poll(() => got.length).toBeGreaterThan(10);
      client.terminate();
    }
    const renamed = await connect(socket, { host: 'evil.example' });
    expect(renamed.opened).toBe(false);
    renamed.client.terminate();
    const other = networkInterfaces();
    const outside = Object.values(other).flatMap(
      (some) => some?.find((one) => !one.internal && one.family === 'IPv4') ?? [],
    )[0];
    if (outside !== undefined) {
      await expect(fetch(`http://${outside.address}:${new URL(address).port}`)).rejects.toThrow('fetch failed');
    }
    const page = await fetch(address);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('https://stately.ai/inspect');
    inspector.stop();
  });

  it('S-5: removes the secrets of the agents that it sees', async () => {
    const inspector = await statelyInspector({ port: 0 });
    await runOverWire({
      script: [{ text: 'plum-harbor-lane' }, report()],
      definition: { secrets: ['plum-harbor-lane'] },
      options: { inspect: inspector.inspect },
    });
    const { client, got } = await connect((inspector.address ?? '').replace('http:', 'ws:'), {});
    await expect.poll(() => got.length).toBeGreaterThan(10);
    expect(got.join()).not.toContain('plum-harbor-lane');
    client.terminate();
    inspector.stop();
  });
});
