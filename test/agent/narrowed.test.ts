import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { narrowed } from '../../src/agent/narrow.ts';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { overridesIn, type SessionOverrides } from '../../src/vocabulary/overrides.ts';

const quick = tool({ inputSchema: z.object({}), execute: () => 'quick' });
const model = (modelId: string) => rehearsalModel([{}], { provider: 'rehearsal', modelId });
const agent = defineAgent({
  name: 'wide',
  models: [model('one'), model('two'), model('three')],
  instructions: 'You may do all.',
  tools: { quick, slow: quick },
  agents: { child: defineAgent({ name: 'child', models: [model('four')] }) },
  mcpServers: { files: { command: 'files' }, files_too: { command: 'files' } },
  builtIns: { progressReport: true },
  limits: { maxTurns: 4, maxRetries: 3, contextWindow: 100_000 },
});
const by = (overrides: SessionOverrides) => narrowed(agent, overrides);

describe('B-1: an agent as a session narrows it', () => {
  it('without overrides, it is the same', () => {
    expect(narrowed(agent, null)).toBe(agent);
    expect(overridesIn({})).toBeNull();
    expect(overridesIn({ tools: undefined as never, prompt: 'Go.' } as SessionOverrides)).toBeNull();
    const all = { instructions: '', limits: { maxTurns: 1 }, models: ['a'], tools: [] };
    expect(overridesIn({ ...all, prompt: 'Go.' } as SessionOverrides)).toEqual(all);
    for (const name of Object.keys(all) as (keyof SessionOverrides)[])
      expect(overridesIn({ [name]: all[name] })).toEqual({ [name]: all[name] });
  });

  it('overrides that set nothing change nothing', () => {
    expect(by({})).toEqual(agent);
    expect(by({}).shown).toBeNull();
    expect(by({ limits: {} }).limits).toEqual(agent.limits);
    expect(by({ limits: { maxTurns: undefined as never } }).limits).toEqual(agent.limits);
  });

  it('instructions, an empty text too, stand in place of the own ones', () => {
    expect(by({ instructions: 'Little.' }).definition.instructions).toBe('Little.');
    expect(by({ instructions: '' }).definition.instructions).toBe('');
    expect(by({ tools: [] }).definition.instructions).toBe('You may do all.');
    expect(agent.definition.instructions).toBe('You may do all.');
  });

  it('models are those that are named, in that order', () => {
    const { targets } = by({ models: ['rehearsal:three', 'rehearsal:one'] });
    expect(targets.map(({ name }) => name)).toEqual(['rehearsal:three', 'rehearsal:one']);
    expect(targets[0]).toBe(agent.targets[2]);
    expect(by({ tools: [] }).targets).toBe(agent.targets);
  });

  it('limits may be lower or the same, and the others stay', () => {
    expect(by({ limits: { maxTurns: 4, maxRetries: 1 } }).limits).toEqual({ ...agent.limits, maxRetries: 1 });
    // The agent has no such limit, so that any is lower.
    expect(agent.limits.approvalTimeoutMs).toBeNull();
    expect(by({ limits: { approvalTimeoutMs: 5 } }).limits).toEqual({ ...agent.limits, approvalTimeoutMs: 5 });
    expect(by({ limits: { approvalTimeoutMs: null } }).limits).toEqual(agent.limits);
  });

  it.each<[string[], string[], string[], string[]]>([
    [['quick'], ['quick'], [], []],
    [['child', 'slow'], ['slow'], ['child'], []],
    [['files__read'], [], [], ['files']],
    [['files_too__read'], [], [], ['files_too']],
    [['files__read', 'files_too__write'], [], [], ['files', 'files_too']],
    [[], [], [], []],
  ])('of the tools %j, it has %j, the agents %j and the servers %j', (tools, own, agents, servers) => {
    const made = by({ tools });
    expect([...made.tools.keys()].toSorted()).toEqual([...own, 'final_report', 'progress_report'].toSorted());
    expect([Object.keys(made.agents), Object.keys(made.mcpServers)]).toEqual([agents, servers]);
    expect(made.shown).toEqual(new Set(tools));
    expect(by({ instructions: 'x' }).tools).toEqual(agent.tools);
    expect(by({ instructions: 'x' }).mcpServers).toBe(agent.mcpServers);
  });

  it('is frozen, and so are its parts', () => {
    const made = by({ limits: { maxTurns: 1 } });
    expect([made, made.definition, made.limits].map(Object.isFrozen)).toEqual([true, true, true]);
  });

  const names = 'quick, slow, child, files__…, files_too__…';
  it.each<[SessionOverrides, string, string]>([
    [{ limits: { maxTurns: 5 } }, 'invalid_options', "`limits.maxTurns` must be at most the agent's, 4; got 5."],
    [
      { limits: { contextWindow: null } },
      'invalid_options',
      "`limits.contextWindow` must be at most the agent's, 100000; got null.",
    ],
    [{ limits: { maxTurns: 0 } }, 'invalid_limit', '`limits.maxTurns` must be an integer of at least 1; got 0.'],
    [{ limits: 5 as never }, 'invalid_limit', '`limits` must be'],
    [
      { models: ['rehearsal:one', 'openai:gpt-5'] },
      'invalid_options',
      '`models[1]` must be one of the agent\'s models (rehearsal:one, rehearsal:two, rehearsal:three); got "openai:gpt-5".',
    ],
    [
      { models: 'rehearsal:one' as never },
      'invalid_options',
      '`models` must be an array of target names; got "rehearsal:one".',
    ],
    [{ models: [] }, 'invalid_options', '`models` must be at least one target; got []'],
    [{ models: [''] }, 'invalid_options', '`models[0]` must be'],
    [{ tools: 'quick' as never }, 'invalid_options', '`tools` must be an array of tool names; got "quick".'],
    [{ tools: [' '] }, 'invalid_options', '`tools[0]` must be'],
    [
      { tools: ['quick', 'fast'] },
      'invalid_options',
      `\`tools\` must be names of the agent's tools (${names}); got "fast".`,
    ],
    [{ tools: ['final_report'] }, 'invalid_options', `names of the agent's tools (${names}); got "final_report".`],
    [{ tools: ['files_read'] }, 'invalid_options', `names of the agent's tools (${names}); got "files_read".`],
    [{ instructions: 5 as never }, 'invalid_options', '`instructions` must be a string; got 5.'],
    [{ prompt: 'Go.' } as never, 'invalid_options', 'Unknown option `prompt`.'],
  ])('%j is refused', (overrides, code, message) => {
    expect(() => by(overrides)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });

  it('an agent without tools says that it has none', () => {
    const bare = defineAgent({ name: 'bare', models: [model('one')] });
    expect(() => narrowed(bare, { tools: ['quick'] })).toThrow("`tools` must be names of the agent's tools (none)");
  });
});
