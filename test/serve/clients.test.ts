import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/serve/mcp/clients.ts';
import { Clients } from '../../src/serve/mcp/clients.ts';

/** A thousand clients, as many as there may be; their address and number of calls depend on their index. */
function thousand(address: (index: number) => string, calls: (index: number) => number = () => 0) {
  const closed: string[] = [];
  const clients = new Clients<Client>();
  const client = (id: string, from: string, waiting: number): Client => ({
    address: from,
    calls: waiting,
    transport: { close: async () => void closed.push(id) },
  });
  for (let index = 0; index < 1_000; index += 1) {
    clients.add(`${index}`, client(`${index}`, address(index), calls(index)));
  }
  const add = (id: string, from = 'new', waiting = 0) => clients.add(id, client(id, from, waiting));
  return { clients, closed, add };
}

describe('the clients of an MCP server over HTTP', () => {
  it('a thousand stay; then the oldest that waits for nothing goes', () => {
    const { clients, closed, add } = thousand(
      () => 'one',
      (index) => (index < 2 ? 1 : 0),
    );
    expect(closed).toEqual([]);
    add('more', 'one');
    expect(closed).toEqual(['2']);
    expect(clients.use('2')).toBeUndefined();
    expect([clients.use('0'), clients.use('more')]).toMatchObject([{ calls: 1 }, { calls: 0 }]);
  });

  it('one that is used is no longer the oldest', () => {
    const { clients, closed, add } = thousand(() => 'one');
    expect(clients.use('0')).toMatchObject({ address: 'one' });
    expect(clients.use('unknown')).toBeUndefined();
    add('more', 'one');
    add('yet more', 'one');
    expect(closed).toEqual(['1', '2']);
  });

  it.each([
    ['first', 0],
    ['last', 400],
  ])('the address with the most idle clients loses one, also if it came %s', (_, from) => {
    const { closed, add } = thousand((index) => (index >= from && index < from + 600 ? 'many' : 'few'));
    add('more', 'new');
    expect(closed).toEqual([`${from}`]);
  });

  it('clients that wait for an answer do not count against their address', () => {
    const { closed, add } = thousand(
      (index) => (index < 600 ? 'busy' : 'idle'),
      (index) => (index < 500 ? 1 : 0),
    );
    add('more', 'new');
    expect(closed).toEqual(['600']);
  });

  it('no client is dropped if all the others are waiting', () => {
    const { clients, closed, add } = thousand(
      () => 'one',
      () => 1,
    );
    add('more');
    expect(closed).toEqual([]);
    expect(clients.use('more')).toBeDefined();
  });

  it('one that leaves makes room, and all that are left are closed in the end', async () => {
    const { clients, closed, add } = thousand(() => 'one');
    clients.remove('0');
    expect(clients.use('0')).toBeUndefined();
    add('more');
    expect(closed).toEqual([]);
    await Promise.all(clients.all().map(({ transport }) => transport.close()));
    expect(closed).toHaveLength(1_000);
  });
});
