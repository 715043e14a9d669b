import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { floors } from '../graph/floors.ts';

/** The last commit before this rule. */
const before = 'b4fa92fd';
const rooms = floors.flat().map(({ name }) => name);
const areas = [
  ...rooms,
  'src',
  'machines',
  'fitness',
  'test',
  'docs',
  'draw',
  'verify',
  'bench',
  'ci',
  'examples',
  'release',
];

type Commit = { subject: string; body: string };

/** Returns what is wrong with a commit's message. */
function wrongWith({ subject, body }: Commit): string[] {
  const [, area = ''] = /^([a-z]+): \S/.exec(subject) ?? [];
  return [
    ...(areas.includes(area) ? [] : [`${subject}: begins with no area`]),
    ...(subject.length <= 72 ? [] : [`${subject}: has ${subject.length} characters`]),
    ...(body.trim() === '' ? [`${subject}: has no body`] : []),
  ];
}

const git = (...args: string[]) => spawnSync('git', args, { encoding: 'utf8' });
/** A shallow clone has no such commit: there, only the last one is read. */
const range = git('cat-file', '-e', before).status === 0 ? [`${before}..HEAD`] : ['-1'];
const { status, stdout } = git('log', '--no-merges', '--format=%s%x00%b%x01', ...range);
const commits = (status === 0 ? stdout : '')
  .split('\x01')
  .map((text) => text.trim())
  .filter((text) => text !== '')
  .map((text): Commit => {
    const [subject = '', body = ''] = text.split('\0');
    return { subject, body };
  });

describe('commits', () => {
  it.skipIf(status !== 0)('say where and what in 72 characters, and why', () => {
    expect(commits.flatMap(wrongWith)).toEqual([]);
  });

  it.each([
    [{ subject: 'tools: a call is answered once', body: 'Why.' }, 0],
    [{ subject: 'A call is answered once', body: 'Why.' }, 1],
    [{ subject: 'nowhere: a call is answered once', body: 'Why.' }, 1],
    [{ subject: `tools: ${'a'.repeat(66)}`, body: 'Why.' }, 1],
    [{ subject: 'tools: a call is answered once', body: ' ' }, 1],
  ])('%j has %i faults', (commit, count) => {
    expect(wrongWith(commit)).toHaveLength(count);
  });
});
