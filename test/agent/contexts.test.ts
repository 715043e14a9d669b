import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkContext, contextOf } from '../../src/agent/context.ts';
import { type AgentDefinition, defineAgent, PawlError } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { counters, run, tokensOf } from '../support/session.ts';

type Definition = Partial<AgentDefinition>;

const agentOf = (name: string, more: object = {}) =>
  defineAgent({ name, models: [rehearsalModel([])], finish: 'text', ...(more as Definition) });

const user = z.object({ user: z.string() });
const database = z.object({ db: z.string() });

/** A tool that needs this context, and tells which it got. */
const toolFor = (contextSchema: unknown, got: unknown[] = []) => ({
  description: 'Looks.',
  inputSchema: z.object({}),
  contextSchema,
  execute: (_: unknown, { context }: { context?: unknown }) => {
    got.push(context);
    return 'seen';
  },
});

/** The code and the message of the refusal; null if the context is accepted. */
function refusal(agent: ReturnType<typeof agentOf>, context: unknown): readonly [string, string] | null {
  try {
    checkContext(agent, context);
    return null;
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    return [error.code, error.message];
  }
}

const lacks = (who: string, got: string, name: string) => [
  'invalid_options',
  `\`context (for the ${who})\` must be what its schema says; got ${got}. ${name}: Invalid input: expected string, received undefined`,
];

describe("a session's context", () => {
  it('is anything for an agent without a schema', () => {
    const agent = agentOf('alone');
    for (const context of [undefined, null, 7, { a: 1 }]) {
      expect(refusal(agent, context)).toBe(null);
      expect(contextOf(agent, context)).toBe(context);
    }
  });

  it('is what the schema makes of it', () => {
    const agent = agentOf('typed', { contextSchema: user });
    expect(refusal(agent, { user: 'ann', more: 1 })).toBe(null);
    expect(contextOf(agent, { user: 'ann', more: 1 })).toEqual({ user: 'ann' });
    expect(refusal(agent, {})).toEqual(lacks('agent typed', '{}', 'user'));
    expect(() => contextOf(agent, {})).toThrow('user: Invalid input');
  });

  it('is checked for each tool, as the agent’s own schema makes it', () => {
    const agent = agentOf('a', { contextSchema: user, tools: { look: toolFor(user), plain: toolFor(undefined) } });
    expect(refusal(agent, { user: 'ann' })).toBe(null);
    const strict = agentOf('a', { contextSchema: user, tools: { look: toolFor(database) } });
    expect(refusal(strict, { user: 'ann', db: 'x' })).toEqual(lacks('tool look', '{"user":"ann"}', 'db'));
  });

  it('is checked for sub-agents at any depth, unchanged by the agents above', () => {
    const inner = agentOf('inner', { contextSchema: database });
    const agent = agentOf('a', { contextSchema: user, agents: { middle: agentOf('m', { agents: { inner } }) } });
    expect(refusal(agent, { user: 'ann', db: 'x' })).toBe(null);
    expect(refusal(agent, { user: 'ann' })).toEqual(lacks('agent inner', '{"user":"ann"}', 'db'));
  });

  it('a check that throws is reported', () => {
    const validate = () => {
      throw new Error('out of order');
    };
    const jsonSchema = { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) };
    const contextSchema = { '~standard': { version: 1, vendor: 'own', validate, jsonSchema } };
    expect(refusal(agentOf('a', { contextSchema }), {})).toEqual([
      'invalid_options',
      '`context (for the agent a)` cannot be checked: out of order.',
    ]);
  });
});

describe('T-8: the context of an agent that a conversation is handed over to', () => {
  it('is checked by its own schema, and by those of its sub-agents and its own handoffs', () => {
    const last = agentOf('last', { agents: { inner: agentOf('inner', { contextSchema: user }) } });
    const next = agentOf('next', { contextSchema: database, handoffs: { last } });
    const agent = agentOf('first', { handoffs: { next } });
    expect(refusal(agent, { user: 'ann', db: 'x' })).toBe(null);
    expect(refusal(agent, { user: 'ann' })).toEqual(lacks('agent next', '{"user":"ann"}', 'db'));
    expect(refusal(agent, { db: 'x' })).toEqual(lacks('agent inner', '{"db":"x"}', 'user'));
  });

  it('is what its own schema makes of it, for its tools too, whatever the first agent’s schema leaves out', async () => {
    const got: unknown[] = [];
    const other = agentOf('other', {
      tools: { look: toolFor(database, got) },
      models: [rehearsalModel([{ calls: [{ name: 'look', input: {} }] }, { text: 'done' }])],
    });
    const agent = agentOf('first', {
      contextSchema: user,
      handoffs: { other },
      models: [rehearsalModel([{ calls: [{ name: 'transfer_to_other', input: {} }] }])],
    });
    const context = { user: 'ann', db: 'x' };
    const { result } = await run({ agent, options: { prompt: 'Look.', context } });
    expect(result.success).toBe(true);
    expect(result.counters).toEqual(
      counters({
        cachePrefixBreaks: { handoff: 1 },
        turns: 3,
        attempts: 3,
        toolCalls: { requested: 2, answered: 2, executed: 2, succeeded: 2 },
        reports: { attempted: 1 },
        tokens: tokensOf(3),
        costUsd: null,
      }),
    );
    expect(got).toEqual([{ db: 'x' }]);
    expect(refusal(agent, { user: 'ann' })).toEqual(lacks('tool look', '{"user":"ann"}', 'db'));
    const strict = agentOf('strict', { contextSchema: user, tools: { see: toolFor(database) } });
    const handing = agentOf('a', { handoffs: { strict } });
    expect(refusal(handing, context)).toEqual(lacks('tool see', '{"user":"ann"}', 'db'));
  });
});
