import { messageOf, PawlError } from './errors.ts';

/** Loads what needs an optional peer. Rejects with `invalid_options` and the command that installs it. */
export async function withPeer<Loaded>(name: string, load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load();
  } catch (cause) {
    const message = `Cannot load ${name} (${messageOf(cause)}). Run: npm install ${name}`;
    throw new PawlError('invalid_options', message, { cause });
  }
}
