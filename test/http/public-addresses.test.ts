import type { LookupAddress } from 'node:dns';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as addresses from '../../src/http/public-addresses.ts';

/** What the system says of a name, by the name that is asked for. */
const system = vi.hoisted(() => ({
  addresses: [] as LookupAddress[],
  error: null as Error | null,
  asked: [] as unknown[],
}));
vi.mock('node:dns', async (load) => ({
  ...(await load<object>()),
  lookup: (hostname: string, options: object, callback: (error: Error | null, addresses?: LookupAddress[]) => void) => {
    system.asked.push([hostname, options]);
    if (system.error === null) callback(null, system.addresses);
    else callback(system.error);
  },
}));

beforeEach(() => Object.assign(system, { addresses: [], error: null, asked: [] }));

describe('the addresses of the public internet', () => {
  it.each([
    ...['0.0.0.0', '0.255.255.255', '10.0.0.1', '10.255.255.255', '100.64.0.0', '100.127.255.255', '127.0.0.1'],
    ...['127.255.255.255', '169.254.169.254', '172.16.0.0', '172.31.255.255', '192.0.0.8', '192.168.1.1'],
    ...[
      '198.18.0.0',
      '198.19.255.255',
      '192.0.2.1',
      '198.51.100.1',
      '203.0.113.9',
      '224.0.0.1',
      '239.255.255.255',
      '255.255.255.255',
    ],
    ...['::', '::1', 'fe80::1', 'fc00::1', 'fd00::1', 'ff02::1', '64:ff9b::7f00:1', '4000::1'],
    ...['2001::1', '2001:0:ffff::1', '2001:db8::1', '2002::1', '2002:7f00:1::'],
    ...['::ffff:127.0.0.1', '::FFFF:10.10.10.10', '::ffff:192.168.100.100', '::ffff:7f00:1', '::127.0.0.1'],
    'fd00::ffff:8.8.8.8',
  ])('%s is not one of them', (address) => {
    expect(addresses.isPrivate(address)).toBe(true);
  });

  it.each([
    ...['1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
    ...['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.167.255.255'],
    ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
    ...['2000::1', '2001:1::1', '2001:db7::1', '2003::1', '3fff:ffff::1', '2606:2800:21f:cb07::1'],
    ...['::ffff:8.8.8.8', '::ffff:100.200.100.200', '::FFFF:93.184.215.14'],
    '2600::ffff:10.0.0.1',
  ])('%s is one of them', (address) => {
    expect(addresses.isPrivate(address)).toBe(false);
  });

  it.each(['api.test', '', '1.2.3', '127.0.0.1.test', '::ffff:127.0.0.1.test'])('%j is no address', (name) => {
    expect(addresses.isPrivate(name)).toBe(false);
  });
});

describe('the addresses that a name leads to', () => {
  const one = { address: '93.184.215.14', family: 4 };
  const other = { address: '2606:2800:21f:cb07::1', family: 6 };
  const looked = (options: object) =>
    new Promise((resolve) => {
      addresses.publicLookup('api.test', options, (...given) => resolve(given));
    });

  it('are given as they are asked for, all or the first', async () => {
    system.addresses = [one, other];
    expect(await looked({ all: true, hints: 1 })).toEqual([null, [one, other]]);
    expect(await looked({ all: false })).toEqual([null, one.address, 4]);
    expect(await looked({})).toEqual([null, one.address, 4]);
    expect(system.asked).toEqual([
      ['api.test', { all: true, hints: 1 }],
      ['api.test', { all: true }],
      ['api.test', { all: true }],
    ]);
  });

  it.each([
    [{ address: '127.0.0.1', family: 4 }],
    [one, { address: '10.0.0.7', family: 4 }],
    [one, other, { address: '::ffff:169.254.169.254', family: 6 }],
  ])('are refused if any of them is not public', async (...found) => {
    system.addresses = found;
    for (const options of [{ all: true }, {}]) {
      const [error, address, family] = (await looked(options)) as [Error, string, number];
      expect([error.message, address, family]).toEqual([
        `The address ${found.at(-1)?.address} is not public; it needs allowPrivate.`,
        '',
        0,
      ]);
    }
  });

  it('are an error if the name is unknown or has no address', async () => {
    system.error = new Error('ENOTFOUND');
    expect(await looked({})).toEqual([system.error, '', 0]);
    expect(await looked({ all: true })).toEqual([system.error, '', 0]);
    system.error = null;
    expect(await looked({})).toEqual([new Error('The host api.test has no address.'), '', 0]);
  });
});
