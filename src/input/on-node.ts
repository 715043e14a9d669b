import { builtin } from '../platform/node.ts';
import { PawlError } from './errors.ts';

/** Loads a room that needs Node. Throws `unsupported_runtime`, naming `what`, elsewhere: a bundle for it has no such room. */
export async function onNode<T>(what: string, load: () => Promise<T>): Promise<T> {
  if (builtin('node:fs') !== undefined) return load();
  throw new PawlError('unsupported_runtime', `${what} needs Node.js, Bun or Deno; this runtime has no file system.`);
}
