import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../input/errors.ts';
import { configFile } from '../../workflow/backlog/config.ts';
import { exitCodes, UsageError } from '../command-line.ts';
import { packageFile } from '../package-root.ts';
import type { Project } from './agents.ts';

const roles = ['process', 'test'] as const;

/** Test commands, by the file that identifies the kind of project. */
const testCommands: readonly [file: string, command: string][] = [
  ['package.json', 'npm test'],
  ['Cargo.toml', 'cargo test'],
  ['go.mod', 'go test ./...'],
  ['pyproject.toml', 'pytest'],
  ['Makefile', 'make test'],
];

/** `pawl work --init`: writes agents for the backlog and the commands that they may run. Overwrites nothing. */
export function initWork({ backlog, root }: Project): number {
  const files = new Map(
    roles.map((role) => [join('agents', `${role}.md`), readFileSync(packageFile(`templates/work/${role}.md`), 'utf8')]),
  );
  const taken = [...files.keys()].filter((file) => existsSync(join(backlog, file)));
  if (taken.length > 0) throw new UsageError(`${backlog} already has ${taken.join(', ')}; nothing is overwritten.`);
  const tests = testCommands.flatMap(([file, command]) => (existsSync(join(root, file)) ? [command] : []));
  const allow = [...tests, 'git status', 'git diff'];
  const hasConfig = existsSync(join(backlog, configFile));
  if (!hasConfig) files.set(configFile, `${JSON.stringify({ auto_commit: false, allow }, null, 2)}\n`);
  try {
    mkdirSync(join(backlog, 'agents'), { recursive: true });
    for (const [file, text] of files) writeFileSync(join(backlog, file), text, { flag: 'wx' });
  } catch (error) {
    throw new UsageError(`The files could not be written: ${reasonOf(error)}.`);
  }
  const hint = hasConfig
    ? `\nThe commands that agents may run without approval go into ${configFile}: ${JSON.stringify({ allow })}`
    : '';
  process.stdout.write(`Wrote ${[...files.keys()].join(', ')} in ${backlog}.${hint}

  pawl work ${backlog} --dry-run
  pawl work ${backlog} --once

They may read and write in ${root}, and run what "allow" names. To work, they need a model: set a key such as
OPENAI_API_KEY, or name one with --model.
`);
  return exitCodes.succeeded;
}
