import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileTools } from '../../src/workspace/file-tools.ts';
import { inside, placeInside } from '../../src/workspace/inside.ts';
import { overwrite, withFile } from '../../src/workspace/opened.ts';

/** A directory with a folder that can become a link to one outside, and back. */
function directory() {
  const around = mkdtempSync(join(tmpdir(), 'pawl-opened-'));
  onTestFinished(() => rmSync(around, { recursive: true, force: true }));
  const [root, outside] = [join(around, 'root'), join(around, 'outside')];
  for (const folder of [root, join(root, 'a'), outside]) mkdirSync(folder);
  writeFileSync(join(root, 'a/x'), 'inside');
  writeFileSync(join(outside, 'x'), 'outside');
  return {
    root,
    outside,
    leadOut: () => {
      renameSync(join(root, 'a'), join(root, 'kept'));
      symlinkSync(outside, join(root, 'a'));
    },
    leadBack: () => {
      rmSync(join(root, 'a'));
      renameSync(join(root, 'kept'), join(root, 'a'));
    },
  };
}

/** Acts after the first look, and before the second. */
function looking(look: () => Promise<string>, afterFirst: () => void, beforeSecond = () => {}) {
  let looks = 0;
  return async () => {
    looks += 1;
    if (looks === 2) beforeSecond();
    const place = await look();
    if (looks === 1) afterFirst();
    return place;
  };
}

describe.each(['read', 'change', 'write'] as const)('what is opened to %s is what was checked', (how) => {
  const find = how === 'read' ? inside : placeInside;
  const use = () => expect.unreachable('the file was given to its user');

  it('if its folder becomes a link that leads out', async () => {
    const { root, outside, leadOut } = directory();
    const opening = withFile(
      'a/x',
      how,
      looking(() => find(root, 'a/x'), leadOut),
      use,
    );
    await expect(opening).rejects.toThrow('a/x is outside the directory.');
    expect(readFileSync(join(outside, 'x'), 'utf8')).toBe('outside');
  });

  it('and if it leads back before anybody looks', async () => {
    const { root, outside, leadOut, leadBack } = directory();
    const opening = withFile(
      'a/x',
      how,
      looking(() => find(root, 'a/x'), leadOut, leadBack),
      use,
    );
    await expect(opening).rejects.toThrow('a/x was replaced while it was opened.');
    expect(readFileSync(join(outside, 'x'), 'utf8')).toBe('outside');
  });

  it('and if the file itself becomes a link', async () => {
    const { root, outside } = directory();
    const swap = () => {
      rmSync(join(root, 'a/x'));
      symlinkSync(join(outside, 'x'), join(root, 'a/x'));
    };
    const opening = withFile(
      'a/x',
      how,
      looking(() => find(root, 'a/x'), swap),
      use,
    );
    await expect(opening).rejects.toThrow('a/x was replaced while it was opened.');
  });

  it('and a folder or a pipe is no file', async () => {
    const { root } = directory();
    execFileSync('mkfifo', [join(root, 'pipe')]);
    for (const given of ['a', 'pipe'])
      await expect(withFile(given, how, () => find(root, given), use)).rejects.toThrow(`${given} is not a file.`);
  });
});

it('a text takes the place of all that a file held', async () => {
  const { root } = directory();
  const write = (text: string) =>
    withFile(
      'a/x',
      'write',
      () => placeInside(root, 'a/x'),
      (file) => overwrite(file, text),
    );
  for (const text of ['a much longer text', 'ä', '', 'x'.repeat(100_000)]) {
    expect(await write(text)).toBe(Buffer.byteLength(text));
    expect(readFileSync(join(root, 'a/x'), 'utf8')).toBe(text);
  }
});

describe('fileTools: lines', () => {
  it('are read from one to another', async () => {
    const { root } = directory();
    writeFileSync(join(root, 'lines'), 'one\r\ntwo\nthree\n');
    const { read_file: read } = fileTools(root);
    const lines = (start_line?: number, end_line?: number) => read.execute({ path: 'lines', start_line, end_line });
    expect(await lines()).toBe('one\r\ntwo\nthree\n');
    expect(await lines(2)).toBe('two\nthree\n');
    expect(await lines(undefined, 1)).toBe('one\r\n');
    expect(await lines(2, 2)).toBe('two\n');
    expect(await lines(3, 99)).toBe('three\n');
    await expect(lines(5, 9)).rejects.toThrow('lines has 3 lines, so it has no lines from 5 to 9.');
    await expect(lines(4)).rejects.toThrow('so it has no lines from 4 on.');
    await expect(lines(2, 1)).rejects.toThrow('so it has no lines from 2 to 1.');
  });

  it('are found by a regular expression, in files of a pattern, in linear time', async () => {
    const { root } = directory();
    writeFileSync(join(root, 'a.ts'), 'const one = 1;\nlet two = 2;\n');
    writeFileSync(join(root, 'b.md'), `const\n${'a'.repeat(50_000)}!\n`);
    const { search_text: search } = fileTools(root);
    const found = async (wanted: Parameters<typeof search.execute>[0]) =>
      (await search.execute(wanted)).matches.map(({ file, line }) => `${file}:${line}`);
    expect(await found({ pattern: '^(const|let) \\w+' })).toEqual(['a.ts:1', 'a.ts:2']);
    expect(await found({ pattern: 'const' })).toEqual(['a.ts:1', 'b.md:1']);
    expect(await found({ text: 'CONST', files: '*.md' })).toEqual(['b.md:1']);
    expect(await found({ pattern: '^(a+)+$' })).toEqual([]);
    for (const pattern of ['(a)\\1', '(?<=a)b', '('])
      await expect(search.execute({ pattern })).rejects.toThrow(`${pattern} is no regular expression`);
    const valid = (input: object) => search.inputSchema.safeParse(input).success;
    expect([valid({}), valid({ text: 'a', pattern: 'a' }), valid({ pattern: 'a', files: '*.ts' })]).toEqual([
      ...[false, false, true],
    ]);
  });
});

describe('fileTools: a pattern that takes long', () => {
  it('is ended, and said to be too slow; the process goes on', async () => {
    const { root } = directory();
    writeFileSync(join(root, 'long'), `${'ab'.repeat(200_000)}\n`);
    const { search_text: search } = fileTools(root);
    const pattern = `${Array.from({ length: 20 }, (_, index) => `[ab]{${900 + index}}[c-e]`).join('|')}`;
    await expect(search.execute({ pattern })).rejects.toThrow('takes too long to search for');
    expect((await search.execute({ text: 'abab' })).matches).toHaveLength(1);
  });

  it('a line ends before its carriage return', async () => {
    const { root } = directory();
    writeFileSync(join(root, 'crlf'), 'one foo\r\nfoo two\r\n');
    const { matches } = await fileTools(root).search_text.execute({ pattern: 'foo$' });
    expect(matches.map(({ line, text }) => [line, text])).toEqual([[1, 'one foo']]);
  });
});

describe('fileTools: walks', () => {
  it('end when their call is aborted', async () => {
    const { root } = directory();
    const tools = fileTools(root);
    const abortSignal = AbortSignal.abort(new Error('too late'));
    await expect(tools.find_files.execute({ pattern: '*' }, { abortSignal })).rejects.toThrow('too late');
    await expect(tools.search_text.execute({ text: 'a' }, { abortSignal })).rejects.toThrow('too late');
    await expect(tools.list_directory.execute({ path: '.' }, { abortSignal })).rejects.toThrow('too late');
  });

  it('go through 5,000 folders at most, and say so', async () => {
    const { root } = directory();
    for (let index = 0; index < 5_000; index += 1) mkdirSync(join(root, `f${index}`));
    writeFileSync(join(root, 'f9/x'), '');
    expect(await fileTools(root).find_files.execute({ pattern: 'none' })).toMatchObject({ isComplete: false });
  });
});

describe('fileTools: moving and deleting', () => {
  it('moves a file with the folders above its place, and replaces nothing', async () => {
    const { root } = directory();
    const { move_file: move } = fileTools(root);
    writeFileSync(join(root, 'b'), 'b');
    expect(await move.execute({ from: 'b', to: 'new/deep/b' })).toEqual({ moved: 1 });
    expect([existsSync(join(root, 'b')), readFileSync(join(root, 'new/deep/b'), 'utf8')]).toEqual([false, 'b']);
    await expect(move.execute({ from: 'new/deep/b', to: 'a/x' })).rejects.toThrow('a/x exists already.');
    await expect(move.execute({ from: 'a', to: 'c' })).rejects.toThrow('a is not a file.');
    await expect(move.execute({ from: 'none', to: 'c' })).rejects.toThrow('none does not exist');
    for (const to of ['../out', '.git/hooks/post-commit'])
      await expect(move.execute({ from: 'a/x', to })).rejects.toThrow(to);
    expect(await move.preview({ from: 'a/x', to: 'y' })).toBe('a/x → y');
  });

  it('deletes a file, and nothing outside', async () => {
    const { root, outside } = directory();
    const { delete_file: remove } = fileTools(root);
    symlinkSync(join(outside, 'x'), join(root, 'link'));
    mkdirSync(join(root, '.git'));
    writeFileSync(join(root, '.git/config'), '');
    expect(await remove.execute({ path: 'a/x' })).toEqual({ deleted: 1 });
    expect(existsSync(join(root, 'a/x'))).toBe(false);
    await expect(remove.execute({ path: 'a' })).rejects.toThrow('a is not a file.');
    writeFileSync(join(root, 'real'), '');
    symlinkSync('real', join(root, 'other'));
    await expect(remove.execute({ path: 'other' })).rejects.toThrow('other is a link.');
    await expect(fileTools(root).move_file.execute({ from: 'other', to: 'moved' })).rejects.toThrow('other is a link.');
    expect(existsSync(join(root, 'real'))).toBe(true);
    await expect(remove.execute({ path: 'link' })).rejects.toThrow('link is outside');
    await expect(remove.execute({ path: '.git/config' })).rejects.toThrow('in a .git folder');
    expect(readFileSync(join(outside, 'x'), 'utf8')).toBe('outside');
  });

  it('need approval for each file that is not allowed', async () => {
    const { root } = directory();
    const tools = fileTools(root, { allow: ['docs/**'] });
    const moves = (from: string, to: string) => tools.move_file.needsApproval({ from, to });
    expect([await moves('docs/a', 'docs/b'), await moves('a/x', 'docs/b'), await moves('docs/a', 'b')]).toEqual([
      ...[false, true, true],
    ]);
    expect(await tools.delete_file.needsApproval({ path: 'a/x' })).toBe(true);
    expect(await tools.delete_file.needsApproval({ path: 'docs/a' })).toBe(false);
  });
});

describe('fileTools: what a person sees before deciding', () => {
  it('is the difference that the call would make', async () => {
    const { root } = directory();
    writeFileSync(join(root, 'list'), '1\n2\n3\n4\n5\n6\n7\n8\n');
    const tools = fileTools(root);
    expect(await tools.edit_file.preview({ path: 'list', old_text: '5\n', new_text: 'five\nand more\n' })).toBe(
      '@@ changes list, line 5 @@\n 2\n 3\n 4\n-5\n+five\n+and more\n 6\n 7\n 8',
    );
    expect(await tools.write_file.preview({ path: 'new', content: 'a\nb' })).toBe(
      '@@ creates new @@\n+a\n+b (no newline at the end)',
    );
    expect(await tools.write_file.preview({ path: 'a/x', content: 'inside' })).toBe('a/x: no change');
    expect(await tools.delete_file.preview({ path: 'a/x' })).toBe('@@ deletes a/x @@\n-inside (no newline at the end)');
    writeFileSync(join(root, 'empty'), '');
    writeFileSync(join(root, 'binary'), Buffer.from([65, 0]));
    expect(await tools.delete_file.preview({ path: 'empty' })).toBe('@@ deletes empty @@');
    expect(await tools.write_file.preview({ path: '__init__.py', content: '' })).toBe('@@ creates __init__.py @@');
    expect(await tools.write_file.preview({ path: 'a/x', content: 'inside\n' })).toBe(
      '@@ changes a/x, line 1 @@\n-inside (no newline at the end)\n+inside',
    );
    const why = 'which cannot be shown: binary is not a text file';
    expect(await tools.write_file.preview({ path: 'binary', content: 'a\n' })).toBe(
      `@@ replaces binary, ${why} @@\n+a`,
    );
    expect(await tools.delete_file.preview({ path: 'binary' })).toBe(`@@ deletes binary, ${why} @@`);
    const long = await tools.write_file.preview({ path: 'new', content: 'x\n'.repeat(1_000) });
    expect(long.split('\n').slice(-2)).toEqual(['+x', '… and 801 more lines']);
    await expect(tools.edit_file.preview({ path: 'list', old_text: 'none', new_text: '' })).rejects.toThrow(
      'does not contain the old text',
    );
  });
});
