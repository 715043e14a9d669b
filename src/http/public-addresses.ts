import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Addresses outside the public internet, which need `allowPrivate`. */
const notPublic = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  notPublic.addSubnet(network, prefix, 'ipv4');
}
/** In IPv6 only global unicast is public, except the tunnels to IPv4 (Teredo, 6to4) and documentation addresses. */
const publicV6 = new BlockList();
publicV6.addSubnet('2000::', 3, 'ipv6');
const detoursV6 = new BlockList();
for (const [network, prefix] of [
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
] as const) {
  detoursV6.addSubnet(network, prefix, 'ipv6');
}

/** Whether an address is outside the public internet; false for anything that is not an address. */
export function isPrivate(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  switch (isIP(mapped)) {
    case 4:
      return notPublic.check(mapped, 'ipv4');
    case 6:
      return !publicV6.check(mapped, 'ipv6') || detoursV6.check(mapped, 'ipv6');
    default:
      return false;
  }
}

export function privateText(address: string): string {
  return `The address ${address} is not public; it needs allowPrivate.`;
}

/** Looks up a host name, and fails if any of its addresses is not public. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) {
      callback(error, '', 0);
      return;
    }
    const refused = addresses.find(({ address }) => isPrivate(address));
    const [first] = addresses;
    if (refused !== undefined) callback(new Error(privateText(refused.address)), '', 0);
    else if (first === undefined) callback(new Error(`The host ${hostname} has no address.`), '', 0);
    else if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
