import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { describe, expect, it } from 'vitest';
import * as pawl from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const agent = pawl.defineAgent({ name: 'helper', models: [rehearsalModel([])] });
const serve = (options: unknown, given: unknown = agent) => pawl.serveMcp(given as never, options as never);

describe('what serveMcp is given', () => {
  const transports = "'stdio', { http: { port, host } } or an MCP transport";
  it.each<[unknown, string]>([
    [undefined, `\`transport\` is required: ${transports}.`],
    [{}, `\`transport\` is required: ${transports}.`],
    [{ transport: null }, `\`transport\` must be ${transports}; got null.`],
    [{ transport: 'http' }, `\`transport\` must be ${transports}; got "http".`],
    [{ transport: {} }, `\`transport\` must be ${transports}; got {}.`],
    [{ transport: { http: null } }, `\`transport\` must be ${transports}`],
    [{ transport: { http: 8080 } }, `\`transport\` must be ${transports}`],
    [{ transport: 'stdio', retries: 3 }, 'Unknown option `retries`. Options: transport, logger, budget'],
    [{ transport: 'stdio', maxSessions: 0 }, '`maxSessions`'],
    [{ transport: { http: { prot: 1 } } }, 'Unknown option `transport.http.prot`'],
    [{ transport: { http: {}, auth: { bearer: 'x' } } }, 'Unknown option `transport.auth`'],
  ])('is checked: %j', async (options, message) => {
    await expect(serve(options)).rejects.toMatchObject({
      code: 'invalid_options',
      message: expect.stringContaining(message),
    });
  });

  it('needs an agent and a valid budget', async () => {
    await expect(serve({ transport: 'stdio' }, { name: 'x' })).rejects.toMatchObject({ code: 'invalid_options' });
    await expect(serve({ transport: 'stdio', budget: { maxUsd: -1 } })).rejects.toMatchObject({
      code: 'invalid_budget',
    });
  });
});

describe('a server of one client', () => {
  it('has no address, and closes when its client leaves', async () => {
    const [own, theirs] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: 'test', version: '1' });
    const [served] = await Promise.all([serve({ transport: own, logger: false }), client.connect(theirs)]);
    expect(served.url).toBeNull();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['helper']);
    await client.close();
    await served.closed;
  });

  it('can be closed from here too', async () => {
    const [own, theirs] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: 'test', version: '1' });
    const gone = new Promise<void>((resolve) => {
      client.onclose = resolve;
    });
    const [served] = await Promise.all([serve({ transport: own, logger: false }), client.connect(theirs)]);
    await served.close();
    await gone;
    await served.closed;
  });

  it('over standard streams closes at the end of its input', async () => {
    const served = await serve({ transport: 'stdio', logger: false });
    process.stdin.emit('end');
    await served.closed;
    expect(served.url).toBeNull();
  });

  it('over standard streams leaves no listener at their ends, however often it serves', async () => {
    const counted = () => [process.stdin.listenerCount('end'), process.stdout.listenerCount('error')];
    await (await serve({ transport: 'stdio', logger: false })).close();
    const before = counted();
    for (let times = 0; times < 3; times += 1) {
      const served = await serve({ transport: 'stdio', logger: false });
      await served.close();
      await served.closed;
    }
    expect(counted()).toEqual(before);
    // A client that is gone closes all that are open.
    const open = await Promise.all([1, 2].map(() => serve({ transport: 'stdio', logger: false })));
    process.stdout.emit('error', new Error('EPIPE'));
    await Promise.all(open.map(({ closed }) => closed));
    // The last one goes on to hear of errors that come late.
    await (await serve({ transport: 'stdio', logger: false })).close();
    expect(counted()).toEqual(before);
  });
});
