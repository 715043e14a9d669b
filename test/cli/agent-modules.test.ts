import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { agentSource, readAgentFile } from '../../src/cli/agent-file.ts';
import { AgentProject, claude } from '../support/agent-project.ts';

let project: AgentProject;
beforeEach(() => {
  project = new AgentProject();
});

describe('the tool modules of an agent file', () => {
  const module = 'export const shout = { description: "Shouts." };\nexport default { shout };\n';

  it('are found beside it, and their files need approval to be written', async () => {
    project.write('agents/tools/shout.mjs', module);
    const { tools = {} } = await project.read('name: one\ntools: [Edit, ./tools/shout.mjs]');
    expect(Object.keys(tools)).toEqual(['edit_file', 'shout']);
    const asks = (path: string) =>
      (tools.edit_file as unknown as { needsApproval(input: object): unknown }).needsApproval({ path });
    expect([await asks('src/a.ts'), await asks('agents/tools/shout.mjs')]).toEqual([false, true]);
  });

  it('may export the tools by name, or a function of the folder that the agent works in', async () => {
    project.write(
      'agents/named.mjs',
      'export const one = { description: "1" };\nexport const two = { description: "2" };\n',
    );
    project.write('agents/made.mjs', 'export default ({ root }) => ({ made: { description: root } });\n');
    const { tools } = await project.read('name: one\ntools: [./named.mjs, ./made.mjs]', { root: '/somewhere' });
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
    ['tools: [./broken.mjs]', 'broken.mjs exports a function that failed: too early.'],
  ])('%s is refused', async (matter, problem) => {
    project.write('agents/text.mjs', 'export default "tools";\n');
    project.write('agents/nothing.mjs', 'export default () => null;\n');
    project.write('agents/broken.mjs', 'export default () => { throw new Error("too early"); };\n');
    await expect(project.read(`name: one\n${matter}`)).rejects.toThrow(problem);
  });

  it('are made once, before the definition is asked for', async () => {
    const made = 'globalThis.timesMade = (globalThis.timesMade ?? 0) + 1;\nexport default { one: {} };\n';
    project.write('agents/once.mjs', made);
    const timesMade = () => Reflect.get(globalThis, 'timesMade');
    onTestFinished(() => void Reflect.deleteProperty(globalThis, 'timesMade'));
    const file = project.write('agents/one.md', '---\nname: one\ntools: [./once.mjs]\n---\n');
    const source = await agentSource(file);
    expect(timesMade()).toBe(1);
    for (const root of ['here', 'there']) await source.definition(project.surroundings({ root }));
    expect(timesMade()).toBe(1);
    await expect(
      agentSource(project.write('agents/two.md', '---\nname: two\ntools: [./late.mjs]\n---\n')),
    ).rejects.toThrow('could not be loaded');
  });

  it.each([
    ['an object', 'export default { one: {} };', true],
    ['a function', 'export default () => ({ one: {} });', false],
  ])('that export %s: whether every work tree gets the same tools', async (_, text, isFixed) => {
    project.write('agents/tools.mjs', text);
    const source = await agentSource(
      project.write('agents/one.md', '---\nname: one\ntools: [./tools.mjs, Read]\n---\n'),
    );
    expect(source.isFixed).toBe(isFixed);
  });

  it('an agent file without modules works in any folder', async () => {
    expect((await agentSource(project.write('one.md', '---\nname: one\ntools: Read\n---\n'))).isFixed).toBe(false);
  });
});

describe('an agent file that is a module', () => {
  it.each(['.mjs', '.js', '.ts', '.mts'])('may end in %s', async (end) => {
    expect(
      await readAgentFile(project.write(`one${end}`, 'export default { name: "one" };\n'), project.surroundings()),
    ).toEqual({
      name: 'one',
    });
  });

  it('exports a definition, or a function of the folder that it works in', async () => {
    const fixed = await agentSource(project.write('fixed.mjs', 'export default { name: "one" };\n'));
    const made = await agentSource(project.write('made.mjs', 'export default async ({ root }) => ({ name: root });\n'));
    expect([fixed.isFixed, made.isFixed]).toEqual([true, false]);
    expect(await fixed.definition(project.surroundings())).toEqual({ name: 'one' });
    expect(await made.definition(project.surroundings({ root: 'there' }))).toEqual({ name: 'there' });
  });

  it('exports an agent, whose definition is used', async () => {
    const definition = { name: 'made' };
    const file = project.write('agent.mjs', `export default ${JSON.stringify({ targets: [], definition })};\n`);
    expect(await readAgentFile(file, project.surroundings())).toEqual(definition);
  });

  it.each([
    ['nothing', 'export const one = 1;', 'undefined'],
    ['null', 'export default null;', 'null'],
    ['a text', 'export default "one";', '"one"'],
    ['a function that returns a number', 'export default () => 5;', '5'],
  ])('that exports %s is refused', async (_, text, got) => {
    const file = project.write('one.mjs', text);
    await expect(readAgentFile(file, project.surroundings())).rejects.toThrow(
      `The agent file ${file} must have an agent, a definition or a function of { root } as its default export; got ${got}.`,
    );
  });

  it('that throws is refused with its message', async () => {
    await expect(
      readAgentFile(project.write('one.mjs', 'throw new Error("too early");'), project.surroundings()),
    ).rejects.toThrow('could not be loaded: too early');
    const file = project.write('two.mjs', 'export default async () => { throw new Error("too late"); };');
    await expect(readAgentFile(file, project.surroundings())).rejects.toThrow(
      `The agent file ${file} exports a function that failed: too late.`,
    );
  });
});

it('alone, an agent file works in the current folder, and its notes go to stderr', async () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const file = project.write(claude.name, '---\nname: one\ntools: Read, WebFetch\n---\n');
  const definition = await readAgentFile(file);
  const told = stderr.mock.calls.map(([text]) => text);
  stderr.mockRestore();
  expect(told).toEqual([`pawl: ${file} names the tool "WebFetch", which has no counterpart; ignored.\n`]);
  const { read_file } = definition.tools as unknown as Record<string, { execute(input: object): unknown }>;
  expect(JSON.stringify(await read_file?.execute({ path: 'package.json' }))).toContain('pawl');
});
