import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isAgent } from '../../src/agent/definition.ts';
import { hasTool, voiceOf } from '../../src/agent/handoffs.ts';
import { type Agent, type AgentDefinition, defineAgent, PawlError } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { search } from '../support/tools.ts';

const models = [rehearsalModel([])];
const define = (over: object = {}, name = 'a') => defineAgent({ name, models, ...(over as Partial<AgentDefinition>) });
const modelOf = (modelId: string, more: object = {}) => ({ ...rehearsalModel([]), modelId, provider: 'own', ...more });

/** The code and the problems of a definition that is refused. */
function refusal(over: unknown): { code: string; problems: readonly string[] } {
  try {
    defineAgent(over as AgentDefinition);
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    return { code: error.code, problems: error.problems };
  }
  throw new Error('it was accepted');
}

const wrong = (over: object) => refusal({ name: 'a', models, ...over });
const alone = (code: string, problem: string) => ({ code, problems: [expect.stringContaining(problem)] });

/** What a provider is known by. */
const here = { languageModel: () => modelOf('m') };

describe('B-1: a definition', () => {
  it.each([[undefined], [null], [7], ['agent']])('that is %j is refused with all that it lacks', (definition) => {
    const { code, problems } = refusal(definition);
    expect(code).toBe('invalid_agent');
    expect(problems[0]).toMatch(/^`definition` (?:must be|is required)/);
  });

  it('has all its problems reported at once, under the code of the first', () => {
    const { code, problems } = refusal({
      name: 'a',
      models: ['nowhere:m'],
      limits: { maxTurns: 0 },
      tools: { one: 1 },
      agents: { sub: 2 },
      mcpServers: { s: {} },
      secrets: ['short'],
    });
    expect(code).toBe('invalid_limit');
    expect(problems.map((problem) => /`([^`]*)`/.exec(problem)?.[1])).toEqual([
      'limits.maxTurns',
      'models[0]',
      'secrets[0]',
      'mcpServers.s',
      'agents.sub',
      'tools.one',
    ]);
  });

  it.each([
    [{ instructions: 7 }, 'invalid_agent', '`instructions` must be a string or a function; got 7.'],
    [{ prepareTurn: {} }, 'invalid_agent', '`prepareTurn` must be a function; got {}.'],
    [{ toolPolicies: [1] }, 'invalid_agent', '`toolPolicies[0]` must be a function; got 1.'],
    [{ slices: { s: 1 } }, 'invalid_agent', '`slices.s` must be'],
    [{ slices: { s: null } }, 'invalid_agent', '`slices.s` must be'],
    [{ slices: { s: { initial: 0 } } }, 'invalid_agent', '`slices.s` must be'],
    [{ slices: { s: { reduce() {} } } }, 'invalid_agent', '`slices.s` must be'],
    [{ slices: { s: { initial: 0, reduce: 1 } } }, 'invalid_agent', '`slices.s` must be'],
    [{ downloads: { retries: 1 } }, 'invalid_agent', 'Unknown option `downloads.retries`.'],
    [{ contextSchema: 7 }, 'invalid_schema', '`contextSchema` must be a zod schema'],
    [{ secrets: ['', 'abc'] }, 'invalid_agent', '`secrets[1]` must have at least'],
    [{ handoffs: { 'a b': {} } }, 'invalid_tool', '`the name of handoffs.a b` must be 1 to 64 characters'],
    [{ handoffs: { b: {} } }, 'invalid_agent', '`handoffs.b` must be an agent made by defineAgent; got {}.'],
    [
      { report: { format: 'files' }, finish: 'report' },
      'invalid_agent',
      '`finish` must be text, since a report of files',
    ],
    [
      { agents: { search: define() }, tools: { search } },
      'duplicate_tool',
      '`agents.search` must not have the name of a tool',
    ],
    [{ agents: { 'a b': define() } }, 'invalid_tool', '`the name of agents.a b` must be'],
    [{ agents: { final_report: define() } }, 'duplicate_tool', '`agents.final_report` must have another name'],
    [{ models: [null] }, 'invalid_model', '`models[0]` must be an AI SDK language model'],
    [{ models: [{ specificationVersion: 'v1', modelId: 'm', provider: 'p' }] }, 'invalid_model', '`models[0]` must be'],
    [{ models: [{ specificationVersion: 'v4', provider: 'p' }] }, 'invalid_model', '`models[0]` must be'],
    [{ models: [{ specificationVersion: 'v4', modelId: 'm' }] }, 'invalid_model', '`models[0]` must be'],
    [{ models: [{ specificationVersion: 'v4', modelId: 'm', provider: 7 }] }, 'invalid_model', '`models[0]` must be'],
    [{ models: [{ modelId: 'm', provider: 'p' }] }, 'invalid_model', '`models[0]` must be'],
    [
      { providers: { here: 5 } },
      'invalid_agent',
      '`providers.here` must be an AI SDK provider, with `languageModel`; got 5.',
    ],
    [{ limits: null }, 'invalid_limit', '`limits` must be an object; got null.'],
    [
      { settings: { headers: { 'a b': 'x' } } },
      'invalid_agent',
      '`settings.headers.a b` must be a header that HTTP can send; got "x".',
    ],
    [
      { settings: { headers: { authorization: 'Bearer –' } } },
      'invalid_agent',
      '`settings.headers.authorization` must be a header that HTTP can send; got a string.',
    ],
    [{ models: ['nowhere:m'], providers: { here } }, 'invalid_model', 'with one of the providers here, '],
  ])('%j is refused', (over, code, problem) => {
    expect(wrong(over)).toEqual(alone(code, problem));
  });

  it.each(['v2', 'v3', 'v4'])('takes models of the specification %s', (specificationVersion) => {
    expect(define({ models: [{ specificationVersion, modelId: 'm', provider: 'p' }] }).targets).toHaveLength(1);
  });

  it('takes a model of a provider of its own by name', () => {
    const { targets } = define({ models: ['here:m', 'openai:gpt-5'], providers: { here } });
    expect(targets.map(({ name }) => name)).toEqual(['here:m', 'openai:gpt-5']);
  });

  it('the names of its targets are distinct', () => {
    const one = modelOf('m');
    const names = define({ models: [one, modelOf('n'), modelOf('m'), one] }).targets.map(({ name }) => name);
    const [first = '', second = ''] = names;
    expect(names).toEqual([first, second, `${first}#2`, `${first}#3`]);
  });

  it('has a report tool unless it finishes with a text, as with a report of files', () => {
    const names = (over: object) => [...define(over).tools.keys()];
    expect(names({ tools: { search } })).toEqual(['search', 'final_report']);
    expect(names({ finish: 'report' })).toEqual(['final_report']);
    expect(names({ finish: 'text' })).toEqual([]);
    expect(names({ report: { format: 'files' } })).toEqual([]);
    expect(define({ report: { format: 'files' } }).definition.finish).toBe('text');
    expect(define({ finish: 'report' }).definition.finish).toBe('report');
    expect(define({}).definition).not.toHaveProperty('finish');
  });

  it('is frozen with its limits, and `isAgent` recognizes nothing else', () => {
    const agent = define({ limits: { maxTurns: 3 } });
    expect([agent, agent.definition, agent.limits].every(Object.isFrozen)).toBe(true);
    expect(agent.limits.maxTurns).toBe(3);
    expect([agent, null, undefined, 'agent', {}, { targets: [] }, { definition: {} }].map(isAgent)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
      false,
    ]);
  });

  it('takes slices that begin with anything', () => {
    const slices = { s: { initial: undefined, reduce: () => 1 } };
    expect(define({ slices }).definition.slices).toEqual(slices);
  });
});

describe('T-8: agents that share a conversation', () => {
  const namesOf = (agent: Agent) => agent.voices.map(({ name }) => name);
  const voice = (agent: Agent, name: string | null) => voiceOf(agent, name);
  const known = modelOf('m');
  const price = { input: 1, output: 2 };

  it('an agent alone has one voice, with all its tools and targets', () => {
    const agents = { sub: define({}, 'sub') };
    const agent = define({ tools: { search }, agents, mcpServers: { s: { command: 'x' } }, pricing: { m: price } });
    const own = voice(agent, null);
    expect(namesOf(agent)).toEqual([null]);
    expect([...own.tools]).toEqual(['search', 'final_report', 'sub']);
    expect([...own.targets]).toEqual(agent.targets.map(({ name }) => [name, name]));
    expect(hasTool(own, { name: 'search' })).toBe(true);
    expect(hasTool(own, { name: 'find' })).toBe(false);
    expect(hasTool(own, { name: 's__find', server: 's' })).toBe(true);
    expect(hasTool(own, { name: 'search', server: 't' })).toBe(false);
    expect(hasTool(voice(define(), null), { name: 's__find', server: 's' })).toBe(false);
    expect(agent).toMatchObject({ agents, mcpServers: { s: { command: 'x' } }, pricing: { m: price } });
    expect(() => voice(agent, 'other')).toThrow('there is no agent "other" to hand over to');
  });

  it('bring their tools, servers, sub-agents, targets and prices, under names that stay distinct', () => {
    const sub = define({}, 'sub');
    const server = { command: 'x' };
    const other = define(
      {
        models: [known, modelOf('m', { settings: 1 }), modelOf('n')],
        tools: { find: search },
        agents: { sub },
        mcpServers: { s: server },
        pricing: { 'own/n': price, m: price },
      },
      'other',
    );
    const agent = define({ models: [known], handoffs: { other }, pricing: { m: { input: 9, output: 9 } } });
    expect(namesOf(agent)).toEqual([null, 'other']);
    expect([...agent.tools.keys()]).toEqual(['final_report', 'transfer_to_other', 'find']);
    expect([...voice(agent, null).tools]).toEqual(['final_report', 'transfer_to_other']);
    expect([...voice(agent, 'other').tools]).toEqual(['find', 'final_report', 'sub']);
    expect(agent.agents).toEqual({ sub });
    expect(agent.mcpServers).toEqual({ s: server });
    expect(agent.pricing.m).toEqual({ input: 9, output: 9 });
    expect(agent.pricing['own/n']).toEqual(price);
    const names = agent.targets.map(({ name }) => name);
    expect(new Set(names).size).toBe(3);
    const [first = '', second = ''] = names;
    expect(second).toBe(`${first}#2`);
    expect([...voice(agent, 'other').targets.values()]).toEqual(names);
  });

  it('agents reached through a handoff join too, once each', () => {
    const last = define({ tools: { search } }, 'last');
    const middle = define({ handoffs: { last } }, 'middle');
    const agent = define({ handoffs: { middle, last } });
    expect(namesOf(agent)).toEqual([null, 'middle', 'last']);
    expect([...voice(agent, 'middle').tools]).toEqual(['final_report', 'transfer_to_last']);
    expect([...voice(agent, 'last').tools]).toEqual(['search', 'final_report']);
    const chain = define({ handoffs: { middle } });
    expect(namesOf(chain)).toEqual([null, 'middle', 'last']);
    expect([...voice(chain, null).tools]).toEqual(['final_report', 'transfer_to_middle']);
  });

  it('an agent that finishes with a text gets no report tool', () => {
    const texts = define({ finish: 'text' }, 'texts');
    const agent = define({ finish: 'text', handoffs: { texts } });
    expect([...voice(agent, 'texts').tools]).toEqual([]);
  });

  const schema = z.object({ a: z.string() });
  it.each([
    [{ finish: 'text' }, {}],
    [{}, { finish: 'text' }],
    [{ report: { format: 'json', schema } }, {}],
    [{ report: { format: 'json', schema } }, { report: { format: 'json', schema: z.object({}) } }],
    [{ report: { format: 'markdown' } }, {}],
  ])('must end in the same way: %j, %j', (own, others) => {
    const other = define(others, 'other');
    expect(wrong({ ...own, handoffs: { other } })).toEqual(
      alone(
        'invalid_agent',
        '`handoffs.other` must be an agent that ends its sessions in the same way, with the same `finish` and `report`; got "other".',
      ),
    );
  });

  it('an explicit default `finish` counts as the same', () => {
    const report = { format: 'json', schema };
    expect(namesOf(define({ report, handoffs: { other: define({ report, finish: 'report' }) } }))).toHaveLength(2);
  });

  it.each([
    [{ tools: { search: () => 1 } }, { tools: { search } }, 'tool "search"'],
    [{ agents: { search: define() } }, { tools: { search } }, 'tool "search"'],
    [{ agents: { sub: define() } }, { agents: { sub: define() } }, 'tool "sub"'],
    [{ mcpServers: { s: { command: 'x' } } }, { mcpServers: { s: { command: 'x' } } }, 'tool "s__"'],
  ])('cannot give one name two meanings: %j, %j', (others, own, what) => {
    const other = define(others, 'other');
    expect(wrong({ ...own, handoffs: { other } })).toEqual(
      alone('duplicate_tool', `\`handoffs.other\` must not bring a different ${what}: in a shared conversation`),
    );
  });

  it('two different agents cannot share a name', () => {
    const last = define({}, 'last');
    const middle = define({ handoffs: { last } }, 'middle');
    expect(wrong({ handoffs: { last: define({}, 'else'), middle } })).toEqual(
      alone('duplicate_tool', '`handoffs.middle` must not bring a different tool "transfer_to_last"'),
    );
  });

  it('may share a server, a sub-agent and a tool', () => {
    const shared = { tools: { search }, agents: { sub: define() }, mcpServers: { s: { command: 'x' } } };
    const agent = define({ ...shared, handoffs: { other: define(shared, 'other') } });
    expect([...voice(agent, 'other').tools]).toEqual(['search', 'final_report', 'sub']);
    expect(agent.targets).toHaveLength(1);
  });
});
