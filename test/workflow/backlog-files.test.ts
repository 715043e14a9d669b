import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { foldersIn, readIfThere, sweep, writeAtomically, writeFolder } from '../../src/workflow/backlog/files.ts';
import { errorOf, temporaryFolder } from '../support/temporary.ts';

describe('a file of a backlog is written whole or not at all (W-4)', () => {
  it('creates a new file and replaces an existing one', () => {
    const path = join(temporaryFolder(), 'state.json');
    writeAtomically(path, 'one');
    writeAtomically(path, 'two');
    expect(readFileSync(path, 'utf8')).toBe('two');
    expect(readdirSync(join(path, '..'))).toEqual(['state.json']);
  });

  it('keeps the permissions of the file that was there', () => {
    const path = join(temporaryFolder(), 'state.json');
    writeFileSync(path, 'one');
    chmodSync(path, 0o640);
    writeAtomically(path, 'two');
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  it('leaves nothing behind if it fails, and names the intended file', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'state.json', 'inner'), { recursive: true });
    expect(() => writeAtomically(join(folder, 'state.json'), 'one')).toThrow(join(folder, 'state.json'));
    expect(readdirSync(folder)).toEqual(['state.json']);
  });

  it('an error about a missing folder names the intended file, not the temporary one', () => {
    const path = join(temporaryFolder(), 'gone', 'state.json');
    expect(() => writeAtomically(path, 'one')).toThrow(`ENOENT: no such file or directory, open '${path}'`);
  });

  it('keeps the error itself as the cause', () => {
    const path = join(temporaryFolder(), 'gone', 'state.json');
    const failed = errorOf(() => writeAtomically(path, 'one'));
    expect(failed.cause).toMatchObject({ code: 'ENOENT' });
  });
});

describe('a folder of a backlog is written whole or not at all', () => {
  it('with all its files, and the folders above it', () => {
    const folder = temporaryFolder();
    writeFolder(
      join(folder, 'bugs', 'BUG-001'),
      new Map([
        ['PROMPT.md', 'Do it.'],
        ['PLAN.md', 'How.'],
      ]),
    );
    expect(readdirSync(join(folder, 'bugs'))).toEqual(['BUG-001']);
    expect(readFileSync(join(folder, 'bugs/BUG-001/PROMPT.md'), 'utf8')).toBe('Do it.');
    expect(readFileSync(join(folder, 'bugs/BUG-001/PLAN.md'), 'utf8')).toBe('How.');
  });

  it('leaves nothing behind if one of its files cannot be written, and names the folder', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'BUG-001');
    const files = new Map([
      ['PROMPT.md', 'Do it.'],
      ['no/such/PLAN.md', 'How.'],
    ]);
    expect(() => writeFolder(path, files)).toThrow(`open '${path}/no/such/PLAN.md'`);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('does not replace a folder that has files', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'BUG-001'));
    writeFileSync(join(folder, 'BUG-001', 'PLAN.md'), 'kept');
    expect(() => writeFolder(join(folder, 'BUG-001'), new Map([['PLAN.md', 'lost']]))).toThrow('BUG-001');
    expect(readFileSync(join(folder, 'BUG-001', 'PLAN.md'), 'utf8')).toBe('kept');
    expect(readdirSync(folder)).toEqual(['BUG-001']);
  });
});

describe('temporary files of interrupted writes are removed', () => {
  it('files and folders, but nothing with a similar name', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, '.0123456789ab.tmp'));
    writeFileSync(join(folder, '.0123456789ab.tmp', 'PLAN.md'), '');
    const kept = [
      '.0123456789.tmp',
      '.0123456789abc.tmp',
      '0123456789ab.tmp',
      '.0123456789ab.tmp.md',
      '.XYZ456789abc.tmp',
    ];
    for (const name of ['.ba9876543210.tmp', ...kept]) writeFileSync(join(folder, name), '');
    sweep([join(folder, 'missing'), folder]);
    expect(readdirSync(folder).toSorted()).toEqual(kept.toSorted());
  });
});

describe('a file is read if it is there', () => {
  it('as text without a byte order mark at its start', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'a.md'), '\uFEFFone \uFEFFtwo');
    expect(readIfThere(join(folder, 'a.md'))).toBe('one \uFEFFtwo');
  });

  it('null without the file, or with a file where its folder should be', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'a.md'), '');
    expect(readIfThere(join(folder, 'b.md'))).toBeNull();
    expect(readIfThere(join(folder, 'a.md', 'b.md'))).toBeNull();
  });

  it('any other failure is an error that names the file', () => {
    const folder = temporaryFolder();
    const failed = errorOf(() => readIfThere(folder));
    expect(failed.message).toBe(`${folder}: EISDIR: illegal operation on a directory, read`);
    expect(failed.cause).toMatchObject({ code: 'EISDIR' });
  });
});

describe('the folders of a backlog', () => {
  it('are sorted, without files, hidden folders, and links that lead to no folder', () => {
    const folder = temporaryFolder();
    for (const name of ['b', 'a', '.git']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'c.md'), '');
    symlinkSync(join(folder, 'a'), join(folder, 'd'));
    symlinkSync(join(folder, 'nowhere'), join(folder, 'e'));
    symlinkSync(join(folder, 'f'), join(folder, 'f'));
    symlinkSync('x'.repeat(300), join(folder, 'h'));
    symlinkSync(join(folder, 'c.md', 'inner'), join(folder, 'g'));
    expect(foldersIn(folder)).toEqual(['a', 'b', 'd']);
  });

  it('a missing folder has none', () => {
    const folder = temporaryFolder();
    expect(foldersIn(join(folder, 'bugs'))).toEqual([]);
  });
});
