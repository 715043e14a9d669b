import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, PawlError, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { search } from '../support/tools.ts';

const models = [rehearsalModel([])];
const define = (over: Record<string, unknown>) => () => defineAgent({ name: 'a', models, ...over } as AgentDefinition);

const own = { name: 'own', description: 'a', contentSchema: {}, validate: () => ({}), parseText: () => ({}) };

describe('an invalid definition', () => {
  it.each<[Record<string, unknown>, string, string]>([
    [
      { name: ' none at its ends' },
      'invalid_agent',
      '`name` must be 1 to 64 characters in one line, with no space at either end; got " none at its ends".',
    ],
    [{ models: [] }, 'invalid_agent', '`models` must be an array with at least one model; got [].'],
    [
      { models: ['gpt'] },
      'invalid_model',
      '`models[0]` must be `provider:model`, such as "openai:gpt-5", with one of the providers anthropic, google, gro',
    ],
    [
      { models: ['unknown:gpt'] },
      'invalid_model',
      '`models[0]` must be `provider:model`, such as "openai:gpt-5", with one of the providers anthropic, google, gro',
    ],
    [
      { models: [42] },
      'invalid_model',
      '`models[0]` must be an AI SDK language model or a `provider:model` string; got 42.',
    ],
    [{ tools: new (class Tools {})() }, 'invalid_agent', '`tools` must be a plain object; got {}.'],
    [{ contextSchema: null }, 'invalid_schema', '`contextSchema` must be a zod schema'],
    [
      { report: { format: { ...own, contentSchema: z.string() } } },
      'invalid_format',
      '`report.format` must be one of text, markdown',
    ],
    [{ limits: { maxRetries: 0 } }, 'invalid_limit', '`limits.maxRetries` must be an integer of at least 1; got 0.'],
    [{ limits: { maxTurn: 3 } }, 'invalid_limit', 'Unknown option `limits.maxTurn`.'],
    [
      { tools: { 'rm -rf': search } },
      'invalid_tool',
      '`the name of tools.rm -rf` must be 1 to 64 characters from A-Z, a-z, 0-9, _ and -; got "rm -rf".',
    ],
    [
      { tools: { final_report: search } },
      'duplicate_tool',
      '`tools.final_report` must have another name; a built-in tool is named "final_report".',
    ],
    [{ tools: { one: 'two' } }, 'invalid_tool', '`tools.one` must be an AI SDK tool or a function; got "two".'],
    [
      { tools: { one: { inputSchema: z.object({}), execute: 1 } } },
      'invalid_tool',
      '`tools.one.execute` must be a function that runs the tool; got 1.',
    ],
    [
      { tools: { one: { inputSchema: z.object({}), toModelOutput: () => ({ type: 'text', value: '' }) } } },
      'invalid_tool',
      '`tools.one.toModelOutput` needs `execute`; without it, the call is answered from outside.',
    ],
    [
      { tools: { one: { inputSchema: 7, execute: () => 1 } } },
      'invalid_schema',
      '`tools.one.inputSchema` must be a zod schema, a Standard Schema with JSON Schema, an AI SDK schema or a JSON S',
    ],
    [
      { tools: { one: { inputSchema: { type: 'strange' }, execute: () => 1 } } },
      'invalid_schema',
      '`tools.one.inputSchema` must be a zod schema, a Standard Schema with JSON Schema, an AI SDK schema or a JSON S',
    ],
    [
      { report: { format: 'pdf' } },
      'invalid_format',
      '`report.format` must be one of text, markdown, json, slack, files, or an object with name, description, contentSchema',
    ],
    [
      { report: { format: 'text', schema: z.string() } },
      'invalid_format',
      '`report.schema` needs the format "json"; got "text".',
    ],
    [{ finish: 'sometimes' }, 'invalid_agent', "`finish` must be one of 'report', 'text'; got \"sometimes\"."],
    [{ settings: { heat: 1 } }, 'invalid_agent', 'Unknown option `settings.heat`.'],
    [{ memory: {} }, 'invalid_agent', 'Unknown option `memory`.'],
    [{ queues: { ['__proto__']: [] } }, 'invalid_agent', '`queues` must be an object without the name `__proto__`'],
    [{ queues: { pages: 0 } }, 'invalid_agent', '`queues.pages` must be an integer of at least 1; got 0.'],
    [
      { logger: false },
      'invalid_agent',
      '`logger`: it is an option of a session: pass it to startSession or runSession.',
    ],
    [{ toolChoice: 'required' }, 'invalid_agent', '`toolChoice`: it is for one turn: return it from prepareTurn.'],
    [{ maxTurns: 3 }, 'invalid_agent', '`maxTurns`: it belongs into limits.'],
    [
      { mcpServers: { a: {} } },
      'invalid_server',
      '`mcpServers.a` must be an object with exactly one of `command`, `url` and `transport`; got {}.',
    ],
    [
      { mcpServers: { 'a b': { url: 'https://x' } } },
      'invalid_server',
      '`the name of mcpServers.a b` must be 1 to 32 characters from A-Z, a-z, 0-9, _ and -, with no __ in it and no _ at its end; got "a b".',
    ],
    [
      { mcpServers: { a: { url: 'ftp://x' } } },
      'invalid_server',
      '`mcpServers.a.url` must be an http or https URL; got "ftp://x".',
    ],
    [
      { mcpServers: { a: { command: 'x', handlers: { sample: 'yes' } } } },
      'invalid_server',
      '`mcpServers.a.handlers.sample` must be a function; got "yes".',
    ],
    ...['npx server', { start: () => {} }].map((transport): [Record<string, unknown>, string, string] => [
      { mcpServers: { a: { transport } } },
      'invalid_server',
      '`mcpServers.a.transport` must be an MCP transport, or a function that makes one; got',
    ]),
    [{ mcpServers: { a: { command: 'x', cmd: 1 } } }, 'invalid_server', 'Unknown option `mcpServers.a.cmd`.'],
    [{ agents: { a: {} } }, 'invalid_agent', '`agents.a` must be an agent made by defineAgent; got {}.'],
    [
      { limits: { toolTimeoutMs: 2 ** 31 } },
      'invalid_limit',
      '`limits.toolTimeoutMs` must be an integer from 1 to 2147483647 (ms); got 2147483648.',
    ],
    [{ limits: { maxDepth: 0 } }, 'invalid_limit', '`limits.maxDepth` must be an integer of at least 1; got 0.'],
    [
      { pricing: { m: { input: -1, output: 1 } } },
      'invalid_agent',
      '`pricing.m.input` must be a number of at least 0; got -1.',
    ],
  ])('B-1: %j throws an error that names the field, the value and what is allowed', (over, code, message) => {
    expect(define(over)).toThrow(PawlError);
    expect(define(over)).toThrow(message);
    expect(define(over)).toThrow(expect.objectContaining({ code }));
  });

  it('B-1: a tool with an unsupported option is rejected instead of running without it', () => {
    const streaming = tool({ inputSchema: z.object({}), onInputStart: () => {}, execute: () => 1 });
    expect(define({ tools: { streaming } })).toThrow('`tools.streaming.onInputStart` is not supported; remove it.');
  });

  it.each([
    [{}, 'Pass `prompt`, or at least one message in `messages`.'],
    [{ prompt: ' ' }, '`prompt` must be a string that is not blank; got " ".'],
    [
      { messages: [{ role: 'system', content: 'x' }] },
      '`messages[0]` must be an AI SDK user, assistant or tool message (put system text in the agent',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'tune' }] }] },
      '`messages[0]` must be an AI SDK user, assistant or tool message (put system text in the agent',
    ],
  ])('a session cannot start with %j', (options, message) => {
    expect(() => startSession(defineAgent({ name: 'a', models }), options as never)).toThrow(message);
  });
});
