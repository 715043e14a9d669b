import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readFlags, UsageError } from '../../src/cli/command-line.ts';
import { chosenModel } from '../../src/cli/models.ts';
import { namedModels, namedTool, toolList } from '../../src/cli/named-tools.ts';

const keys = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'];
const chosen = (...argv: string[]) => chosenModel(readFlags(['run', ...argv]).flags);

describe('the model of a command', () => {
  beforeEach(() => {
    for (const key of keys) vi.stubEnv(key, '');
  });
  afterEach(() => vi.unstubAllEnvs());

  it('is the one that was named, or the first of those whose key is set', async () => {
    expect(await chosen()).toBeNull();
    vi.stubEnv('GOOGLE_GENERATIVE_AI_API_KEY', 'k');
    expect(await chosen()).toMatch(/^google:/);
    vi.stubEnv('OPENAI_API_KEY', 'k');
    expect(await chosen()).toMatch(/^openai:/);
    vi.stubEnv('ANTHROPIC_API_KEY', 'k');
    expect(await chosen()).toMatch(/^anthropic:/);
    expect(await chosen('--model', 'own:model')).toBe('own:model');
  });

  it('on a server of its own, is the one that was named', async () => {
    expect(await chosen('--base-url', 'http://127.0.0.1:1/v1', '--model', 'named')).toMatchObject({ modelId: 'named' });
  });

  it.each([
    [['--base-url', 'nowhere'], '`--base-url` must be a URL such as http://127.0.0.1:11434/v1; got "nowhere".'],
    [['--base-url', 'http://127.0.0.1:1/v1'], 'Name a model of the server at `--base-url`: pass `--model`, too.'],
  ])('%o is refused, and the error says what to do', async (argv, message) => {
    await expect(chosen(...argv)).rejects.toThrow(new UsageError(message));
  });
});

describe('the names in an agent file', () => {
  it.each<[string, Record<string, string>, string[] | null]>([
    ['sonnet', {}, ['anthropic:claude-sonnet-4-5']],
    ['opus[1m]', {}, ['anthropic:claude-opus-4-1']],
    ['haiku', { haiku: 'own:small' }, ['own:small']],
    ['claude-x-1', {}, ['anthropic:claude-x-1']],
    ['openai:gpt-5', {}, ['openai:gpt-5']],
    ['inherit', {}, []],
    ['', {}, []],
    ['toString', {}, null],
    ['gpt-5', {}, null],
    ['fast', { fast: 'gpt' }, null],
  ])('the model %j', (name, own, models) => {
    expect(namedModels(name, own)).toEqual(models);
  });

  it.each<[string, string | null, string[]]>([
    ['Read', 'read_file', []],
    ['Bash(npm test:*, git log)', 'run_command', ['npm test:*', 'git log']],
    ['Edit(src/**/*.{ts,tsx}, docs/**)', 'edit_file', ['src/**/*.{ts,tsx}', 'docs/**']],
    ['MultiEdit', 'edit_file', []],
    ['Write()', 'write_file', []],
    ['constructor', null, []],
    ['WebFetch(domain:x)', null, ['domain:x']],
    ['not a name', null, []],
    ['Bash(echo (a))', 'run_command', ['echo (a)']],
  ])('the tool %j', (entry, tool, limits) => {
    expect(namedTool(entry)).toEqual({ tool, limits });
  });

  it('lists of tools are lists, or texts with commas', () => {
    expect(toolList('Read, Edit,Bash(git diff:*, git log)')).toEqual(['Read', 'Edit', 'Bash(git diff:*, git log)']);
    expect(toolList(['Read', 'A, B', 7])).toEqual(['Read', 'A', 'B', 7]);
    expect([toolList(undefined), toolList(null), toolList([])]).toEqual([[], [], []]);
  });
});
