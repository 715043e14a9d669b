import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { commitPaths, notIgnored } from '../../src/workflow/git/commits.ts';
import { TestBacklog } from '../support/backlog.ts';
import { replaceable, replacements } from '../support/replaced.ts';
import { temporaryFolder } from '../support/temporary.ts';

describe('W-2: a commit of some paths', () => {
  let project: TestBacklog;
  beforeEach(() => {
    project = new TestBacklog();
    project.write('a.txt', '1');
    project.write('old/b.txt', '1');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=As found');
  });
  const log = (ref: string) => project.git('log', '--format=%s', ref).split('\n');
  const files = (ref: string) => project.git('ls-tree', '-r', '--name-only', ref).split('\n');

  it('holds them and nothing else, whatever is staged', async () => {
    for (const name of ['a.txt', 'other.txt', 'staged.txt']) project.write(name, '2');
    project.git('add', 'staged.txt');
    const commit = await commitPaths(project.folder, ['a.txt'], 'Only a');
    expect(commit).toEqual({ ok: true, sha: project.git('rev-parse', 'HEAD'), branch: 'main' });
    expect(project.git('show', '--name-only', '--format=%s', 'HEAD').split('\n')).toEqual(['Only a', '', 'a.txt']);
    expect(project.git('status', '--short').split('\n')).toEqual(['A  staged.txt', '?? other.txt']);
  });

  it('holds what was moved away, whether that is staged or not', async () => {
    rmSync(join(project.folder, 'old'), { recursive: true });
    project.write('new/b.txt', '1');
    expect(await commitPaths(project.folder, ['old', 'new', 'never'], 'Moved')).toMatchObject({ ok: true });
    expect(files('HEAD')).toEqual(['a.txt', 'new/b.txt']);
    project.git('rm', '--quiet', 'a.txt');
    expect(await commitPaths(project.folder, ['a.txt'], 'Gone')).toMatchObject({ ok: true });
    expect(files('HEAD')).toEqual(['new/b.txt']);
    rmSync(join(project.folder, 'new/b.txt'));
    project.write('new/c.txt', '1');
    expect(await commitPaths(project.folder, ['new'], 'Renamed')).toMatchObject({ ok: true });
    expect(files('HEAD')).toEqual(['new/c.txt']);
  });

  it.each(replacements)('holds that $what was replaced', async ({ replace, after }) => {
    for (const name of replaceable) project.write(name, name);
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=More files');
    replace((path) => join(project.folder, path));
    const paths = [...replaceable, 'lib', 'f.txt/x'];
    for (const branch of [null, 'found']) {
      expect(await commitPaths(project.folder, paths, 'Replaced', branch)).toMatchObject({ ok: true });
      expect(files(branch ?? 'HEAD')).toEqual(['a.txt', ...after, 'old/b.txt'].toSorted());
    }
    expect(project.git('status', '--short')).toBe('');
  });

  it('holds a removal of more paths than a command line takes', async () => {
    const deep = Array.from({ length: 10 }, () => 'd'.repeat(240)).join('/');
    const many = Array.from({ length: 1_000 }, (_, index) => `${deep}/${index}.txt`);
    for (const name of many) project.write(name, '1');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=Many files');
    rmSync(join(project.folder, 'd'.repeat(240)), { recursive: true });
    for (const branch of ['found', null]) {
      expect(await commitPaths(project.folder, many, 'Gone', branch)).toMatchObject({ ok: true });
      expect(files(branch ?? 'HEAD')).toEqual(['a.txt', 'old/b.txt']);
    }
    expect(project.git('status', '--short')).toBe('');
  });

  it('holds them also where the user wants differences of the current folder alone', async () => {
    project.git('config', 'diff.relative', 'true');
    project.write('old/b.txt', '2');
    project.write('a.txt', '2');
    expect(await commitPaths(join(project.folder, 'old'), ['b.txt', '../a.txt'], 'Both')).toMatchObject({ ok: true });
    expect([project.git('status', '--short'), log('HEAD')[0]]).toEqual(['', 'Both']);
  });

  it('holds that a file is gone that git ignores but had, whether that is staged or not', async () => {
    for (const name of ['dist/a.js', 'dist/b.js', 'dist/c.js']) project.write(name, '1');
    project.git('add', '--all');
    project.git('commit', '--quiet', '--message=Built');
    project.write('.gitignore', 'dist/\n');
    project.git('rm', '--quiet', 'dist/a.js');
    rmSync(join(project.folder, 'dist/b.js'));
    const asked = ['dist/a.js', 'dist/b.js', 'dist/never.js', '.gitignore'];
    for (const folder of ['', 'old']) {
      const paths = asked.map((path) => (folder === '' ? path : `../${path}`));
      const kept = await notIgnored(join(project.folder, folder), paths);
      expect(kept).toEqual(paths.filter((path) => !path.endsWith('never.js')));
    }
    const kept = await notIgnored(project.folder, asked);
    expect(await commitPaths(project.folder, kept, 'Gone')).toMatchObject({ ok: true });
    expect(files('HEAD')).toEqual(['.gitignore', 'a.txt', 'dist/c.js', 'old/b.txt']);
    expect(project.git('status', '--short')).toBe('');
  });

  it('of many paths takes few calls of git', async () => {
    const many = Array.from({ length: 300 }, (_, index) => `many/${index}.txt`);
    for (const name of many) project.write(name, name);
    const calls = join(project.folder, '.git/calls');
    process.env.GIT_TRACE = calls;
    onTestFinished(() => void delete process.env.GIT_TRACE);
    expect(await notIgnored(project.folder, many)).toEqual(many);
    expect(await commitPaths(project.folder, many, 'Many')).toMatchObject({ ok: true });
    delete process.env.GIT_TRACE;
    expect(readFileSync(calls, 'utf8').match(/trace: built-in: git/g)?.length).toBeLessThan(30);
    expect(files('HEAD')).toHaveLength(302);
  });

  it('is not made again if nothing changed, nor for no paths', async () => {
    project.write('other.txt', '1');
    for (const paths of [['a.txt'], []])
      expect(await commitPaths(project.folder, paths, 'Again')).toEqual({
        ok: true,
        sha: project.git('rev-parse', 'HEAD'),
        branch: 'main',
      });
    expect(log('HEAD')).toEqual(['As found', 'Begin']);
    expect(project.git('status', '--short')).toBe('?? other.txt');
  });

  it('reports a detached head, and the error of git', async () => {
    project.git('checkout', '--quiet', '--detach');
    project.write('a.txt', '2');
    expect(await commitPaths(project.folder, ['a.txt'], 'Detached')).toMatchObject({ ok: true, branch: 'HEAD' });
    project.lockIndex();
    project.write('a.txt', '3');
    expect(await commitPaths(project.folder, ['a.txt'], 'Locked')).toEqual({
      ok: false,
      message: expect.stringContaining('index.lock'),
    });
  });

  describe('on a branch', () => {
    const onto = (branch: string, paths = ['a.txt'], message = 'On it') =>
      commitPaths(project.folder, paths, message, branch);

    it('makes it from the last commit, and leaves the work tree and its branch as they are', async () => {
      project.write('a.txt', '2');
      project.write('other.txt', '2');
      const commit = await onto('found');
      expect(commit).toEqual({ ok: true, sha: project.git('rev-parse', 'found'), branch: 'found' });
      expect([log('found'), log('main')]).toEqual([
        ['On it', 'As found', 'Begin'],
        ['As found', 'Begin'],
      ]);
      expect(project.git('show', 'found:a.txt')).toBe('2');
      expect(files('found')).toEqual(['a.txt', 'old/b.txt']);
      expect(project.git('status', '--short').split('\n')).toEqual(['M a.txt', '?? other.txt']);
    });

    it('is signed if the user has commits signed', async () => {
      const signs = join(temporaryFolder(), 'signs');
      writeFileSync(
        signs,
        '#!/bin/sh\ncat > /dev/null\necho "[GNUPG:] SIG_CREATED D" >&2\necho "-----BEGIN PGP SIGNATURE-----"\n',
      );
      chmodSync(signs, 0o755);
      project.git('config', 'gpg.program', signs);
      const signedOn = async (branch: string) => {
        project.write(`${branch}.txt`, 'new');
        expect(await commitPaths(project.folder, [`${branch}.txt`], 'M', branch)).toMatchObject({ ok: true });
        return project.git('cat-file', 'commit', branch).includes('BEGIN PGP SIGNATURE');
      };
      expect(await signedOn('plain')).toBe(false);
      project.git('config', 'commit.gpgSign', 'yes');
      expect(await signedOn('signed')).toBe(true);
    });

    it('is only made, if nothing is to be committed', async () => {
      for (const paths of [['never'], []])
        expect(await onto('fresh', paths)).toEqual({
          ok: true,
          sha: project.git('rev-parse', 'main'),
          branch: 'fresh',
        });
      expect(log('fresh')).toEqual(['As found', 'Begin']);
    });

    it('goes on top of what is there', async () => {
      project.write('new.txt', '1');
      await onto('found', ['new.txt'], 'First');
      project.write('more.txt', '1');
      await onto('found', ['more.txt'], 'Second');
      expect(log('found')).toEqual(['Second', 'First', 'As found', 'Begin']);
      expect(files('found')).toEqual(['a.txt', 'more.txt', 'new.txt', 'old/b.txt']);
    });

    it('takes away what only the branch had, once it is gone, and adds nothing that was not named', async () => {
      project.write('new.txt', '1');
      await onto('found', ['new.txt'], 'First');
      rmSync(join(project.folder, 'new.txt'));
      project.write('other.txt', '1');
      await onto('found', ['new.txt'], 'Gone');
      expect(files('found')).toEqual(['a.txt', 'old/b.txt']);
      for (const paths of [['never'], []])
        expect(await onto('found', paths, 'Nothing')).toMatchObject({
          ok: true,
          sha: project.git('rev-parse', 'found'),
        });
      expect(log('found')).toEqual(['Gone', 'First', 'As found', 'Begin']);
    });

    it('that is checked out gets an ordinary commit', async () => {
      project.write('a.txt', '2');
      expect(await onto('main')).toMatchObject({ ok: true, branch: 'main' });
      expect(project.git('status', '--short')).toBe('');
    });

    it('is refused if it is checked out elsewhere, or has no name that git allows', async () => {
      project.git('worktree', 'add', '--quiet', '-b', 'elsewhere', join(project.folder, '.git/elsewhere'));
      expect(await onto('elsewhere')).toEqual({
        ok: false,
        message: 'the branch elsewhere is checked out in another worktree',
      });
      expect(await onto('no..name')).toEqual({
        ok: false,
        message: expect.stringContaining("'no..name' is not a valid branch name"),
      });
      expect(log('elsewhere')).toEqual(['As found', 'Begin']);
      expect(await onto('else')).toMatchObject({ ok: true });
    });

    it('is refused without a commit to begin from', async () => {
      project.git('update-ref', '-d', 'HEAD');
      expect(await onto('found')).toMatchObject({
        ok: false,
        message: expect.stringContaining('git rev-parse failed'),
      });
    });
  });
});
