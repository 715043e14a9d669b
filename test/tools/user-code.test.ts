import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, idempotent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, report, run } from '../support/session.ts';

const never = new Promise<never>(() => undefined);

const call = (name: string, input: unknown = {}) => ({ calls: [{ name, input }] });

const rehearsed = (replies: Parameters<typeof rehearsalModel>[0], over: object = {}) =>
  defineAgent({ name: 'hard', models: [rehearsalModel(replies)], ...over });

const fail = () => {
  throw new Error('hostile');
};
const hostileGetter = { get: fail };
const hostileTraps = { get: fail, has: fail, getPrototypeOf: fail, ownKeys: fail, getOwnPropertyDescriptor: fail };
const both = { calls: [{ name: 'throws' }, { name: 'rejects' }] };

describe('user code', () => {
  it('C-1: a call whose toModelOutput hangs is answered at the timeout', async () => {
    const hanging = { inputSchema: z.object({}), execute: () => 'x', toModelOutput: () => never };
    const { result } = await run({
      agent: rehearsed([call('hanging'), report()], { tools: { hanging }, limits: { toolTimeoutMs: 50 } }),
    });
    expect(callsIn(result)[0]?.slug).toBe('tool_timeout');
  });

  it('C-1: a tool may have a timeout of its own', async () => {
    const hanging = { inputSchema: z.object({}), execute: () => never, timeoutMs: 40 };
    const asFunction = Object.assign(() => never, { timeoutMs: 30 });
    const slow = {
      inputSchema: z.object({}),
      execute: () => new Promise((done) => setTimeout(done, 60)),
      timeoutMs: 9_000,
    };
    const calls = [{ name: 'hanging' }, { name: 'asFunction' }, { name: 'slow' }];
    const { result } = await run({
      agent: rehearsed([{ calls }, report()], { tools: { hanging, asFunction, slow }, limits: { toolTimeoutMs: 50 } }),
    });
    expect(callsIn(result).map(({ slug, result: { message } }) => [slug, message])).toEqual([
      ['tool_timeout', 'hanging did not finish within 40 ms and was cut off.'],
      ['tool_timeout', 'asFunction did not finish within 30 ms and was cut off.'],
      [null, 'The tool returned nothing.'],
      [null, expect.any(String)],
    ]);
    const define = (tool: object) => rehearsed([], { tools: { tool } });
    const inputSchema = z.object({});
    expect(() => define({ inputSchema, execute: () => 1, timeoutMs: 0 })).toThrow('`tools.tool.timeoutMs` must be');
    expect(() => define({ inputSchema, timeoutMs: 5 })).toThrow('`tools.tool.timeoutMs` needs `execute`');
  });

  it('a tool may be an instance of a class, and idempotent', async () => {
    class Described {
      get description() {
        return 'Counts.';
      }
      get inputSchema() {
        return z.object({});
      }
    }
    class Counter extends Described {
      #count = 0;
      needsApproval() {
        return this.#count < 0;
      }
      onInputAvailable() {
        this.#count += 10;
      }
      execute() {
        this.#count += 1;
        return this.#count;
      }
      toModelOutput({ output }: { output: unknown }) {
        return { type: 'text' as const, value: `${output} of ${this.#count}` };
      }
    }
    for (const counter of [new Counter(), idempotent(new Counter() as never)]) {
      const { result } = await run({ agent: rehearsed([call('counter'), report()], { tools: { counter } }) });
      expect(callsIn(result)[0]).toMatchObject({ slug: null, output: { type: 'text', value: '11 of 11' } });
    }
    expect(idempotent(new Counter() as never)).toMatchObject({ description: 'Counts.', idempotent: true });
  });

  it('D-4: an idempotent function keeps its timeout', () => {
    const slow = Object.assign(() => 'done', { timeoutMs: 5 });
    const made = idempotent(slow);
    expect([made.timeoutMs, made.idempotent]).toEqual([5, true]);
    expect(slow).not.toHaveProperty('idempotent');
  });

  it('C-1: an iterable that never waits still times out', async () => {
    const busy = {
      inputSchema: z.object({}),
      execute: async function* () {
        for (;;) yield 1;
      },
    };
    const { result } = await run({
      agent: rehearsed([call('busy'), report()], { tools: { busy }, limits: { toolTimeoutMs: 50 } }),
    });
    expect(callsIn(result)[0]?.slug).toBe('tool_timeout');
  });

  it('C-1: a result that would take too long to serialize is cut', async () => {
    const wide = () => {
      let value: object = { a: 1 };
      for (let depth = 0; depth < 30; depth += 1) value = { left: value, right: value };
      return value;
    };
    const { result } = await run({ agent: rehearsed([call('wide'), report()], { tools: { wide } }) });
    expect(JSON.stringify(callsIn(result)[0]?.result)).toContain('left out');
  });

  it.each<[string, () => object]>([
    ['an object', () => Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`key ${index}`, index]))],
    ['a map', () => new Map(Array.from({ length: 200_000 }, (_, index) => [`key ${index}`, index]))],
    ['a set', () => new Set(Array.from({ length: 200_000 }, (_, index) => index))],
    ['a list', () => Array.from({ length: 200_000 }, (_, index) => index)],
  ])('C-1: %s of 200,000 entries is read up to the limit, and says how many are left out', async (_what, huge) => {
    const { result } = await run({ agent: rehearsed([call('huge'), report()], { tools: { huge } }) });
    const text = JSON.stringify(callsIn(result)[0]?.result.value);
    expect(text).toMatch(/\[\d+ more left out\]/);
    expect(text.match(/\d+(?=[,\]}])/g)?.length).toBeLessThan(110_000);
    expect(callsIn(result)[0]?.slug).toBeNull();
  });

  it.each<[string, () => unknown]>([
    ['a Proxy whose every trap throws', () => new Proxy({}, hostileTraps)],
    ['an error whose message throws', () => Object.defineProperty(new Error('x'), 'message', hostileGetter)],
    ['an error whose stack throws', () => Object.defineProperty(new Error('x'), 'stack', hostileGetter)],
    ['null', () => null],
    ['a symbol', () => Symbol('x')],
  ])('C-3 T-2: a tool that throws or returns %s was executed all the same', async (_what, thrown) => {
    const tools = {
      throws: () => {
        throw thrown();
      },
      rejects: () => Promise.reject(thrown()),
    };
    const { result } = await run({ agent: rehearsed([both, report()], { tools }) });
    expect(callsIn(result).map(({ executed, slug }) => [executed, slug])).toEqual([
      [true, 'tool_exec_failed'],
      [true, 'tool_exec_failed'],
      [false, null],
    ]);
  });

  it('C-3: the message that a tool returns with its value reaches the model', async () => {
    const saved = () => ({ success: true, value: null, message: 'Saved 3 files.' });
    const { result } = await run({ agent: rehearsed([call('saved'), report()], { tools: { saved } }) });
    expect(callsIn(result)[0]?.output).toEqual({ type: 'text', value: 'Saved 3 files.' });
  });

  it('S-5: keys are redacted in returned failures and in error values', async () => {
    const leaky = () => ({
      success: false,
      value: { key: 'sk-abcdefghijklmnop1' },
      message: 'sk-abcdefghijklmnop1 is bad',
    });
    const { result, events } = await run({ agent: rehearsed([call('leaky'), report()], { tools: { leaky } }) });
    expect(JSON.stringify([result, events])).not.toContain('sk-abcdefghijklmnop1');
  });

  it('S-5: redaction keeps failure details intact', async () => {
    const secret = 'the "quoted\\" pass phrase';
    const details = { apiKey: null, 'api-key': 'plain words', region: [secret, 3], authorization: false };
    const leaky = () => ({ success: false, value: details, message: 'No region is set.' });
    const settings = { headers: { 'x-pass-phrase': secret } };
    const { result } = await run({ agent: rehearsed([call('leaky'), report()], { tools: { leaky }, settings }) });
    expect(callsIn(result)[0]?.result.value).toEqual({
      apiKey: null,
      'api-key': '[redacted]',
      region: ['[redacted]', 3],
      authorization: false,
    });
  });

  it.each([
    ['needsApproval', 'yes'],
    ['needsApproval', 1],
  ])('approval fails closed: %s %j is refused when the agent is defined', (field, value) => {
    const tool = { inputSchema: z.object({}), execute: () => 'x', [field]: value };
    expect(() => rehearsed([report()], { tools: { tool } })).toThrow(`\`tools.tool.${field}\` must be `);
  });

  it('C-1: if needsApproval throws, the call does not run and is answered with check_failed', async () => {
    const odd = {
      inputSchema: z.object({}),
      execute: () => 'x',
      needsApproval: () => {
        throw new Error('the policy server is down');
      },
    };
    const { result } = await run({ agent: rehearsed([call('odd'), report()], { tools: { odd } }) });
    expect(callsIn(result)[0]).toMatchObject({ executed: false, slug: 'check_failed' });
  });
});
