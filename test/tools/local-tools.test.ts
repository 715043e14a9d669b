import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { userMessage } from '../../machines/index.ts';
import type { CallContext } from '../../src/tools/catalog-tool.ts';
import { type LocalTool, localTool } from '../../src/tools/local.ts';

const inputSchema = z.object({ at: z.number() });
const execute = () => 'done';
const made = (given: unknown) => localTool('look', given as LocalTool);
const provider = (id: string, more: object = {}) =>
  made({ type: 'provider', id, args: {}, inputSchema: z.object({}), ...more });

const context = (more: Partial<CallContext> = {}): CallContext => ({
  callId: 'call-1',
  signal: new AbortController().signal,
  messages: () => [],
  context: undefined,
  ...more,
});

describe('B-1: a tool that cannot be used is refused by name', () => {
  it.each<[string, unknown, string]>([
    ['a text', 'x', '`tools.look` must be an AI SDK tool or a function; got "x".'],
    ['null', null, '`tools.look` must be an AI SDK tool or a function; got null.'],
    [
      'a listener of a starting input',
      { inputSchema, execute, onInputStart: () => {} },
      '`tools.look.onInputStart` is not supported; remove it.',
    ],
    [
      'a listener of an input’s parts',
      { inputSchema, execute, onInputDelta: () => {} },
      '`tools.look.onInputDelta` is not supported; remove it.',
    ],
    [
      'a function as its description',
      { inputSchema, execute, description: () => 'x' },
      '`tools.look.description` must be a text: a function of it is not supported, since all sessions of an agent share its tools.',
    ],
    [
      'a misspelled field',
      { inputSchema, execute, needsAproval: true },
      'Unknown field `tools.look.needsAproval`. Did you mean `needsApproval`?',
    ],
    [
      'a field with other letters',
      { inputSchema, execute, timeoutMS: 5 },
      'Unknown field `tools.look.timeoutMS`. Did you mean `timeoutMs`?',
    ],
    [
      'no `toModelOutput`',
      { inputSchema, execute, toModelOutput: null },
      '`tools.look.toModelOutput` must be a function; got null.',
    ],
    [
      'an odd `onInputAvailable`',
      { inputSchema, execute, onInputAvailable: 5 },
      '`tools.look.onInputAvailable` must be a function; got 5.',
    ],
    ['an odd description', { inputSchema, execute, description: 5 }, '`tools.look.description` must be a text; got 5.'],
    [
      'an odd `idempotent`',
      { inputSchema, execute, idempotent: 'yes' },
      '`tools.look.idempotent` must be a boolean; got "yes".',
    ],
    [
      'an odd `needsApproval`',
      { inputSchema, execute, needsApproval: 'always' },
      '`tools.look.needsApproval` must be a boolean or a function; got "always".',
    ],
    [
      'an odd `execute`',
      { inputSchema, execute: 'ls' },
      '`tools.look.execute` must be a function that runs the tool; got "ls".',
    ],
    [
      'a timeout without `execute`',
      { inputSchema, timeoutMs: 5 },
      '`tools.look.timeoutMs` needs `execute`; without it, `limits.clientToolTimeoutMs` applies.',
    ],
    [
      '`toModelOutput` without `execute`',
      { inputSchema, toModelOutput: () => ({ type: 'text', value: '' }) },
      '`tools.look.toModelOutput` needs `execute`; without it, the call is answered from outside.',
    ],
    [
      'a provider’s tool that nothing runs',
      { type: 'provider', id: 'openai.local_shell', args: {}, inputSchema },
      '`tools.look.execute` is required: a function that runs the tool.',
    ],
    [
      'a tool of a provider that its model calls bash',
      { type: 'provider', id: 'anthropic.bash_20250124', args: {}, inputSchema, execute },
      '`tools.look` (anthropic.bash_20250124) cannot be used: the model calls it "bash", so give it this name.',
    ],
    [
      'a tool of a provider that its model calls str_replace_editor',
      { type: 'provider', id: 'anthropic.text_editor_20250124', args: {}, inputSchema, execute },
      '`tools.look` (anthropic.text_editor_20250124) cannot be used: the model calls it "str_replace_editor", so give it this name.',
    ],
    [
      'a tool of a provider that its model calls str_replace_based_edit_tool',
      { type: 'provider', id: 'anthropic.text_editor_20250728', args: {}, inputSchema, execute },
      '`tools.look` (anthropic.text_editor_20250728) cannot be used: the model calls it "str_replace_based_edit_tool", so give it this name.',
    ],
    [
      'a tool of a provider that its model calls code_execution',
      { type: 'provider', id: 'google.code_execution', args: {}, inputSchema, execute },
      '`tools.look` (google.code_execution) cannot be used: the model calls it "code_execution", so give it this name.',
    ],
    [
      'a provider’s tool that no agent can have',
      { type: 'provider', id: 'openai.computer', args: {}, inputSchema, execute },
      '`tools.look` (openai.computer) cannot be used: its failures have no form that the API takes.',
    ],
    ['a timeout of 0', { inputSchema, execute, timeoutMs: 0 }, '`tools.look.timeoutMs` must be an integer from 1'],
    [
      'a function with a timeout of 0',
      Object.assign(() => 1, { timeoutMs: 0 }),
      '`tools.look.timeoutMs` must be an integer from 1',
    ],
  ])('%s', (_what, given, message) => {
    expect(() => made(given)).toThrow(expect.objectContaining({ code: 'invalid_tool' }));
    expect(() => made(given)).toThrow(message);
  });

  it('a misspelled caution is ignored if the tool also has the real one, or is an instance of a class', () => {
    expect(() => made({ inputSchema, execute, needsApproval: true, needsAproval: true })).not.toThrow();
    const Look = class {
      inputSchema = inputSchema;
      execute = execute;
      needsAproval = true;
    };
    expect(() => made(new Look())).not.toThrow();
    expect(() => made({ inputSchema, execute, description: null, strict: null })).not.toThrow();
  });

  it('a schema that cannot be read is refused by its path', () => {
    expect(() => made({ inputSchema: 5, execute })).toThrow('`tools.look.inputSchema`');
    expect(() => made({ inputSchema, execute, contextSchema: 5 })).toThrow('`tools.look.contextSchema`');
  });
});

describe('what a request offers of a local tool', () => {
  it('what the tool says of itself, and nothing that it does not say', async () => {
    expect(await made({ inputSchema, execute }).offered).toEqual({
      type: 'function',
      name: 'look',
      inputSchema: expect.objectContaining({ type: 'object', required: ['at'] }),
    });
    const said = {
      description: 'Looks.',
      strict: false,
      inputExamples: [{ input: { at: 1 } }],
      providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    };
    expect(await made({ inputSchema, execute, ...said }).offered).toEqual({
      type: 'function',
      name: 'look',
      inputSchema: expect.objectContaining({ type: 'object' }),
      ...said,
    });
    expect(await made(() => 1).offered).toEqual({ type: 'function', name: 'look', inputSchema: { type: 'object' } });
    expect(await provider('openai.custom', { execute, args: { name: 'sql' } }).offered).toEqual({
      type: 'provider',
      name: 'look',
      id: 'openai.custom',
      args: { name: 'sql' },
    });
  });

  it('an input is checked, without the fields that no schema names', async () => {
    const tool = made({ inputSchema, execute });
    expect(await tool.validate({ at: 1 })).toEqual({ valid: true, value: { at: 1 } });
    expect(await tool.validate({ at: 'x' })).toMatchObject({ valid: false });
    expect(await tool.validate({ at: 1, from: 2 })).toMatchObject({ valid: false });
    // The fields of a provider's tool are the provider's.
    expect(await provider('openai.local_shell', { execute }).validate({ more: 1 })).toMatchObject({ valid: true });
    expect(await made(() => 1).validate({ any: [1] })).toEqual({ valid: true, value: { any: [1] } });
    const asText = provider('openai.custom', { execute, inputSchema: z.string() });
    expect(asText.takesText).toBe(true);
    expect(await asText.validate({ text: 'select 1' })).toEqual({ valid: true, value: 'select 1' });
    expect(made({ inputSchema, execute }).takesText).toBe(false);
  });
});

describe('C-5: whether a call needs approval', () => {
  /** Not a native promise. */
  const thenable = {};
  Reflect.set(thenable, 'then', (resolve: (value: boolean) => void) => resolve(true));

  it.each<[string, unknown, boolean]>([
    ['nothing said', undefined, false],
    ['false', false, false],
    ['true', true, true],
    ['a function that returns nothing', () => undefined, true],
    ['a function that returns false', () => false, false],
    ['a function that returns true', () => true, true],
    ['a function that returns null', () => null, true],
    ['a function that returns a text', () => 'yes', true],
    ['a promise of false', async () => false, false],
    ['a promise of nothing', async () => undefined, true],
    ['a promise of 0', async () => 0, true],
    ['a thenable of true', () => thenable, true],
    ['an object', () => ({}), true],
  ])('%s', async (_what, needsApproval, needed) => {
    const tool = made({ inputSchema, execute, needsApproval });
    expect(await tool.needsApproval?.({ at: 1 }, context())).toBe(needed);
  });

  it('its function is asked as a method, with the input and what the SDK passes', () => {
    const asked: unknown[] = [];
    const tool = {
      inputSchema,
      execute,
      least: 3,
      needsApproval(
        this: { least: number },
        input: { at: number },
        options: { messages: unknown[]; toolCallId: string },
      ) {
        asked.push(input, options.toolCallId, options.messages);
        return input.at > this.least;
      },
    };
    const messages = () => [userMessage('Look.')];
    expect(made(tool).needsApproval?.({ at: 4 }, context({ messages }))).toBe(true);
    expect(made(tool).needsApproval?.({ at: 2 }, context({ messages }))).toBe(false);
    expect(asked.slice(0, 3)).toEqual([
      { at: 4 },
      'call-1',
      [{ role: 'user', content: [expect.objectContaining({ type: 'text', text: 'Look.' })] }],
    ]);
  });
});
