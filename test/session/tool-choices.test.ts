import { describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent, runSession, type TurnChanges } from '../../src/index.ts';
import { assertInvariants, startModelServer } from '../../src/testing/index.ts';
import { report, wireModel } from '../support/session.ts';

const choices: Record<number, TurnChanges['toolChoice']> = { 1: 'required', 2: { tool: 'look' }, 3: { tool: 'look' } };

function looking(url: string, wire: 'openai' | 'anthropic', more: Partial<AgentDefinition> = {}) {
  return defineAgent({
    name: 'looker',
    models: [wireModel(wire, url)],
    tools: { look: () => 'seen' },
    limits: { maxTurns: 3, maxRetries: 2 },
    prepareTurn: ({ turn }) => ({ toolChoice: choices[turn] ?? 'auto' }),
    ...more,
  });
}
const look = { calls: [{ name: 'look', input: {} }] };

describe('B-5b: the tool choice', () => {
  it.each<['openai' | 'anthropic', unknown[]]>([
    ['openai', ['required', { type: 'function', function: { name: 'look' } }, 'auto', 'auto']],
    ['anthropic', [{ type: 'any' }, { type: 'tool', name: 'look' }, { type: 'auto' }, { type: 'auto' }]],
  ])('is the plan’s, and on the last turn the model’s: %s', async (wire, expected) => {
    // The last turn is asked twice: its last attempt offers the report alone.
    await using server = await startModelServer([look, look, { text: '' }, report()]);
    const result = await runSession(looking(server.url, wire), { prompt: 'Look.', logger: false });
    assertInvariants(result);
    expect(result.status).toBe('succeeded');
    expect(server.requests.map(({ body }) => Reflect.get(body, 'tool_choice'))).toEqual(expected);
  });

  it('is the model’s where the budget has only the report left', async () => {
    await using server = await startModelServer([look, report()]);
    const agent = looking(server.url, 'openai');
    const result = await runSession(agent, { prompt: 'Look.', logger: false, budget: { requests: 2 } });
    expect(result.status).toBe('succeeded');
    expect(server.requests.map(({ body }) => Reflect.get(body, 'tool_choice'))).toEqual(['required', 'auto']);
  });
});
