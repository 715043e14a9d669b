import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileTools } from '../../src/workspace/index.ts';

/** Creates a directory with files, next to a directory that must stay out of reach. */
function directory(files: Record<string, string> = {}) {
  const around = mkdtempSync(join(tmpdir(), 'pawl-workspace-'));
  onTestFinished(() => rmSync(around, { recursive: true, force: true }));
  const root = join(around, 'root');
  mkdirSync(join(around, 'outside'));
  mkdirSync(root);
  writeFileSync(join(around, 'outside/secret.txt'), 'secret');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return { around, root, read: (name: string) => readFileSync(join(root, name), 'utf8') };
}

describe('fileTools', () => {
  it('reads, finds and searches below its directory', async () => {
    const { root } = directory({
      'src/a.ts': 'const one = 1;\n',
      'src/deep/b.ts': 'const TWO = 2;\n',
      'read.md': 'two',
    });
    const tools = fileTools(root);
    expect(await tools.read_file.execute({ path: 'src/a.ts' })).toBe('const one = 1;\n');
    await expect(tools.read_file.execute({ path: 'src/c.ts' })).rejects.toThrow(
      'src/c.ts does not exist in the directory.',
    );
    expect(await tools.find_files.execute({ pattern: '*.ts' })).toEqual({
      files: ['src/a.ts', 'src/deep/b.ts'],
      isComplete: true,
      notSearched: [],
    });
    expect(await tools.search_text.execute({ text: 'two' })).toEqual({
      matches: [
        { file: 'read.md', line: 1, text: 'two' },
        { file: 'src/deep/b.ts', line: 1, text: 'const TWO = 2;' },
      ],
      isComplete: true,
      notSearched: [],
    });
  });

  it('writes with the folders above, and edits what is there exactly once', async () => {
    const { root, read } = directory({ 'a.txt': 'one two one' });
    const tools = fileTools(root);
    expect(await tools.write_file.execute({ path: 'new/deep/b.txt', content: 'hé' })).toEqual({ written: 3 });
    expect(read('new/deep/b.txt')).toBe('hé');
    await tools.edit_file.execute({ path: 'a.txt', old_text: 'two', new_text: '$& three' });
    expect(read('a.txt')).toBe('one $& three one');
    await expect(tools.edit_file.execute({ path: 'a.txt', old_text: 'one', new_text: '' })).rejects.toThrow(
      'more than once',
    );
    await tools.write_file.execute({ path: 'b.txt', content: '}\n}\n}' });
    const overlapping = tools.edit_file.execute({ path: 'b.txt', old_text: '}\n}', new_text: '' });
    await expect(overlapping).rejects.toThrow('more than once');
    await expect(tools.edit_file.execute({ path: 'a.txt', old_text: 'four', new_text: '' })).rejects.toThrow(
      'does not contain',
    );
    expect(read('a.txt')).toBe('one $& three one');
  });

  it('rejects paths and links that lead outside, including dangling links', async () => {
    const { around, root } = directory({ 'a.txt': 'a' });
    symlinkSync(join(around, 'outside'), join(root, 'folder'));
    symlinkSync(join(around, 'outside/secret.txt'), join(root, 'file'));
    symlinkSync(join(around, 'outside/new.txt'), join(root, 'dangling'));
    const tools = fileTools(root, { allow: ['**'] });
    for (const path of ['../outside/secret.txt', join(around, 'outside/secret.txt'), 'folder/secret.txt', 'file']) {
      await expect(tools.read_file.execute({ path })).rejects.toThrow('outside the directory');
      await expect(tools.write_file.execute({ path, content: 'x' })).rejects.toThrow('outside the directory');
      await expect(tools.edit_file.execute({ path, old_text: 'secret', new_text: 'x' })).rejects.toThrow('outside');
    }
    await expect(tools.write_file.execute({ path: 'folder/new.txt', content: 'x' })).rejects.toThrow('outside');
    await expect(tools.write_file.execute({ path: 'dangling', content: 'x' })).rejects.toThrow();
    expect(readFileSync(join(around, 'outside/secret.txt'), 'utf8')).toBe('secret');
    expect(() => readFileSync(join(around, 'outside/new.txt'))).toThrow();
    expect(await tools.search_text.execute({ text: 'secret' })).toMatchObject({ matches: [], isComplete: true });
  });

  it('never writes to a .git folder, where git executes files', async () => {
    const { root } = directory({ '.git/config': 'x' });
    const tools = fileTools(root, { allow: ['**'] });
    for (const path of ['.git/hooks/pre-commit', 'sub/.git/config', './x/../.git/config']) {
      await expect(tools.write_file.execute({ path, content: 'x' })).rejects.toThrow('.git folder');
      expect(await tools.write_file.needsApproval({ path })).toBe(true);
    }
  });

  it('a write requires approval if the real path of its file is not allowed', async () => {
    const { root } = directory({ 'docs/a.md': '', 'src/a.ts': '' });
    symlinkSync(join(root, 'src'), join(root, 'docs/code'));
    const asks = async (allow: string[], path: string) =>
      (await fileTools(root, { allow }).write_file.needsApproval({ path })) === true;
    expect(await asks([], 'docs/a.md')).toBe(true);
    expect(await asks(['docs/**'], 'docs/a.md')).toBe(false);
    expect(await asks(['docs/**'], 'docs/new/b.md')).toBe(false);
    expect(await asks(['docs/**'], 'docs/../src/a.ts')).toBe(true);
    expect(await asks(['docs/**'], 'docs/code/a.ts')).toBe(true);
    expect(await asks(['docs/**'], '../b.md')).toBe(true);
    expect(await asks(['*.md'], 'docs/a.md')).toBe(false);
  });

  it.each([
    [{ allow: 'src' }, 'an array of patterns'],
    [{ allow: ['{a,b}'.repeat(7)] }, '`options.allow[0]` must be a pattern of at most 64 alternatives'],
    [{ except: ['x', ''] }, 'options.except[1]'],
    [{ write: true }, 'write'],
  ])('refuses the options %j', (options, problem) => {
    expect(() => fileTools('.', options as never)).toThrow(problem);
    expect(() => fileTools('' as never)).toThrow('the path of a directory');
  });
});

describe('fileTools with unusual files', () => {
  it('applies concurrent edits of a file', async () => {
    const { root, read } = directory({ 'a.txt': 'one two' });
    const { edit_file: edit } = fileTools(root);
    await Promise.all([
      edit.execute({ path: 'a.txt', old_text: 'one', new_text: '1' }),
      edit.execute({ path: 'a.txt', old_text: 'two', new_text: '2' }),
    ]);
    expect(read('a.txt')).toBe('1 2');
  });

  it('refuses concurrent writes that would make a folder look like a repository together', async () => {
    const { root } = directory({});
    const names = ['a/HEAD', 'a/objects/x', 'a/refs/x'];
    // Two agents with file tools of their own, in the same directory.
    const tools = [fileTools(root), fileTools(root)];
    const ends = await Promise.allSettled(
      names.map((path, index) => tools[index % 2]?.write_file.execute({ path, content: 'ref: refs/heads/x' })),
    );
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(names.filter((name) => existsSync(join(root, name)))).toEqual(names.slice(0, 2));
  });

  it('refuses to edit a file that is not UTF-8, and keeps a byte order mark', async () => {
    const { root } = directory({ 'bom.txt': '\uFEFFone' });
    writeFileSync(join(root, 'latin.txt'), Buffer.from('caf\xe9 one', 'latin1'));
    const { edit_file: edit } = fileTools(root);
    await expect(edit.execute({ path: 'latin.txt', old_text: 'one', new_text: 'two' })).rejects.toThrow('not UTF-8');
    expect(readFileSync(join(root, 'latin.txt'), 'latin1')).toBe('caf\xe9 one');
    await edit.execute({ path: 'bom.txt', old_text: 'one', new_text: 'two' });
    expect(readFileSync(join(root, 'bom.txt'), 'utf8')).toBe('\uFEFFtwo');
  });

  it('searches every text file, whatever its extension', async () => {
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`src/f${index}.kt`, 'nothing']));
    const { root } = directory({ ...many, Makefile: 'needle', 'z/last.vue': 'a needle' });
    writeFileSync(join(root, 'binary'), Buffer.from([0, 1, ...Buffer.from('needle')]));
    expect(await fileTools(root).search_text.execute({ text: 'Needle' })).toEqual({
      matches: [
        { file: 'Makefile', line: 1, text: 'needle' },
        { file: 'z/last.vue', line: 1, text: 'a needle' },
      ],
      isComplete: true,
      notSearched: [],
    });
  });

  it('says which folders are not searched, and lists them', async () => {
    const { root } = directory({ 'dist/a.js': 'needle', 'b.js': 'hay', 'lib/node_modules/x/c.js': 'needle' });
    const tools = fileTools(root);
    const notSearched = ['dist', 'lib/node_modules'];
    expect(await tools.find_files.execute({ pattern: '**/*.js' })).toEqual({
      files: ['b.js'],
      isComplete: true,
      notSearched,
    });
    expect(await tools.search_text.execute({ text: 'needle' })).toEqual({ matches: [], isComplete: true, notSearched });
    const { entries, leftOut } = await tools.list_directory.execute({ path: '.' });
    expect([entries.map(({ name }) => name).toSorted(), leftOut]).toEqual([['b.js', 'dist', 'lib'], 0]);
    for (const name of ['node_modules', '.git', 'dist']) expect(tools.search_text.description).toContain(name);
  });

  it('reports incomplete searches and listings', async () => {
    const { root } = directory({ 'big.txt': `needle ${'x'.repeat(1_000_000)}`, 'small.txt': 'needle' });
    const tools = fileTools(root);
    expect(await tools.search_text.execute({ text: 'needle' })).toEqual({
      matches: [{ file: 'small.txt', line: 1, text: 'needle' }],
      isComplete: false,
      notSearched: [],
    });
    mkdirSync(join(root, 'many'));
    for (let index = 0; index < 501; index += 1) writeFileSync(join(root, `many/${index}.md`), '');
    const { files, isComplete } = await tools.find_files.execute({ pattern: '*.md' });
    expect([files.length, isComplete]).toEqual([500, false]);
  });

  it('survives link loops, and writes only to regular files', async () => {
    const { root } = directory();
    symlinkSync(join(root, 'missing/../loop'), join(root, 'loop'));
    symlinkSync('b', join(root, 'a'));
    symlinkSync('a', join(root, 'b'));
    mkdirSync(join(root, 'folder'));
    const tools = fileTools(root, { allow: ['**'] });
    for (const path of ['loop', 'a', 'a/b', 'folder']) {
      await expect(tools.write_file.execute({ path, content: 'x' })).rejects.toThrow();
    }
    expect(await tools.write_file.needsApproval({ path: 'loop' })).toBe(true);
    const { entries } = await tools.list_directory.execute({ path: '.' });
    expect(entries.map(({ name, kind }) => `${name} ${kind}`).toSorted()).toEqual([
      'a link',
      'b link',
      'folder folder',
      'loop link',
    ]);
  });

  it('`except` takes precedence over `allow`', async () => {
    const { root } = directory();
    const { write_file: write } = fileTools(root, { allow: ['**'], except: ['**/.claude/**'] });
    expect(await write.needsApproval({ path: '.claude/agents/x.md' })).toBe(true);
    expect(await write.needsApproval({ path: '.GIT/hooks/x' })).toBe(true);
    expect(await write.needsApproval({ path: 'claude/x.md' })).toBe(false);
  });
});
