import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { configFile } from '../../workflow/backlog/config.ts';
import { exitCodes } from '../command-line.ts';
import { writeNewFiles } from '../init/new-files.ts';
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
  const tests = testCommands.flatMap(([file, command]) => (existsSync(join(root, file)) ? [command] : []));
  const allow = [...tests, 'git status', 'git diff'];
  const hasConfig = existsSync(join(backlog, configFile));
  const files = {
    ...Object.fromEntries(roles.map((role) => [join('agents', `${role}.md`), template(role)])),
    ...(!hasConfig && { [configFile]: `${JSON.stringify({ auto_commit: false, allow }, null, 2)}\n` }),
  };
  writeNewFiles('pawl work --init', backlog, files);
  const hint = hasConfig
    ? `\nThe commands that agents may run without approval go into ${configFile}: ${JSON.stringify({ allow })}`
    : '';
  process.stdout.write(`Wrote ${Object.keys(files).join(', ')} in ${backlog}.${hint}

  pawl work ${backlog} --dry-run
  pawl work ${backlog} --once

They may read and write in ${root}, and run what "allow" names. To work, they need a model: set a key such as
OPENAI_API_KEY, or name one with --model.
`);
  return exitCodes.succeeded;
}

function template(role: (typeof roles)[number]): string {
  return readFileSync(packageFile(`templates/work/${role}.md`), 'utf8');
}
