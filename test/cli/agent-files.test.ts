import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readAgentFile } from '../../src/cli/agent-file.ts';
import { withBound } from '../../src/cli/run.ts';
import { defineAgent } from '../../src/index.ts';
import { AgentProject, claude, namesOf } from '../support/agent-project.ts';

let project: AgentProject;
beforeEach(() => {
  project = new AgentProject();
});

describe('an agent file in Markdown', () => {
  it('is a definition in front matter, with the instructions below it', async () => {
    const definition = await project.read('name: one\nlimits: { maxTurns: 3 }\nmodels: [openai:gpt-5]', {
      body: '\n Be quick.\n\n',
    });
    expect(definition).toEqual({
      name: 'one',
      limits: { maxTurns: 3 },
      models: ['openai:gpt-5'],
      instructions: 'Be quick.',
      tools: {},
    });
  });

  it('may have its instructions in the front matter, but not in both places', async () => {
    expect(await project.read('name: one\ninstructions: Be slow.', { body: '\n \n' })).toMatchObject({
      instructions: 'Be slow.',
    });
    await expect(project.read('name: one\ninstructions: Be slow.', { body: 'Be quick.' })).rejects.toThrow(
      `The agent file ${join(project.folder, 'agents/one.md')} must have its instructions in the front matter or in the body, not in both.`,
    );
  });

  it.each([
    ['a byte order mark and CRLF', '\uFEFF---\r\nname: one\r\n---\r\nBe quick.\r\n'],
    ['blanks after the closing line', '---\nname: one\n--- \t\nBe quick.\n'],
  ])('may have %s', async (_, text) => {
    const definition = await readAgentFile(project.write('one.md', text), project.surroundings());
    expect(definition).toEqual({ name: 'one', instructions: 'Be quick.', tools: {} });
  });

  it('may end with its front matter', async () => {
    expect(await readAgentFile(project.write('one.md', '---\nname: one\n---'), project.surroundings())).toEqual({
      name: 'one',
      tools: {},
    });
  });

  it.each([
    ['Be quick.', 'must start with front matter between two lines of ---'],
    ['x---\nname: one\n---\n', 'must start with front matter between two lines of ---'],
    ['---\nname: one\n', 'must start with front matter between two lines of ---'],
    ['---\nname: one\n---x\n', 'must start with front matter between two lines of ---'],
    ['---\n---\nBe quick.', 'must have a YAML mapping as its front matter'],
    ['---\nname: !!js/function "x"\n---\n', 'has invalid YAML in its front matter: Unresolved tag'],
    ['---\n- one\n---\n', 'must have a YAML mapping as its front matter'],
    ['---\none\n---\n', 'must have a YAML mapping as its front matter'],
    ['---\nname: [\n---\n', 'has invalid YAML in its front matter: '],
  ])('%j is refused', async (text, problem) => {
    const path = project.write('agents/one.md', text);
    await expect(readAgentFile(path, project.surroundings())).rejects.toMatchObject({
      code: 'invalid_agent_file',
      message: expect.stringContaining(`The agent file ${path} ${problem}`),
    });
  });

  it('says of broken YAML only where it broke', async () => {
    await expect(project.read('name: [')).rejects.toThrow(/front matter: [^\n]+\.$/);
  });

  it.each([
    ['one.txt', 'must end in .ts, .mts, .js, .mjs or .md'],
    ['nosuch.md', 'could not be read: ENOENT'],
    ['nosuch.mjs', 'could not be loaded: '],
  ])('%s is refused', async (name, problem) => {
    await expect(readAgentFile(join(project.folder, name), project.surroundings())).rejects.toThrow(problem);
  });
});

describe('what an agent file of Claude Code says', () => {
  it('about its model, its turns and its colour is understood', async () => {
    const definition = await project.read('name: one\nmodel: sonnet\nmaxTurns: 4\ncolor: red', claude);
    expect(definition).toMatchObject({ models: ['anthropic:claude-sonnet-4-5'], limits: { maxTurns: 4 } });
    expect([definition, project.notes]).toEqual([expect.not.objectContaining({ color: 'red', model: 'sonnet' }), []]);
  });

  it('limits that are no object are refused with the rest, whatever the flags say', () => {
    for (const flags of [{}, { maxTurns: 3 }]) {
      const definition = withBound({ name: 'one', models: [], limits: 5 as never }, flags as never);
      expect(() => defineAgent(definition)).toThrow('`limits` must be an object; got 5.');
    }
  });

  it('maxTurns stands beside other limits', async () => {
    const { limits } = await project.read('name: one\nmaxTurns: 4\nlimits: { maxRetries: 2, maxTurns: 9 }');
    expect(limits).toEqual({ maxRetries: 2, maxTurns: 4 });
  });

  it.each([
    ['model: mine', ['openai:gpt-5-mini']],
    ['model: anthropic:claude-x', ['anthropic:claude-x']],
    ['model: inherit', []],
    ['model: " sonnet "', ['anthropic:claude-sonnet-4-5']],
    ['model:', []],
  ])('%s sets the models to %j', async (matter, models) => {
    expect((await project.read(`name: one\n${matter}`, { models: { mine: 'openai:gpt-5-mini' } })).models).toEqual(
      models,
    );
  });

  it.each([
    ['model: nosuch', 'must name its model as provider:id, or sonnet, opus, haiku; got "nosuch"'],
    ['model: 5', 'must name its model as provider:id, or sonnet, opus, haiku; got 5'],
    ['model: sonnet\nmodels: [openai:gpt-5]', 'must have `model` or `models`, not both'],
  ])('%s is refused', async (matter, problem) => {
    await expect(project.read(`name: one\n${matter}`)).rejects.toThrow(problem);
  });

  it.each([
    ['a file in .claude/agents', 'name: one', claude],
    ['a file with a model', 'name: one\nmodel: sonnet', {}],
    ['a file with a colour', 'name: one\ncolor: red', {}],
    ['a file with a permission mode', 'name: one\npermissionMode: default', {}],
  ])('other fields of %s are noted and ignored', async (_, matter, place) => {
    const definition = await project.read(`${matter}\nhooks: {}\nskills: [a]\nmcpServers: [github]`, place);
    const path = join(project.folder, 'name' in place ? claude.name : 'agents/one.md');
    expect(project.notes).toEqual([`${path} has hooks, skills, mcpServers, which Pawl does not support; ignored.`]);
    expect(definition).not.toHaveProperty('hooks');
    expect(definition).not.toHaveProperty('mcpServers');
  });

  it('servers as Pawl defines them are kept', async () => {
    const { mcpServers } = await project.read('name: one\nmcpServers: { docs: { url: "http://127.0.0.1:1" } }', claude);
    expect([mcpServers, project.notes]).toEqual([{ docs: { url: 'http://127.0.0.1:1' } }, []]);
  });

  it('fields of any other agent file go to the definition, which refuses those that it does not know', async () => {
    expect(await project.read('name: one\nhooks: {}')).toMatchObject({ hooks: {} });
    expect(project.notes).toEqual([]);
  });

  it('without a list of tools it has all of them; any other agent has none', async () => {
    expect(namesOf(await project.read('name: one', claude))).toContain('run_command');
    expect(namesOf(await project.read('name: one\ntools:', claude))).toContain('run_command');
    expect(namesOf(await project.read('name: one\ntools: []', claude))).toEqual([]);
    expect(namesOf(await project.read('name: one\nmodel: sonnet'))).toEqual([]);
  });

  it('plan mode takes away what acts; other modes do not', async () => {
    const names = namesOf(
      await project.read('name: one\ntools: Read, Write, Edit, Bash\npermissionMode: plan', claude),
    );
    expect(names).toEqual(['read_file']);
    expect(namesOf(await project.read('name: one\ntools: Read, Bash\npermissionMode: default', claude))).toEqual([
      'read_file',
      'run_command',
    ]);
  });

  it('what it disallows is left out, whole', async () => {
    const names = namesOf(
      await project.read(
        'name: one\ntools: Read, Edit, Bash\ndisallowedTools: Edit(src/**), Bash(*), WebFetch',
        claude,
      ),
    );
    expect(names).toEqual(['read_file']);
    expect(project.notes).toEqual([
      `${join(project.folder, claude.name)} disallows Edit(src/**). Parts of a tool cannot be disallowed: edit_file is left out.`,
    ]);
  });

  it('a tool without a counterpart is noted', async () => {
    expect(namesOf(await project.read('name: one\ntools: Read, WebFetch', claude))).toEqual(['read_file']);
    expect(project.notes).toEqual([
      `${join(project.folder, claude.name)} names the tool "WebFetch", which has no counterpart; ignored.`,
    ]);
  });

  describe('in front matter that is no YAML', () => {
    const loose = (lines: string[]) => project.read(lines.join('\n'), claude);
    it('continues a value on the lines below it, and lists entries', async () => {
      const definition = await loose([
        'description: Use it: always',
        '  and again: so',
        'name: "one"',
        'tools:',
        '  # the first',
        '',
        "  - 'Read'",
        '  - Edit ',
      ]);
      expect(definition).toMatchObject({ name: 'one', description: 'Use it: always\n  and again: so' });
      expect(namesOf(definition)).toEqual(['read_file', 'edit_file']);
    });

    it('a text in front of a list, or a line between its entries, makes it a text', async () => {
      const before = await loose(['name: one', 'description: a: b', 'instructions: So:', '  - Read']);
      expect(before.instructions).toBe('So:\n  - Read');
      const between = await loose(['name: one', 'description: a: b', 'instructions:', '  - Read', '  then']);
      expect(between.instructions).toBe('\n  - Read\n  then');
    });

    it.each([
      [`"It's"`, "It's"],
      [`'a' or 'b'`, `'a' or 'b'`],
      [`"open`, '"open'],
      [`""`, ''],
    ])('%s is %j', async (given, value) => {
      expect((await loose(['name: one', 'x: a: b', `instructions: ${given}`])).instructions).toBe(value);
    });

    it('needs one line with a name', async () => {
      await expect(loose(['[', '  no name: here'])).rejects.toThrow('has invalid YAML');
    });

    it('is refused outside .claude/agents', async () => {
      await expect(project.read('name: one\ndescription: Use it: always')).rejects.toThrow('has invalid YAML');
    });
  });
});
