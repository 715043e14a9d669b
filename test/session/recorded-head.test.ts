import { describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent, PawlError } from '../../src/index.ts';
import type { SessionHead } from '../../src/journal/journal.ts';
import { checkAgent, checkFormat, checkHead, newHead } from '../../src/session/head.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { search } from '../support/tools.ts';

const model = (modelId: string) => rehearsalModel([], { provider: 'test', modelId });
const one = model('one');
const define = (over: Partial<AgentDefinition> = {}) => defineAgent({ name: 'clerk', models: [one], ...over });
const clock = manualClock({ start: 5_000 });

/** Returns the code and the message of what is thrown. */
function problemOf(act: () => unknown): [string, string] | null {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof PawlError) return [error.code, error.message];
    throw error;
  }
}

describe('D-4: an agent resumes only sessions that fit it', () => {
  const child = define({ name: 'child', pricing: { 'test:one': { input: 1, output: 1 } } });
  const began = { tools: { search }, agents: { child }, mcpServers: { files: { command: 'x' } } };
  const pricing = { 'test:one': { input: 1, output: 1 } };
  const budget = { costUsd: 3, wallClockMs: 1_000 };
  const { head } = newHead(define({ ...began, pricing }), 's', {
    prompt: 'Go.',
    budget,
    metadata: { of: 'me' },
    clock,
  });
  const changed = (over: Partial<AgentDefinition>) => {
    const [code, message] = problemOf(() => checkAgent(define({ ...began, pricing, ...over }), head)) ?? ['', ''];
    expect(code).toBe('agent_changed');
    return message.replace('The agent clerk is not the one that began the session s: ', '');
  };

  it('a head holds what the session began with', () => {
    expect(head).toMatchObject({
      sessionId: 's',
      agent: 'clerk',
      call: null,
      prompt: 'Go.',
      overrides: null,
      metadata: { of: 'me' },
      report: 'text',
      servers: ['files'],
      input: { at: 5_000, targets: ['test:one'], budget: { costUsd: 3, deadlineAt: 6_000 } },
    });
    expect(head.tools).toEqual(['search', 'final_report', 'child']);
    const bare = newHead(define(), 's', { messages: [{ role: 'user', content: 'Hi.' }], clock });
    expect(bare.head).toMatchObject({ prompt: null, metadata: {}, overrides: null });
    expect(bare.repairs).toBeNull();
  });

  it('the same one does, and one that can do more', () => {
    expect(problemOf(() => checkAgent(define({ ...began, pricing }), head))).toBeNull();
    const more = {
      ...began,
      tools: { search, more: search },
      mcpServers: { ...began.mcpServers, web: { command: 'y' } },
    };
    expect(problemOf(() => checkAgent(define({ ...more, pricing }), head))).toBeNull();
    // Without a budget in dollars, no price is needed.
    const free: SessionHead = { ...head, input: { ...head.input, budget: { ...head.input.budget, costUsd: null } } };
    expect(problemOf(() => checkAgent(define(began), free))).toBeNull();
  });

  it('D-6b: so does one with other limits, another window, and more models in any order', () => {
    const limits = { maxTurns: 7, maxRetries: 2, maxToolCallsPerTurn: 3, contextWindow: 9_000 };
    const models = [model('two'), one];
    const prices = { ...pricing, 'test:two': { input: 1, output: 1 } };
    expect(problemOf(() => checkAgent(define({ ...began, limits, models, pricing: prices }), head))).toBeNull();
  });

  it('another one does not, and every difference is named', () => {
    expect(changed({ models: [model('two')], pricing: {} })).toBe(
      'the model test:one is missing; the price of test:two is missing.',
    );
    expect(changed({ agents: { child: define({ name: 'child' }) } })).toBe(
      'the price of test:one is missing in the agent child.',
    );
    expect(changed({ finish: 'text' })).toContain('finish: was "report", is "text"');
    expect(changed({ prepareTurn: () => undefined })).toBe('prepareTurn or handoffs: had none, has some.');
    expect(changed({ tools: {}, agents: {}, mcpServers: {} })).toBe(
      'the tool search is missing; the tool child is missing; the MCP server files is missing.',
    );
    const renamed = problemOf(() => checkAgent(define({ ...began, pricing, name: 'other' }), head));
    expect(renamed?.[1]).toContain('name: was "clerk", is "other".');
    expect(problemOf(() => checkAgent(define({ ...began, pricing }), { ...head, report: 'json' }))?.[1]).toContain(
      'report: was "json", is "text".',
    );
  });

  it('D-6: a session recorded in another format is refused by its number, whatever its machines', () => {
    expect(problemOf(() => checkFormat({ ...head, machines: 'older' } as SessionHead))).toBeNull();
    for (const [format, which] of [
      [head.format - 1, 'an earlier'],
      [head.format + 1, 'a later'],
    ] as const)
      expect(problemOf(() => checkFormat({ ...head, format }))).toEqual([
        'machines_changed',
        `The session s was recorded by ${which} version of Pawl: its entries have the format ${format}, and this version reads the format ${head.format}.`,
      ]);
  });

  it.each([
    ...['agent', 'call', 'input', 'prompt', 'messages', 'overrides', 'metadata', 'report', 'tools', 'servers'],
    'resultBytes',
  ] as const)('a head without its %s, or with a symbol in its place, is refused by name', (field) => {
    expect(problemOf(() => checkHead(head))).toBeNull();
    const { [field]: _, ...rest } = head;
    for (const broken of [rest, { ...head, [field]: Symbol('x') }])
      expect(problemOf(() => checkHead(broken as never))).toEqual([
        'invalid_journal',
        expect.stringContaining(`\`head.${field}\``),
      ]);
  });

  it.each(['at', 'bound', 'budget', 'targets'])('nor may the machines lack their %s', (field) => {
    const broken = { ...head, input: { ...head.input, [field]: 'x' } };
    expect(problemOf(() => checkHead(broken as never))?.[1]).toContain(`\`head.input.${field}\` must be a`);
  });

  it.each([
    ['messages', [7], 'head.messages[0]'],
    ['tools', [7], 'head.tools[0]'],
    ['servers', [null], 'head.servers[0]'],
    ['input', { ...head.input, targets: [7] }, 'head.input.targets[0]'],
    ['input', { ...head.input, bound: { maxTurns: 1 } }, 'head.input.bound.maxRetries'],
    ['input', { ...head.input, bound: { maxRetries: 1 } }, 'head.input.bound.maxTurns'],
  ])('what is in its %s is named: %j', (field, value, name) => {
    expect(problemOf(() => checkHead({ ...head, [field]: value } as never))?.[1]).toContain(`\`${name}\``);
  });

  it('D-6: another format is reported before malformed fields', () => {
    expect(problemOf(() => checkHead({ ...head, format: 0, tools: 7 } as never))?.[0]).toBe('machines_changed');
  });
});
