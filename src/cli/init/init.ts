import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { reasonOf } from '../../input/errors.ts';
import { exitCodes, UsageError } from '../command-line.ts';
import { templates } from './templates.ts';

/** `pawl init`: writes an agent, a tool and a test that passes, to begin with. It overwrites nothing. */
export async function initCommand(positionals: readonly string[]): Promise<number> {
  if (positionals.length > 1) throw new UsageError('pawl init takes one directory.');
  const [given = '.'] = positionals;
  const folder = resolve(given);
  const files = templates(nameOf(folder));
  const taken = Object.keys(files).filter((file) => existsSync(join(folder, file)));
  if (taken.length > 0)
    throw new UsageError(`${folder} already has ${taken.join(', ')}; pawl init overwrites nothing.`);
  try {
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text, { flag: 'wx' });
  } catch (error) {
    throw new UsageError(`The files could not be written: ${reasonOf(error)}.`);
  }
  const enter =
    given === '.' ? '' : `cd ${/^[\w./-]+$/.test(given) ? given : `'${given.replaceAll("'", "'\\''")}'`} && `;
  process.stdout.write(`Wrote ${Object.keys(files).join(', ')}.

  ${enter}npm install && npm test
  npx pawl run --agent agent.js "Who wrote Ulysses, and do we have it?"
  npx pawl chat --agent agent.js

The last two need a model: set OPENAI_API_KEY, or name one with --model.
`);
  return exitCodes.succeeded;
}

/** A name that npm accepts. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name || 'my-agent';
}
