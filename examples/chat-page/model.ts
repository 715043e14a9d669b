/** Plays a model without a key: it reads the notes, asks to edit them, and tells what it did. "fail" makes it say nothing. */
import { rehearsalModel } from 'pawl/testing';

const edit = { path: 'notes.md', old_text: 'the bill of May', new_text: 'the bill of May (paid on June 2)' };
const done = `Done. Here is what changed:

| file | line | before | after |
| --- | --- | --- | --- |
| \`notes.md\` | 1 | ${edit.old_text} | **${edit.new_text}** |`;

export const model =
  process.env.MODEL ??
  rehearsalModel(({ prompt }) => {
    const asked = prompt.findLastIndex(
      ({ role, content }) => role === 'user' && !JSON.stringify(content).includes('system notice'),
    );
    const said = JSON.stringify(prompt[asked]?.content ?? '');
    const answers = prompt.slice(asked).filter(({ role }) => role === 'tool');
    if (said.includes('fail')) return {};
    if (answers.length === 0)
      return { text: 'I look at your notes first.', calls: [{ name: 'read_file', input: { path: 'notes.md' } }] };
    const last = JSON.stringify(answers.at(-1));
    if (last.includes('is changed')) return { text: done };
    if (last.includes('denied')) return { text: 'Then I leave the notes as they are.' };
    return { text: 'I would mark the bill as paid:', calls: [{ name: 'edit_file', input: edit }] };
  });
