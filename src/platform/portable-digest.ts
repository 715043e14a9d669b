import { sha1 as digest } from '@noble/hashes/legacy.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { utf8Bytes } from './bytes.ts';

/** Takes the place of `digest.ts` in a bundle for a runtime without Node's own. */
export function sha1(text: string): string {
  return bytesToHex(digest(utf8Bytes(text)));
}
