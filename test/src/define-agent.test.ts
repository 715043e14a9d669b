import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, PawlError, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { search } from '../support/tools.ts';

const models = [rehearsalModel([])];
const define = (over: Record<string, unknown>) => () => defineAgent({ name: 'a', models, ...over } as AgentDefinition);

describe('a definition that cannot be', () => {
  it.each<[Record<string, unknown>, string, string]>([
    [
      { name: 'no spaces please' },
      'invalid_agent',
      'name is "no spaces please": allowed are 1 to 64 characters of A-Z a-z 0-9 _ -.',
    ],
    [{ models: [] }, 'invalid_agent', 'models is []: at least one model is needed.'],
    [{ models: ['gpt'] }, 'invalid_model', 'models.0 is "gpt": allowed is provider:model'],
    [{ models: ['nobody:gpt'] }, 'invalid_model', 'models.0 is "nobody:gpt"'],
    [{ models: [42] }, 'invalid_model', 'models.0 is 42: allowed are AI SDK language models'],
    [{ limits: { maxRetries: 0 } }, 'invalid_limit', 'limits.maxRetries is 0: an integer of at least 1 is allowed.'],
    [{ limits: { maxTurn: 3 } }, 'invalid_limit', 'limits.maxTurn is not known: allowed are maxTurns, maxRetries'],
    [{ tools: { 'rm -rf': search } }, 'invalid_tool', 'tools.rm -rf has the name "rm -rf"'],
    [
      { tools: { final_report: search } },
      'duplicate_tool',
      'tools.final_report has the name "final_report" of a built-in tool',
    ],
    [{ tools: { one: 'two' } }, 'invalid_tool', 'tools.one is "two"'],
    [{ tools: { one: { inputSchema: z.object({}) } } }, 'invalid_tool', 'tools.one.execute is undefined'],
    [
      { tools: { one: { inputSchema: 7, execute: () => 1 } } },
      'invalid_schema',
      'tools.one.inputSchema is 7, which is no schema',
    ],
    [
      { tools: { one: { inputSchema: { type: 'strange' }, execute: () => 1 } } },
      'invalid_schema',
      'tools.one.inputSchema is {"type":"strange"}',
    ],
    [
      { report: { format: 'pdf' } },
      'invalid_format',
      'report.format is "pdf": allowed are text, markdown, json, slack',
    ],
    [
      { report: { format: 'text', schema: z.string() } },
      'invalid_format',
      'report.schema is given with the format "text"',
    ],
    [{ finish: 'sometimes' }, 'invalid_agent', "finish is \"sometimes\": 'report' or 'text' is allowed."],
    [{ settings: { heat: 1 } }, 'invalid_agent', 'settings.heat is not known: allowed are temperature'],
    [{ memory: {} }, 'invalid_agent', 'memory is not known'],
    [{ mcpServers: { a: {} } }, 'invalid_server', 'exactly one of command, url and transport is needed'],
    [{ mcpServers: { 'a b': { url: 'https://x' } } }, 'invalid_server', 'mcpServers.a b has the name'],
    [{ mcpServers: { a: { url: 'ftp://x' } } }, 'invalid_server', 'mcpServers.a.url is "ftp://x"'],
    [
      { mcpServers: { a: { command: 'x', handlers: { sample: 'yes' } } } },
      'invalid_server',
      'mcpServers.a.handlers.sample is "yes": a function is allowed',
    ],
    [{ mcpServers: { a: { command: 'x', cmd: 1 } } }, 'invalid_server', 'mcpServers.a.cmd is not known'],
    [{ agents: { a: {} } }, 'invalid_agent', 'agents.a is {}: an agent made by defineAgent is allowed'],
    [
      { limits: { toolTimeoutMs: 2 ** 31 } },
      'invalid_limit',
      'limits.toolTimeoutMs is 2147483648: an integer from 1 to',
    ],
    [{ limits: { maxDepth: 0 } }, 'invalid_limit', 'limits.maxDepth is 0'],
    [
      { pricing: { m: { input: -1, output: 1 } } },
      'invalid_agent',
      'pricing.m.input is -1: a number of at least 0 is allowed.',
    ],
  ])('B-1: %j is refused with field, value and what is allowed', (over, code, message) => {
    expect(define(over)).toThrow(PawlError);
    expect(define(over)).toThrow(message);
    expect(define(over)).toThrow(expect.objectContaining({ code }));
  });

  it('B-1: a tool that asks for what is not supported is refused rather than half run', () => {
    const contextual = tool({ inputSchema: z.object({}), contextSchema: z.object({}), execute: () => 1 });
    expect(define({ tools: { contextual } })).toThrow('tools.contextual.contextSchema is set, which is not supported');
  });

  it.each([
    [{}, 'prompt is undefined and messages is empty'],
    [{ prompt: ' ' }, 'prompt is " "'],
    [{ messages: [{ role: 'system', content: 'x' }] }, 'messages.0'],
    [{ messages: [{ role: 'user', content: [{ type: 'tune' }] }] }, 'messages.0.content'],
  ])('a session cannot start with %j', (options, message) => {
    expect(() => startSession(defineAgent({ name: 'a', models }), options as never)).toThrow(message);
  });
});
