import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startModelServer } from '../../src/testing/index.ts';
import { AgentProject, claude } from '../support/agent-project.ts';
import { pawl } from '../support/pawl.ts';
import { report } from '../support/session.ts';

let project: AgentProject;
beforeEach(() => {
  project = new AgentProject();
});
afterEach(() => vi.unstubAllEnvs());

/** `@` for `$`: the linter takes such texts for templates. */
const of = (text: string) => text.replaceAll('@', '$');
const file = (matter: string, body = '') => `---\n${matter}\n---\n${body}`;

describe('an agent file that extends others', () => {
  it('has their fields below its own, object by object, and their text before its own', async () => {
    project.write('tools/dig.mjs', 'export const dig = () => "dug";');
    project.write(
      'base/house.md',
      file('models: [openai:gpt-5]\nlimits: { maxTurns: 9, maxRetries: 2 }\ntools: [../tools/dig.mjs]', 'Be kind.'),
    );
    project.write('base/careful.md', file('extends: house.md\nlimits: { maxTurns: 5 }', 'Be careful.'));
    project.write('base/priced.md', file('pricing: { "openai:gpt-5": { input: 1, output: 2 } }'));
    const definition = await project.read(
      'name: one\nextends: [../base/careful.md, ../base/priced.md]\nlimits: { maxRetries: 3 }',
      { body: 'Dig.' },
    );
    expect(definition).toEqual({
      name: 'one',
      models: ['openai:gpt-5'],
      limits: { maxTurns: 5, maxRetries: 3 },
      pricing: { 'openai:gpt-5': { input: 1, output: 2 } },
      instructions: 'Be kind.\n\nBe careful.\n\nDig.',
      tools: { dig: expect.any(Function) },
    });
    expect(await project.read('name: two\nextends: ../base/house.md\ntools: []')).toMatchObject({ tools: {} });
  });

  it('each once, however often it is extended, and with another name for its model', async () => {
    project.write('agents/base.md', file('models: [openai:gpt-5]\ninstructions: Be kind.'));
    project.write('agents/left.md', file('extends: base.md', 'Look left.'));
    project.write('agents/right.md', file('extends: base.md', 'Look right.'));
    expect(await project.read('extends: [left.md, right.md]\nmodel: openai:gpt-5-mini', { body: 'Go.' })).toMatchObject(
      {
        models: ['openai:gpt-5-mini'],
        instructions: 'Be kind.\n\nLook left.\n\nLook right.\n\nGo.',
      },
    );
  });

  it.each([
    ['extends: other.txt', 'must name in `extends` the path of a .md file, or several; got "other.txt".'],
    ['extends: [7]', 'must name in `extends` the path of a .md file, or several; got 7.'],
    ['extends: none.md', 'could not be read: '],
  ])('%s is refused', async (matter, message) => {
    await expect(project.read(`name: one\n${matter}`)).rejects.toThrow(message);
  });

  it('and may not extend itself, also through others', async () => {
    const [a, b] = ['agents/a.md', 'agents/b.md'].map((name) => join(project.folder, name));
    project.write('agents/b.md', file('extends: a.md'));
    await expect(project.read('extends: b.md', { name: 'agents/a.md' })).rejects.toThrow(
      `The agent file ${a} extends itself: ${a} extends ${b} extends ${a}.`,
    );
  });
});

describe('a variable of the environment in an agent file', () => {
  it('stands for its value, in every text of the front matter and in none of the body', async () => {
    vi.stubEnv('TEAM', 'north');
    vi.stubEnv('EMPTY', '');
    const matter = [
      'name: @{TEAM}-one',
      'models: ["@{MODEL:-openai:gpt-5}"]',
      'settings: { headers: { "x-team": "@{TEAM}/@{EMPTY:-none}" } }',
      'description: costs @@{TEAM} and $5 {TEAM}',
    ].join('\n');
    expect(await project.read(of(matter), { body: of('Say @{TEAM}.') })).toEqual({
      name: 'north-one',
      models: ['openai:gpt-5'],
      settings: { headers: { 'x-team': 'north/none' } },
      description: of('costs @{TEAM} and $5 {TEAM}'),
      instructions: of('Say @{TEAM}.'),
      tools: {},
    });
  });

  it('S-5: is a secret of the agent if its name says so', async () => {
    vi.stubEnv('LIBRARY_TOKEN', 'quartz-pelican');
    vi.stubEnv('TEAM', 'north-team');
    project.write('agents/base.md', file('secrets: [another-one]\nmetadata: 1'));
    expect(
      await project.read(of('extends: base.md\ninstructions: "Send @{LIBRARY_TOKEN} for @{TEAM}."')),
    ).toMatchObject({
      secrets: ['another-one', 'quartz-pelican'],
    });
  });

  it('alone and without quotes may be a number or a switch; in quotes it is a text', async () => {
    vi.stubEnv('TURNS', '7');
    vi.stubEnv('ZIP', '01234');
    vi.stubEnv('PIN', '12345678');
    const matter = [
      ...['limits:', '  maxTurns: @{TURNS}', 'builtIns:', '  batch: @{BATCH:-true}', 'description: @{ZIP}'],
      'settings: { headers: { x-pin: "@{PIN}" } }',
    ].join('\n');
    expect(await project.read(of(matter))).toMatchObject({
      ...{ limits: { maxTurns: 7 }, builtIns: { batch: true }, description: '01234' },
      settings: { headers: { 'x-pin': '12345678' } },
    });
    await expect(project.read(of('extends: @{BASE}'))).rejects.toThrow(of('or several; got "@{BASE}".'));
  });

  it('S-5: is in no error and no note', async () => {
    vi.stubEnv('API_TOKEN', 'quartz-pelican');
    await expect(project.read(of('model: "@{API_TOKEN}"'))).rejects.toThrow('got "[redacted]"');
    await project.read(of('models: [openai:gpt-5]\ntools: ["@{API_TOKEN}"]'));
    expect(project.notes.join()).toContain('names the tool "[redacted]"');
  });

  it('that is not set is refused, by the field', async () => {
    await expect(project.read(of('models: ["@{NO_SUCH_VARIABLE}"]'))).rejects.toThrow(
      /The agent file .*one\.md needs the variable NO_SUCH_VARIABLE for `models\[0\]`, which is not set\./,
    );
  });

  it('means nothing in a file of Claude Code', async () => {
    expect(await project.read(of('description: Runs @{CMD}'), claude)).toMatchObject({
      description: of('Runs @{CMD}'),
    });
  });

  it('may come from a file, which sets what is not set', async () => {
    const asked: (string | undefined)[] = [];
    await using server = await startModelServer((request) => {
      asked.push(request.headers['x-team'] as string | undefined);
      return report('done');
    });
    const agent = project.write(
      'one.md',
      file(of('name: one\nmodels: [openai:gpt-5]\nsettings: { headers: { "x-team": "@{TEAM} @{PLACE}" } }')),
    );
    const variables = project.write('some.env', '# a comment\nTEAM="the north"\nPLACE=here\n');
    const args = ['run', '--agent', agent, '--base-url', server.url, '--model', 'm', '--env', variables, 'Go.'];
    expect((await pawl(args, undefined, { env: { PLACE: 'there' } })).code).toBe(0);
    expect(asked).toEqual(['the north there']);
    const missing = await pawl(['run', '--agent', agent, '--env', join(project.folder, 'no.env'), 'Go.']);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('no.env cannot be read')]);
  });
});
