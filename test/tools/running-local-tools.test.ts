import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { CallContext, ToolRun } from '../../src/tools/catalog-tool.ts';
import { idempotent, type LocalTool, localTool } from '../../src/tools/local.ts';

const inputSchema = z.object({ at: z.number() });
const execute = () => 'done';
const made = (given: unknown) => localTool('look', given as LocalTool);
const provider = (id: string, more: object = {}) =>
  made({ type: 'provider', id, args: {}, inputSchema: z.object({}), ...more });

const running = (more: Partial<CallContext> = {}) =>
  ({
    callId: 'call-1',
    signal: new AbortController().signal,
    messages: () => [],
    context: undefined,
    idempotencyKey: 'key',
    ...more,
  }) as unknown as ToolRun;

describe('how a local tool runs', () => {
  it('it gets its input and the SDK’s options, after its listener', async () => {
    const seen: unknown[] = [];
    const tool = made({
      inputSchema,
      onInputAvailable: ({ input, toolCallId, abortSignal }: Record<string, unknown>) =>
        void seen.push(['available', input, toolCallId, abortSignal instanceof AbortSignal]),
      execute: (input: unknown, options: Record<string, unknown>) => {
        seen.push(['run', input, options.toolCallId, options.abortSignal, options.idempotencyKey, options.context]);
        return 'done';
      },
    });
    const run = running({ context: { user: 'ann' } });
    await tool.announce?.({ at: 1 }, run);
    expect(await tool.execute({ at: 1 }, run)).toBe('done');
    expect(seen).toEqual([
      ['available', { at: 1 }, 'call-1', true],
      ['run', { at: 1 }, 'call-1', run.signal, 'key', { user: 'ann' }],
    ]);
  });

  it('its context is an object, as its own schema makes it', async () => {
    const contextOf = async (given: unknown, contextSchema?: unknown) => {
      let taken: unknown;
      const tool = made({
        inputSchema,
        ...(contextSchema !== undefined && { contextSchema }),
        execute: (_input: unknown, options: { context: unknown }) => {
          taken = options.context;
        },
      });
      await tool.execute({}, running({ context: given }));
      return taken;
    };
    for (const given of [undefined, null, 'x', 5]) expect(await contextOf(given)).toEqual({});
    expect(await contextOf({ user: 'ann' })).toEqual({ user: 'ann' });
    const schema = z.object({ user: z.string(), most: z.number().default(3) });
    expect(await contextOf({ user: 'ann', other: 1 }, schema)).toEqual({ user: 'ann', most: 3 });
    // The session has checked it before.
    expect(await contextOf({ other: 1 }, schema)).toEqual({ other: 1 });
    expect(made({ inputSchema, execute }).checkContext).toBeUndefined();
    const { checkContext } = made({ inputSchema, execute, contextSchema: schema });
    expect(checkContext?.({ user: 'ann' })).toEqual({ valid: true, value: { user: 'ann', most: 3 } });
    expect(checkContext?.({})).toMatchObject({ valid: false });
  });

  it('D-4: what becomes of it after a crash, and its timeout, are its own', () => {
    expect(made({ inputSchema, execute })).toMatchObject({ name: 'look', kind: 'real' });
    const plain = made({ inputSchema, execute });
    expect([plain.afterCrash, plain.isClientSide, plain.timeoutMs, plain.resultItem]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(made({ inputSchema, execute, idempotent: true }).afterCrash).toBe('repeat');
    expect(made({ inputSchema, execute, idempotent: false }).afterCrash).toBeUndefined();
    expect(made({ inputSchema })).toMatchObject({ isClientSide: true, afterCrash: 'repeat' });
    expect(made({ inputSchema, execute, timeoutMs: 7 }).timeoutMs).toBe(7);
    const run = Object.assign(() => 'ran', { timeoutMs: 7 });
    expect(made(run)).toMatchObject({ name: 'look', kind: 'real', timeoutMs: 7 });
    expect(made(run).afterCrash).toBeUndefined();
    expect(made(idempotent(run))).toMatchObject({ timeoutMs: 7, afterCrash: 'repeat' });
    expect(made(Object.assign(() => 1, { idempotent: 'yes' })).afterCrash).toBeUndefined();
    expect(made(run).execute({}, running())).toBe('ran');
  });

  it('a provider’s tool that its provider runs has nothing to execute here', async () => {
    const own = provider('openai.web_search', { isProviderExecuted: true });
    expect(own.isClientSide).toBeUndefined();
    expect(await own.execute({}, running())).toBeUndefined();
    expect(() => provider('openai.web_search', { isProviderExecuted: false })).toThrow('`tools.look.execute`');
    expect(() => provider('openai.web_search')).toThrow('`tools.look.execute`');
    // What the tool's arguments say comes first.
    expect(provider('openai.tool_search', { args: { execution: 'server' } }).isClientSide).toBeUndefined();
    const here = { args: { execution: 'client' }, isProviderExecuted: true };
    expect(() => provider('openai.tool_search', here)).toThrow('`tools.look.execute`');
  });

  it('a tool that is an instance of a class keeps what its classes have, and no constructor', () => {
    class Base {
      #word = 'done';
      get inputSchema() {
        return inputSchema;
      }
      execute() {
        return this.#word;
      }
    }
    class Looking extends Base {
      description = 'Looks.';
      strict = true;
      helper = function (this: unknown) {
        return this;
      };
    }
    const given = new Looking();
    const again = idempotent(given as never) as unknown as Looking & { idempotent: boolean };
    expect(again.execute()).toBe('done');
    expect(again.idempotent).toBe(true);
    expect(again.inputSchema).toBe(inputSchema);
    // Only the tool's own methods are bound, and nothing comes from beyond its classes.
    expect(again.helper).toBe(given.helper);
    expect(Object.keys(again).sort()).toEqual([
      'description',
      'execute',
      'helper',
      'idempotent',
      'inputSchema',
      'strict',
    ]);
  });
});

describe('T-6: what `toModelOutput` gives', () => {
  const outputOf = async (output: unknown, more: object = {}) =>
    await made({ inputSchema, execute, toModelOutput: () => output, ...more }).toModelOutput?.('value', { at: 1 }, 'c');

  it.each<[string, unknown, unknown]>([
    ['a text', { type: 'text', value: 'x', more: 1 }, { type: 'text', value: 'x' }],
    ['an error', { type: 'error-text', value: 'x', more: 1 }, { type: 'error-text', value: 'x' }],
    ['JSON', { type: 'json', value: { at: new Date(0) } }, { type: 'json', value: { at: '1970-01-01T00:00:00.000Z' } }],
    ['JSON of nothing', { type: 'json', value: undefined }, { type: 'json', value: null }],
    ['an error as JSON', { type: 'error-json', value: [1], more: 1 }, { type: 'error-json', value: [1] }],
    ['a denial', { type: 'execution-denied', more: 1 }, { type: 'execution-denied' }],
    ['a denial with a reason', { type: 'execution-denied', reason: 'no' }, { type: 'execution-denied', reason: 'no' }],
    [
      'pieces',
      { type: 'content', value: [{ type: 'text', text: 'x' }] },
      { type: 'content', value: [{ type: 'text', text: 'x' }] },
    ],
  ])('%s', async (_what, given, expected) => {
    expect(await outputOf(given)).toEqual(expected);
  });

  it('an unknown output is an error that shows it', async () => {
    await expect(outputOf({ type: 'sound' })).rejects.toThrow(
      'toModelOutput returned an unknown output: {"type":"sound"}',
    );
    expect(made({ inputSchema, execute }).toModelOutput).toBeUndefined();
  });

  it('it is called as a method, with the call', async () => {
    const tool = {
      inputSchema,
      execute,
      prefix: 'So: ',
      toModelOutput(this: { prefix: string }, call: object) {
        return { type: 'text', value: this.prefix + JSON.stringify(call) };
      },
    };
    expect(await made(tool).toModelOutput?.('value', { at: 1 }, 'c')).toEqual({
      type: 'text',
      value: 'So: {"toolCallId":"c","input":{"at":1},"output":"value"}',
    });
  });

  it('without it, the result of a provider’s tool that has a form of its own is JSON', async () => {
    const shell = provider('openai.local_shell', { execute });
    expect(shell.resultItem?.('x', false)).toEqual({ output: 'x' });
    expect(await shell.toModelOutput?.({ output: 'x', left: undefined }, {}, 'c')).toEqual({
      type: 'json',
      value: { output: 'x' },
    });
    expect(await shell.toModelOutput?.(undefined, {}, 'c')).toEqual({ type: 'json', value: null });
    const own = { toModelOutput: () => ({ type: 'text', value: 'own' }) };
    expect(await provider('openai.local_shell', { execute, ...own }).toModelOutput?.(1, {}, 'c')).toEqual({
      type: 'text',
      value: 'own',
    });
  });
});
