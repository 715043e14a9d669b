import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inside, placeInside } from '../../src/workspace/inside.ts';

function directory(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-inside-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const folders = (count: number) => Array.from({ length: count }, (_, index) => `f${index}`).join('/');

describe('a path inside a directory', () => {
  it('to read is the real one, of something that is there', async () => {
    const root = directory();
    writeFileSync(join(root, 'a'), '');
    symlinkSync('a', join(root, 'link'));
    expect(await inside(root, 'link')).toBe(join(root, 'a'));
    await expect(inside(root, 'b')).rejects.toThrow(/^b does not exist in the directory\.$/);
    await expect(inside(root, '..')).rejects.toThrow(/^\.\. is outside the directory\.$/);
  });

  it('to write may be new, also behind links that lead to nothing', async () => {
    const root = directory();
    symlinkSync('new', join(root, 'link'));
    symlinkSync('../outside', join(root, 'out'));
    mkdirSync(join(root, '.git'));
    expect(await placeInside(root, 'link')).toBe(join(root, 'new'));
    expect(await placeInside(root, 'link/a/b')).toBe(join(root, 'new/a/b'));
    await expect(placeInside(root, 'out')).rejects.toThrow('out is outside the directory.');
    await expect(placeInside(root, 'out/a')).rejects.toThrow('out/a is outside the directory.');
    for (const path of ['.git/a', '.GIT/a', 'a/.Git'])
      await expect(placeInside(root, path)).rejects.toThrow(`${path} is in a .git folder.`);
    for (const folder of ['a/refs', 'a/objects', 'b/refs', 'c/head', 'c/refs', 'd/refs'])
      mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, 'b/HEAD'), '');
    symlinkSync('refs', join(root, 'd/objects'));
    for (const path of ['a/HEAD', 'a/head', 'b/objects/x', 'b/commondir', 'd/HEAD'])
      await expect(placeInside(root, path)).rejects.toThrow(
        `Writing ${path} would make git treat its folder as a repository.`,
      );
    for (const path of ['HEAD', 'objects/x', 'a/objects/x', 'b/config', 'b/HEAD', 'b/objects', 'c/objects/x'])
      expect(await placeInside(root, path)).toBe(join(root, path));
  });

  it('to write goes through at most forty links and new folders', async () => {
    const root = directory();
    expect(await placeInside(root, folders(41))).toBe(join(root, folders(41)));
    await expect(placeInside(root, folders(42))).rejects.toThrow('goes through too many links.');
    for (let index = 0; index < 35; index += 1) symlinkSync(`l${index + 1}`, join(root, `l${index}`));
    expect(await placeInside(root, `l0/${folders(5)}`)).toBe(join(root, 'l35', folders(5)));
    await expect(placeInside(root, `l0/${folders(7)}`)).rejects.toThrow('goes through too many links.');
  });

  it('is refused, with the reason, where it cannot be followed', async () => {
    const root = directory();
    symlinkSync('loop', join(root, 'loop'));
    writeFileSync(join(root, 'file'), '');
    await expect(placeInside(root, 'loop')).rejects.toThrow('ELOOP');
    await expect(placeInside(root, 'file/a')).rejects.toThrow('ENOTDIR');
    await expect(placeInside(root, 'a\0b')).rejects.toThrow('null bytes');
  });
});
