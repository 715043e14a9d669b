import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readFlags, UsageError } from '../../src/cli/command-line.ts';
import { chosenModel } from '../../src/cli/models.ts';
import { namedModels, namedTool, toolList } from '../../src/cli/named-tools.ts';

const keys = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'];
const chosen = (...argv: string[]) => chosenModel(readFlags(['run', ...argv]).flags);
const refusal = (...argv: string[]) =>
  chosen(...argv).then(
    () => null,
    (error) => (error instanceof UsageError ? error.message : error),
  );

async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const answering = (body: unknown, status = 200) =>
  serving((_, response) => response.writeHead(status).end(JSON.stringify(body)));

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

  it('on a server of its own, is the one that was named, or the first that it lists', async () => {
    const asked: (string | undefined)[][] = [];
    const url = await serving((request, response) => {
      asked.push([request.url, request.headers.authorization]);
      response.end(JSON.stringify({ data: [{ id: 'first' }, { id: 'second' }] }));
    });
    expect(await chosen('--base-url', url)).toMatchObject({ modelId: 'first' });
    vi.stubEnv('OPENAI_API_KEY', 'the-key');
    expect(await chosen('--base-url', `${url}/`)).toMatchObject({ modelId: 'first' });
    expect(await chosen('--base-url', url, '--model', 'named')).toMatchObject({ modelId: 'named' });
    expect(asked).toEqual([
      ['/v1/models', undefined],
      ['/v1/models', 'Bearer the-key'],
    ]);
  });

  it('the error says what is wrong with the server, and what to do', async () => {
    expect(await refusal('--base-url', 'nowhere')).toBe(
      '`--base-url` must be a URL such as http://127.0.0.1:11434/v1; got "nowhere".',
    );
    const closed = await answering({}, 404);
    expect(await refusal('--base-url', closed)).toBe(
      `${closed}/models answered with status 404; name a model with --model.`,
    );
    for (const body of [{ data: [] }, {}, null, { data: [{ id: 7 }] }, { data: 'x' }]) {
      const empty = await answering(body);
      expect(await refusal('--base-url', empty)).toBe(
        `${empty}/models does not list any models; name a model with --model.`,
      );
    }
    const broken = await serving((_, response) => response.end('{'));
    expect(await refusal('--base-url', broken)).toBe(
      `Could not list the models at ${broken}/models. Check that the server is running, or name a model with --model.`,
    );
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
