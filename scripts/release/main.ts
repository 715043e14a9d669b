/**
 * `npm run release`: checks that this commit can be published: main, with nothing uncommitted; a version that has no tag
 * and stands with its date in `CHANGELOG.md`; and everything that must hold. `npm run release -- --publish` then publishes it and tags it;
 * npm takes its provenance only from a CI job that has an identity token.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { publish: { type: 'boolean', default: false } } });
const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
const heading = /^## (.*)$/m.exec(readFileSync('CHANGELOG.md', 'utf8'))?.[1] ?? '';
const tag = `v${version}`;

const problems = [
  git('status', '--porcelain') !== '' && 'there are uncommitted changes',
  git('rev-parse', '--abbrev-ref', 'HEAD') !== 'main' && 'this is not main',
  git('tag', '--list', tag) + git('ls-remote', '--tags', 'origin', tag) !== '' && `${tag} exists`,
  !/^\d+\.\d+\.\d+$/.test(version) && `${version} is no semantic version`,
  !(heading.startsWith(`${version} (`) && /\(\d{4}-\d{2}-\d{2}\)$/.test(heading)) &&
    `CHANGELOG.md begins with "${heading}", not with "${version} (YYYY-MM-DD)"`,
].filter((problem) => problem !== false);
if (problems.length > 0) {
  process.stderr.write(`${version} cannot be released:\n${problems.map((problem) => `- ${problem}\n`).join('')}`);
  process.exit(1);
}

const run = (command: string, ...args: string[]) => {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`);
};
run('.ci/run');
run('npm', 'run', 'size');
run('npm', 'run', 'fresh');
if (git('status', '--porcelain') !== '') throw new Error('the checks changed files of the repository');
if (!values.publish) {
  process.stdout.write(`${version} can be released: npm run release -- --publish\n`);
} else {
  run('npm', 'publish', '--provenance', '--access', 'public');
  run('git', 'tag', '--annotate', tag, '--message', `${version}`);
  run('git', 'push', 'origin', tag);
}
