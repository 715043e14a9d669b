import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineAgent, runSession, sqliteJournal } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { lockRun } from '../../src/workflow/backlog/lock.ts';
import { fileTools } from '../../src/workspace/index.ts';
import { report } from '../support/session.ts';

/** What another process gets from a database. It closes it, as the last one that it knows of. */
function elsewhere(file: string, statement: string): string {
  const program = `
    import { DatabaseSync } from 'node:sqlite';
    const database = new DatabaseSync(${JSON.stringify(file)});
    try { database.exec(${JSON.stringify(statement)}); console.log('done'); }
    catch (error) { console.log(error.message); }
    database.close();`;
  const args = ['--no-warnings', '--input-type=module', '-e', program];
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim();
}

const folder = () => mkdtempSync(join(tmpdir(), 'pawl-databases-'));

/** Everything that these tools can do with a file. Returns how each of those that name it refused. */
async function everyUse(root: string, path: string): Promise<string[]> {
  const tools = fileTools(root, { allow: ['**'] });
  await tools.search_text.execute({ text: 'a text' });
  await tools.find_files.execute({ pattern: '**/*' });
  await tools.list_directory.execute({ path: '.' });
  const uses = [
    () => tools.read_file.execute({ path }),
    () => tools.write_file.execute({ path, content: 'x' }),
    () => tools.edit_file.execute({ path, old_text: 'a', new_text: 'b' }),
  ];
  const told: string[] = [];
  // One by one: what is written must not be what is read.
  for (const use of uses) told.push(await use().then(String, ({ message }) => message));
  return told;
}

describe('tools for files and the databases that their process has open', () => {
  it('D-3: keep the locks of a journal, so no other process takes its log away', async () => {
    const root = folder();
    const journal = sqliteJournal(join(root, 'pawl.db'));
    const agent = defineAgent({ name: 'a', models: [rehearsalModel([report()])] });
    await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
    for (const name of ['pawl.db', 'pawl.db-wal', 'pawl.db-shm']) {
      const refusal = `${name} is a database that this process has open.`;
      expect(await everyUse(root, name)).toEqual([refusal, refusal, refusal]);
    }
    expect(elsewhere(join(root, 'pawl.db'), 'SELECT count(*) FROM sessions')).toBe('done');
    expect(existsSync(join(root, 'pawl.db-wal'))).toBe(true);
    await journal.close();
    await journal.close();
    expect((await everyUse(root, 'pawl.db'))[0]).toBe('pawl.db is not a text file.');
  });

  it('whatever its name, and through links', async () => {
    const root = folder();
    for (const name of ['agent-journal', 'notes-wal']) {
      const journal = sqliteJournal(join(root, name));
      await journal.create({ sessionId: 's', agent: 'a', metadata: {} }, { owner: 'o', entries: [] });
      symlinkSync(name, join(root, `${name}.link`));
      for (const path of [name, `${name}-shm`, `${name}.link`])
        expect((await everyUse(root, path))[0]).toContain('has open');
      await journal.close();
    }
    expect(() => sqliteJournal('file:pawl.db')).toThrow('`file` must be a path, or :memory:; got "file:pawl.db".');
  });

  it('leave it out of a search', async () => {
    const root = folder();
    const journal = sqliteJournal(join(root, 'pawl.db'));
    await journal.create({ sessionId: 's', agent: 'needle', metadata: {} }, { owner: 'o', entries: [] });
    writeFileSync(join(root, 'pawl.db-journal'), 'needle');
    writeFileSync(join(root, 'note.txt'), 'needle');
    expect(await fileTools(root).search_text.execute({ text: 'needle' })).toMatchObject({
      matches: [{ file: 'note.txt' }],
      isComplete: true,
    });
    await journal.close();
  });

  it('a journal that is open twice stays locked until both are closed', async () => {
    const root = folder();
    const [one, two] = [sqliteJournal(join(root, 'pawl.db')), sqliteJournal(join(root, 'pawl.db'))];
    await one.close();
    expect((await everyUse(root, 'pawl.db'))[0]).toContain('has open');
    await two.close();
    expect((await everyUse(root, 'pawl.db'))[0]).not.toContain('has open');
  });

  it('keep the lock of a run, so no second one begins on its backlog', async () => {
    const root = folder();
    const lock = await lockRun(root);
    const file = join(root, 'agent_runs/.locks/run');
    expect((await everyUse(root, 'agent_runs/.locks/run'))[0]).toContain('has open');
    expect(elsewhere(file, 'BEGIN EXCLUSIVE')).toBe('database is locked');
    lock.release();
    expect(elsewhere(file, 'BEGIN EXCLUSIVE')).toBe('done');
    writeFileSync(join(root, 'note.txt'), 'a text');
    expect(await fileTools(root).search_text.execute({ text: 'a text' })).toEqual({
      ...{ isComplete: true, notSearched: [] },
      matches: [{ file: 'note.txt', line: 1, text: 'a text' }],
    });
  });
});
