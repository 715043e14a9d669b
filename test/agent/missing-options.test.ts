import { describe, expect, it } from 'vitest';
import * as pawl from '../../src/index.ts';
import { defineAgent, PawlError } from '../../src/index.ts';
import * as inspect from '../../src/inspect/index.ts';
import * as postgres from '../../src/journal/postgres/postgres.ts';
import * as openai from '../../src/openai/index.ts';
import * as otel from '../../src/otel/open-telemetry.ts';
import * as restate from '../../src/restate/restate-agents.ts';
import * as testing from '../../src/testing/index.ts';
import * as ui from '../../src/ui/index.ts';
import * as workflow from '../../src/workflow/index.ts';
import * as workspace from '../../src/workspace/index.ts';

const rooms = { pawl, inspect, openai, otel, postgres, restate, testing, ui, workflow, workspace };
/** Errors take any message, a `Request` is its own check, and the relay would take its port. */
const lenient = ['PawlError', 'SessionFailed', 'ToolError', 'lastEventId', 'statelyInspector'];
const functions = Object.entries(rooms).flatMap(([room, exported]) =>
  Object.entries(exported as Record<string, unknown>)
    .filter(([name, value]) => typeof value === 'function' && !lenient.includes(name))
    .map(([name, value]) => [`${room}: ${name}`, value as (...given: unknown[]) => unknown] as const),
);
const agent = defineAgent({ name: 'a', models: [testing.rehearsalModel([])] });
const nothing = [
  [],
  [undefined],
  [null],
  [7],
  ['/nowhere/x'],
  [agent],
  [agent, null],
  [agent, 7],
  ['/nowhere/x', null],
  ['/nowhere/x', 7],
];

/** What a call throws, at once or later; undefined if it is accepted. */
async function thrown(call: (...given: unknown[]) => unknown, given: unknown[]): Promise<unknown> {
  try {
    const isClass = Function.prototype.toString.call(call).startsWith('class ');
    const made = await (isClass ? Reflect.construct(call, given) : call(...given));
    await (made?.close ?? made?.stop)?.call(made);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('a function of the API that is given nothing, or something else', () => {
  it.each(functions)('%s throws nothing but a PawlError', async (_, call) => {
    for (const given of nothing) {
      const error = await thrown(call, given);
      if (error === undefined) continue;
      expect(error).toBeInstanceOf(PawlError);
    }
  });

  it('names the messages of a page', async () => {
    await expect(ui.fromUIMessages({} as never)).rejects.toThrow('`messages` must be an array of UI messages; got {}.');
  });

  it('names the options, the definition or the item as a whole', () => {
    expect(() => defineAgent({} as never)).toThrow('`name` is required: 1 to 64 characters');
    expect(() => defineAgent(null as never)).toThrow('`definition` must be an object; got null.');
    expect(() => pawl.startSession(agent, null as never)).toThrow('`options` must be an object with `prompt`');
    expect(() => pawl.restTool(7 as never)).toThrow('`options` must be an object; got 7.');
    expect(() => pawl.mcpPool([] as never)).toThrow('`mcpServers` must be an object of servers by name; got [].');
    class Servers {
      docs = { command: 'x' };
    }
    expect(Object.keys(pawl.mcpPool(Object(new Servers())).servers)).toEqual(['docs']);
    expect(() => pawl.boundedFetch(7 as never)).toThrow('`send` must be a fetch function; got 7.');
    expect(() => pawl.idempotent([] as never)).toThrow('`tool` must be an AI SDK tool or a function; got [].');
    expect(() => pawl.idempotent(null as never)).toThrow('`tool` must be an AI SDK tool or a function; got null.');
  });
});

describe('the Stately inspector', () => {
  it.each([
    [null, '`options` must be an object; got null.'],
    [{ port: 'x' }, '`port` must be an integer from 0 to 65535; got "x".'],
    [{ origins: 'x' }, '`origins` must be an array of strings; got "x".'],
    [{ secrets: 'x' }, '`secrets` must be an array of strings'],
    [{ textLength: -1 }, '`textLength` must be a number of at least 0; got -1.'],
    [{ length: 1 }, 'Unknown option `length`.'],
  ])('refuses %j', async (options, message) => {
    await expect(inspect.statelyInspector(options as never)).rejects.toThrow(message);
  });

  it('may cut nothing', async () => {
    const { stop } = await inspect.statelyInspector({ port: 0, textLength: Number.POSITIVE_INFINITY });
    stop();
  });
});

describe('the policies that come with Pawl', () => {
  it.each([
    [() => pawl.requires('a', null as never), '`options` must be an object; got null.'],
    [() => pawl.requires('a', { after: 'b' } as never), '`after` must be an array of tool names; got "b".'],
    [() => pawl.requires('a', { after: [] }), '`after` must be at least one tool name; got [].'],
    [() => pawl.requires('a', { after: [''] }), '`after[0]` must be the name of a tool; got "".'],
    [() => pawl.requires('', { after: ['b'] }), '`tool` must be the name of a tool; got "".'],
    [() => pawl.requires('a', { after: ['b'], before: 'c' } as never), 'Unknown option `before`.'],
    [() => pawl.requires('a', { after: ['b'], tool: 'c' } as never), 'Unknown option `tool`.'],
    [() => pawl.readBeforeWrite(null as never), '`options` must be an object; got null.'],
    [() => pawl.readBeforeWrite({ read: '' }), '`read` must be the name of a tool; got "".'],
    [() => pawl.readBeforeWrite({ write: 7 } as never), '`write` must be the name of a tool; got 7.'],
    [() => pawl.readBeforeWrite({ field: '' }), '`field` must be the name of a field; got "".'],
    [() => pawl.readBeforeWrite({ fields: 'a' } as never), 'Unknown option `fields`. Did you mean `field`?'],
  ])('refuse options that would guard nothing: %s', (make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  });
});
