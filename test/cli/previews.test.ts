import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { atPrompts, pawlOnTerminal } from '../support/pawl.ts';

it.each(['run', 'chat'] as const)('pawl %s shows the diff of an edit before it asks', async (command) => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-previews-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [agent, file] = [join(folder, 'editor.mjs'), join(folder, 'notes.txt')];
  writeFileSync(file, 'one\ntwo\nthree\n');
  writeFileSync(
    agent,
    `import { rehearsalModel } from '${resolve('dist/src/testing/index.js')}';
    import { fileTools } from '${resolve('dist/src/workspace/index.js')}';
    const edit = { name: 'edit_file', input: { path: 'notes.txt', old_text: 'two', new_text: 'zwei\\u001b[2J' } };
    const report = { calls: [{ name: 'final_report', input: { content: 'Edited.' } }] };
    export default {
      name: 'editor',
      tools: fileTools('${folder}'),
      models: [rehearsalModel(({ prompt, tools }) =>
        !prompt.some(({ role }) => role === 'tool') ? { calls: [edit] } : tools.includes('final_report') ? report : { text: 'Edited.' })],
    };`,
  );
  const prompt = command === 'run' ? ['Edit.'] : [];
  const { code, screen } = await pawlOnTerminal(
    [command, '--agent', agent, ...prompt],
    [atPrompts('you> ', 'Edit.\r', '/exit\r'), atPrompts('[y/N] ', 'y\r')],
  );
  expect(code).toBe(0);
  const plain = stripVTControlCharacters(screen.replaceAll('\r', ''));
  expect(plain).toContain('@@ changes notes.txt, line 2 @@\n one\n-two\n+zwei\\u{1b}[2J\n three\n');
  expect(plain.indexOf('+zwei')).toBeLessThan(plain.indexOf('? [y/N]'));
  expect(readFileSync(file, 'utf8')).toBe('one\nzwei\u001b[2J\nthree\n');
});
