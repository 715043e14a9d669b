import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type AgentSurroundings, agentSource, readAgentFile } from '../../src/cli/agent-file.ts';
import { temporaryFolder } from '../support/temporary.ts';

let project: string;
let notes: string[];
beforeEach(() => {
  project = temporaryFolder();
  notes = [];
});

const surroundings = (own: Partial<AgentSurroundings> = {}): AgentSurroundings => ({
  root: project,
  project,
  commands: [],
  except: [],
  models: {},
  note: (text) => void notes.push(text),
  ...own,
});

function written(name: string, text: string): string {
  const path = join(project, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** The definition in an agent file with this front matter. */
const read = (
  matter: string,
  { name = 'agents/one.md', body = '', ...own }: Partial<AgentSurroundings> & { name?: string; body?: string } = {},
) => readAgentFile(written(name, `---\n${matter}\n---\n${body}`), surroundings(own));

const claude = { name: '.claude/agents/one.md' };
const namesOf = ({ tools = {} }: { tools?: object | undefined }) => Object.keys(tools);

describe('the tool modules of an agent file', () => {
  const module = 'export const shout = { description: "Shouts." };\nexport default { shout };\n';

  it('are found beside it, and their files need approval to be written', async () => {
    written('agents/tools/shout.mjs', module);
    const { tools = {} } = await read('name: one\ntools: [Edit, ./tools/shout.mjs]');
    expect(Object.keys(tools)).toEqual(['edit_file', 'shout']);
    const asks = (path: string) =>
      (tools.edit_file as unknown as { needsApproval(input: object): unknown }).needsApproval({ path });
    expect([await asks('src/a.ts'), await asks('agents/tools/shout.mjs')]).toEqual([false, true]);
  });

  it('may export the tools by name, or a function of the folder that the agent works in', async () => {
    written('agents/named.mjs', 'export const one = { description: "1" };\nexport const two = { description: "2" };\n');
    written('agents/made.mjs', 'export default ({ root }) => ({ made: { description: root } });\n');
    const { tools } = await read('name: one\ntools: [./named.mjs, ./made.mjs]', { root: '/somewhere' });
    expect(tools).toEqual({
      one: { description: '1' },
      two: { description: '2' },
      made: { description: '/somewhere' },
    });
  });

  it.each([
    ['tools: [5]', 'must list its tools as module paths; got 5'],
    ['tools: [{ a: 1 }]', 'must list its tools as module paths; got {"a":1}'],
    ['tools: [./nosuch.mjs]', 'could not be loaded: '],
    ['tools: [./text.mjs]', 'does not export any tools'],
    ['tools: [./nothing.mjs]', 'does not export any tools'],
  ])('%s is refused', async (matter, problem) => {
    written('agents/text.mjs', 'export default "tools";\n');
    written('agents/nothing.mjs', 'export default () => null;\n');
    await expect(read(`name: one\n${matter}`)).rejects.toThrow(problem);
  });

  it('are loaded once, before the definition is asked for', async () => {
    const file = written('agents/one.md', '---\nname: one\ntools: [./late.mjs]\n---\n');
    await expect(agentSource(file)).rejects.toThrow('could not be loaded');
  });

  it.each([
    ['an object', 'export default { one: {} };', true],
    ['a function', 'export default () => ({ one: {} });', false],
  ])('that export %s: whether every work tree gets the same tools', async (_, text, isFixed) => {
    written('agents/tools.mjs', text);
    const source = await agentSource(written('agents/one.md', '---\nname: one\ntools: [./tools.mjs, Read]\n---\n'));
    expect(source.isFixed).toBe(isFixed);
  });

  it('an agent file without modules works in any folder', async () => {
    expect((await agentSource(written('one.md', '---\nname: one\ntools: Read\n---\n'))).isFixed).toBe(false);
  });
});

describe('an agent file that is a module', () => {
  it.each(['.mjs', '.js', '.ts', '.mts'])('may end in %s', async (end) => {
    expect(await readAgentFile(written(`one${end}`, 'export default { name: "one" };\n'), surroundings())).toEqual({
      name: 'one',
    });
  });

  it('exports a definition, or a function of the folder that it works in', async () => {
    const fixed = await agentSource(written('fixed.mjs', 'export default { name: "one" };\n'));
    const made = await agentSource(written('made.mjs', 'export default async ({ root }) => ({ name: root });\n'));
    expect([fixed.isFixed, made.isFixed]).toEqual([true, false]);
    expect(await fixed.definition(surroundings())).toEqual({ name: 'one' });
    expect(await made.definition(surroundings({ root: 'there' }))).toEqual({ name: 'there' });
  });

  it('exports an agent, whose definition is used', async () => {
    const definition = { name: 'made' };
    const file = written('agent.mjs', `export default ${JSON.stringify({ targets: [], definition })};\n`);
    expect(await readAgentFile(file, surroundings())).toEqual(definition);
  });

  it.each([
    ['nothing', 'export const one = 1;', 'undefined'],
    ['null', 'export default null;', 'null'],
    ['a text', 'export default "one";', '"one"'],
    ['a function that returns a number', 'export default () => 5;', '5'],
  ])('that exports %s is refused', async (_, text, got) => {
    const file = written('one.mjs', text);
    await expect(readAgentFile(file, surroundings())).rejects.toThrow(
      `The agent file ${file} must have an agent, a definition or a function of { root } as its default export; got ${got}.`,
    );
  });

  it('that throws is refused with its message', async () => {
    await expect(readAgentFile(written('one.mjs', 'throw new Error("too early");'), surroundings())).rejects.toThrow(
      'could not be loaded: too early',
    );
  });
});

it('alone, an agent file works in the current folder, and its notes go to stderr', async () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const file = written(claude.name, '---\nname: one\ntools: Bash, WebFetch\n---\n');
  const names = namesOf(await readAgentFile(file));
  const told = stderr.mock.calls.map(([text]) => text);
  stderr.mockRestore();
  expect([names, told]).toEqual([
    ['run_command'],
    [`pawl: ${file} names the tool "WebFetch", which has no counterpart; ignored.\n`],
  ]);
});
