import { builtin } from './node.ts';

/** Returns the SHA-1 digest of a text, in hexadecimal, at once: it tells facts apart, and keeps no secret. */
export function sha1(text: string): string {
  const crypto = builtin('node:crypto');
  if (crypto === undefined)
    throw new Error('a bundle for this runtime must honour the field `browser` of package.json');
  return crypto.hash('sha1', text);
}
