import { basename, resolve } from 'node:path';
import { exitCodes, UsageError } from '../command-line.ts';
import { writeNewFiles } from './new-files.ts';
import { templates } from './templates.ts';

/** `pawl init`: writes an agent, a tool and a test that passes, to begin with. It overwrites nothing. */
export async function initCommand(positionals: readonly string[]): Promise<number> {
  if (positionals.length > 1) throw new UsageError('pawl init takes one directory.');
  const [given = '.'] = positionals;
  const folder = resolve(given);
  const files = templates(nameOf(folder));
  writeNewFiles('pawl init', folder, files);
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
