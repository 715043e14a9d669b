import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../src/testing/index.ts';
import { connectionTo, runOf } from '../../support/mcp-connection.ts';
import { listed, ScriptedServer, silence } from '../../support/scripted-server.ts';

const said = (text: string, more: object = {}) => ({ content: [{ type: 'text', text }], ...more });

describe('C-1: a call of a server', () => {
  const withCall = (answer: unknown) =>
    new ScriptedServer({ 'tools/list': { tools: [listed('a')] }, 'tools/call': answer });

  it('sends the name and the input, and returns the result', async () => {
    const server = withCall(said('done'));
    const { connection } = connectionTo([server]);
    const result = await connection.call('a', { x: 1 }, runOf().run);
    expect(result.text).toBe('done');
    expect(server.sent.at(-1)?.params).toMatchObject({ name: 'a', arguments: { x: 1 } });
    await connection.close();
  });

  it.each([
    [{ progress: 1 }, '1'],
    [{ progress: 1, total: 4 }, '1 of 4'],
    [{ progress: 2, total: 4, message: 'half' }, '2 of 4 half'],
    [{ progress: 2, message: 'half' }, '2 half'],
  ])('its progress %j is told as %j', async (progress, value) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const server: ScriptedServer = withCall(({ _meta }: { _meta: { progressToken: unknown } }) => {
      const { progressToken } = _meta;
      server.tell({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, ...progress } });
      return promise;
    });
    const { connection } = connectionTo([server]);
    const { run, progress: shown } = runOf();
    const calling = connection.call('a', {}, run);
    await expect.poll(() => shown).toEqual([[{ type: 'text', value }, 1_000]]);
    resolve(said('done'));
    await calling;
    await connection.close();
  });

  it.each([
    ['an error result', () => said('no such file', { isError: true }), 'no such file'],
    ['a refusal', () => Promise.reject('it is closed'), 'it is closed'],
    ['a malformed result', () => ({ content: 7 }), 'The server docs returned an invalid result.'],
  ])('C-3: %s fails this call alone', async (_, answer, message) => {
    let calls = 0;
    const server = withCall(() => {
      calls += 1;
      return calls === 1 ? answer() : said('again');
    });
    const { connection, told } = connectionTo([server]);
    await expect(connection.call('a', {}, runOf().run)).rejects.toMatchObject({ name: 'ToolError', message });
    expect((await connection.call('a', {}, runOf().run)).text).toBe('again');
    expect(told).toEqual(['tools a']);
    await connection.close();
  });

  it('if the connection is lost, the call fails, and the next one connects again after a pause', async () => {
    const first: ScriptedServer = withCall(() => {
      first.onclose?.();
      throw silence;
    });
    const second = withCall(said('again'));
    const clock = manualClock();
    const { connection, told } = connectionTo([first, second], { clock });
    await expect(connection.call('a', {}, runOf().run)).rejects.toThrow(
      'Lost the server docs during the call; it may have run.',
    );
    expect(told).toEqual(['tools a', 'lost: the connection was closed']);
    const calling = connection.call('a', {}, runOf().run);
    clock.advance(99);
    await new Promise(setImmediate);
    expect(second.sent).toEqual([]);
    clock.advance(1);
    expect((await calling).text).toBe('again');
    expect(told).toHaveLength(2);
    await connection.close();
    expect(second.closed).toBe(1);
  });

  it('an aborted call is cancelled, with the reason of its signal, and the connection stays', async () => {
    const server = withCall(() => Promise.reject(silence));
    const { connection, told } = connectionTo([server]);
    const controller = new AbortController();
    const calling = connection.call('a', {}, runOf(controller.signal).run);
    await expect.poll(() => server.methods()).toContain('tools/call');
    controller.abort(new Error('enough'));
    await expect(calling).rejects.toThrow('enough');
    await expect.poll(() => server.methods()).toContain('notifications/cancelled');
    expect(told).toEqual(['tools a']);
    await connection.close();
  });

  it.each([
    [400, 'the call'],
    [401, 'the credentials, so the call was not run'],
    [403, 'the credentials, so the call was not run'],
    [500, 'the call'],
  ])('a refusal with the HTTP status %i fails this call alone', async (status, what) => {
    class Refusing extends ScriptedServer {
      override async send(message: Parameters<ScriptedServer['send']>[0]) {
        if ('method' in message && message.method === 'tools/call')
          throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'no', { status: status });
        await super.send(message);
      }
    }
    const { connection, told } = connectionTo([new Refusing({ 'tools/list': { tools: [listed('a')] } })]);
    await expect(connection.call('a', {}, runOf().run)).rejects.toThrow(`The server docs refused ${what}: no`);
    expect(told).toEqual(['tools a']);
    await connection.close();
  });

  it('a server that has forgotten its session (404) is connected again, and the call repeated once', async () => {
    class Forgetful extends ScriptedServer {
      override async send(message: Parameters<ScriptedServer['send']>[0]) {
        if ('method' in message && message.method === 'tools/call')
          throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'who?', { status: 404 });
        await super.send(message);
      }
    }
    const clock = manualClock();
    const { connection, told } = connectionTo([new Forgetful(), withCall(said('again'))], { clock });
    const calling = connection.call('a', {}, runOf().run);
    await expect.poll(() => told).toEqual(['lost: the server lost its session']);
    clock.advance(100);
    expect((await calling).text).toBe('again');
    await connection.close();
  });

  it('a server that cannot start is tried five times with doubling pauses, then reported as unavailable', async () => {
    const clock = manualClock();
    const { connection } = connectionTo([], { clock });
    const calling = expect(connection.call('a', {}, runOf().run)).rejects.toThrow(
      'The server docs is not available: there is no server left',
    );
    const start = clock.now();
    let ended = false;
    void calling.then(() => {
      ended = true;
    });
    while (!ended) {
      clock.advance(50);
      await new Promise(setImmediate);
    }
    expect(clock.now() - start).toBeGreaterThanOrEqual(100 + 200 + 400 + 800);
    expect(clock.now() - start).toBeLessThan(100 + 200 + 400 + 800 + 1_000);
    await calling;
    await connection.close();
  });
});
