import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileTools, readingTools } from '../../src/workspace/file-tools.ts';

function directory(files: Record<string, string | Buffer> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'pawl-files-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return { root, tools: fileTools(root), at: (name: string) => join(root, name) };
}
const many = (count: number, name: (index: number) => string, text = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), text]));

describe('fileTools: lists', () => {
  it('say of each entry what it is, and of files how large', async () => {
    const { tools, at } = directory({ 'a.txt': 'four', 'deep/b.txt': 'b' });
    symlinkSync(at('a.txt'), at('link'));
    const { entries, leftOut } = await tools.list_directory.execute({ path: '.' });
    expect(leftOut).toBe(0);
    expect(entries.toSorted((one, other) => one.name.localeCompare(other.name))).toEqual([
      { name: 'a.txt', kind: 'file', size: 4 },
      { name: 'deep', kind: 'folder' },
      { name: 'link', kind: 'link' },
    ]);
    expect(await tools.list_directory.execute({ path: 'deep' })).toEqual({
      entries: [{ name: 'b.txt', kind: 'file', size: 1 }],
      leftOut: 0,
    });
  });

  it('have 500 entries at most, and say how many are left out', async () => {
    const { tools } = directory(many(503, (index) => `${index}.txt`));
    const { entries, leftOut } = await tools.list_directory.execute({ path: '.' });
    expect([entries.length, leftOut]).toEqual([500, 3]);
  });
});

describe('fileTools: reading', () => {
  it('is of text files up to 5 MB', async () => {
    const { tools } = directory({
      whole: 'a'.repeat(5_000_000),
      large: 'a'.repeat(5_000_001),
      binary: Buffer.from([65, 0, 66]),
      late: Buffer.concat([Buffer.alloc(8_000, 65), Buffer.from([0])]),
      'folder/a': 'a',
    });
    const read = (path: string) => tools.read_file.execute({ path });
    expect(await read('whole')).toHaveLength(5_000_000);
    await expect(read('large')).rejects.toThrow('large is 5000001 bytes; the limit is 5000000.');
    await expect(read('binary')).rejects.toThrow('binary is not a text file.');
    await expect(read('folder')).rejects.toThrow('folder is not a file.');
    expect(await read('late')).toHaveLength(8_001);
  });

  it('is all that an agent that only reads may do', () => {
    const { root } = directory();
    expect(Object.keys(readingTools(root))).toEqual(['list_directory', 'read_file', 'find_files', 'search_text']);
    expect(Object.keys(fileTools(root))).toEqual([
      ...Object.keys(readingTools(root)),
      ...['write_file', 'edit_file', 'move_file', 'delete_file'],
    ]);
  });
});

describe('fileTools: finding', () => {
  it('is in order, of 500 files at most', async () => {
    const { tools } = directory({ ...many(500, (index) => `f/${index}.ts`), 'b.md': '', 'a.md': '', 'c/a.md': '' });
    const find = (pattern: string) => tools.find_files.execute({ pattern });
    expect(await find('*.md')).toEqual({ files: ['a.md', 'b.md', 'c/a.md'], isComplete: true, notSearched: [] });
    expect(await find('f/*.ts')).toMatchObject({ isComplete: true });
    const all = await find('**');
    expect([all.files.length, all.isComplete]).toEqual([500, false]);
  });

  it('names 20 folders that are not searched', async () => {
    const { tools } = directory(many(21, (index) => `${String(index).padStart(2, '0')}/node_modules/a.ts`));
    const { files, notSearched, isComplete } = await tools.find_files.execute({ pattern: '**' });
    expect([files, isComplete, notSearched.length, notSearched[0]]).toEqual([[], true, 20, '00/node_modules']);
  });

  it('stops at 5,000 files', async () => {
    const exact = directory(many(5_000, (index) => `f/${index}`));
    expect(await exact.tools.find_files.execute({ pattern: 'none' })).toEqual({
      files: [],
      isComplete: true,
      notSearched: [],
    });
    writeFileSync(exact.at('f/one-more'), '');
    expect(await exact.tools.find_files.execute({ pattern: 'none' })).toMatchObject({ isComplete: false });
  });
});

describe('fileTools: searching', () => {
  it('shows the beginning of each line, without the space around it', async () => {
    const { tools } = directory({ a: `x\n  needle ${'y'.repeat(300)}\n`, b: Buffer.from([0, 110]) });
    expect(await tools.search_text.execute({ text: 'NEEDLE' })).toEqual({
      matches: [{ file: 'a', line: 2, text: `needle ${'y'.repeat(193)}` }],
      isComplete: true,
      notSearched: [],
    });
  });

  it('shows 50 lines at most', async () => {
    const { tools } = directory({ a: 'x\n'.repeat(49), b: 'x\nx\n' });
    const { matches, isComplete } = await tools.search_text.execute({ text: 'x' });
    expect([matches.length, isComplete]).toEqual([50, false]);
    const fewer = await directory({ a: 'x\n'.repeat(49) }).tools.search_text.execute({ text: 'x' });
    expect([fewer.matches.length, fewer.isComplete]).toEqual([49, true]);
  });

  it('leaves out files of more than 1 MB, and says so', async () => {
    const { tools, at } = directory({ a: `needle${'y'.repeat(999_994)}` });
    expect(await tools.search_text.execute({ text: 'needle' })).toMatchObject({
      isComplete: true,
      matches: [{ line: 1 }],
    });
    writeFileSync(at('a'), `needle${'y'.repeat(999_995)}`);
    expect(await tools.search_text.execute({ text: 'needle' })).toMatchObject({ isComplete: false, matches: [] });
  });
});

describe('fileTools: writing', () => {
  it('says how much it did, and writes over no folder', async () => {
    const { tools, at } = directory({ 'folder/a': 'a', b: 'one' });
    expect(await tools.write_file.execute({ path: 'folder/a', content: 'ä' })).toEqual({ written: 2 });
    expect(await tools.edit_file.execute({ path: 'b', old_text: 'one', new_text: 'two' })).toEqual({ replaced: 1 });
    expect(readFileSync(at('b'), 'utf8')).toBe('two');
    await expect(tools.write_file.execute({ path: 'folder', content: '' })).rejects.toThrow('folder is not a file.');
  });

  it('needs approval, unless a pattern allows it and none excepts it', async () => {
    const { root } = directory();
    const { write_file, edit_file } = fileTools(root, { allow: ['docs/**'], except: ['docs/secret/**'] });
    for (const { needsApproval } of [write_file, edit_file])
      expect(
        await Promise.all(['docs/a', 'docs/secret/a', 'src/a', '../a'].map((path) => needsApproval({ path }))),
      ).toEqual([false, true, true, true]);
    expect(await fileTools(root).write_file.needsApproval({ path: 'a' })).toBe(true);
  });
});

describe('fileTools: bad input', () => {
  const root = tmpdir();
  it.each<[() => unknown, string]>([
    [() => fileTools(''), '`root` must be the path of a directory; got "".'],
    [() => fileTools(5 as never), '`root` must be the path of a directory; got 5.'],
    [() => fileTools(root, { allow: 'src' as never }), '`options.allow` must be an array of patterns such as `src/**`'],
    [() => fileTools(root, { except: [''] }), '`options.except[0]` must be'],
    [() => fileTools(root, { allow: [`{${'a,'.repeat(64)}b}`] }), '`options.allow[0]` must be a pattern of at most 64'],
    [() => fileTools(root, { deny: [] } as never), 'Unknown option `options.deny`.'],
  ])('%#', (make, message) => {
    expect(make).toThrow(
      expect.objectContaining({ code: 'invalid_options', message: expect.stringContaining(message) }),
    );
  });

  it.each<[keyof ReturnType<typeof fileTools>, object, boolean]>([
    ['list_directory', { path: '.' }, true],
    ['list_directory', {}, false],
    ['read_file', { path: 'a' }, true],
    ['read_file', {}, false],
    ['find_files', { pattern: 'a' }, true],
    ['find_files', { pattern: 'a'.repeat(200) }, true],
    ['find_files', { pattern: '' }, false],
    ['find_files', { pattern: 'a'.repeat(201) }, false],
    ['find_files', { pattern: `{${'a,'.repeat(64)}b}` }, false],
    ['search_text', { text: 'needle' }, true],
    ['search_text', { text: '' }, false],
    ['write_file', { path: 'a', content: '' }, true],
    ['write_file', { path: '', content: '' }, false],
    ['write_file', { path: 'a' }, false],
    ['edit_file', { path: 'a', old_text: 'abc', new_text: '' }, true],
    ['edit_file', { path: 'a', old_text: '', new_text: '' }, false],
    ['edit_file', { path: 'a', old_text: 'a' }, false],
  ])('%s takes %j: %j', (name, input, valid) => {
    const tool = fileTools(root)[name];
    expect(tool.inputSchema.safeParse(input).success).toBe(valid);
    expect(tool.description).toMatch(/^[A-Z].+\.$/);
  });
});
