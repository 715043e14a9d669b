import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { checkedLimits, type WorkflowOptions } from '../../src/workflow/options.ts';

const work = () => ({ status: 'succeeded' }) as const;
const checked = (own: object = {}) =>
  checkedLimits({ backlog: 'anywhere', agents: { process: work }, ...own } as WorkflowOptions);
const anAgent = () => defineAgent({ name: 'one', models: [rehearsalModel([])] });
const roles = ['scan', 'process', 'test', 'retrospective', 'summary'];

describe('W-1: the limits of a run', () => {
  const standard = { maxConsecutiveFailures: 3, maxItems: null, maxAgentTries: 3, maxTries: 2, concurrency: 1 };

  it('have defaults, one by one', () => {
    expect(checked()).toEqual(standard);
    expect(checked({ limits: {} })).toEqual(standard);
    expect(checked({ limits: { maxItems: 5, concurrency: 4 } })).toEqual({ ...standard, maxItems: 5, concurrency: 4 });
    expect(checked({ limits: { maxItems: null } })).toEqual(standard);
  });

  it.each(Object.keys(standard))('%s is an integer of at least 1', (name) => {
    for (const wrong of [0, -1, 1.5, '2', Number.NaN])
      expect(() => checked({ limits: { [name]: wrong } })).toThrow(
        `\`limits.${name}\` must be an integer of at least 1`,
      );
    expect(checked({ limits: { [name]: 7 } })).toEqual({ ...standard, [name]: 7 });
  });

  it('an unknown one is refused with those that there are', () => {
    expect(() => checked({ limits: { maxTrys: 1 } })).toThrow(
      'Unknown option `limits.maxTrys`. Did you mean `maxTries`? Options: maxConsecutiveFailures, maxItems, maxAgentTries, maxTries, concurrency.',
    );
  });
});

describe('the agents of a run', () => {
  it.each(roles)('%s may be an agent, a function, or a name with a function that loads it', (role) => {
    const named = { name: 'later', load: anAgent };
    for (const agent of [anAgent(), work, named])
      expect(() => checked({ agents: { process: work, [role]: agent } })).not.toThrow();
  });

  it.each(roles)('%s may be nothing else', (role) => {
    for (const wrong of ['coder', 5, null, {}, { name: 'later' }, { load: 'x' }])
      expect(() => checked({ agents: { process: work, [role]: wrong } })).toThrow(
        new RegExp(`^\`agents.${role}\` must be an agent made by defineAgent, \\{ name, load \\} or a function; got `),
      );
  });

  it('all but process may be left out', () => {
    const none = Object.fromEntries(roles.map((role) => [role, undefined]));
    expect(() => checked({ agents: { ...none, process: work } })).not.toThrow();
    expect(() => checked({ agents: none })).toThrow('`agents.process` is required');
    expect(() => checked({ agents: {} })).toThrow('`agents.process` is required');
  });

  it.each([undefined, null, 'process', work])('are an object: %s is refused', (agents) => {
    expect(() => checked({ agents })).toThrow('an object with `process`');
  });

  it('that work in one folder cannot work on several items at once', () => {
    for (const role of ['process', 'test']) {
      const agents = { process: work, [role]: anAgent() };
      expect(() => checked({ agents, limits: { concurrency: 2 } })).toThrow(
        `\`agents.${role}\` must be { name, load } or a function when \`limits.concurrency\` is above 1; got `,
      );
      expect(() => checked({ agents, limits: { concurrency: 1 } })).not.toThrow();
    }
    const others = { process: work, scan: anAgent(), retrospective: anAgent(), summary: anAgent() };
    expect(() => checked({ agents: others, limits: { concurrency: 2 } })).not.toThrow();
    const named = { process: { name: 'later', load: anAgent }, test: work };
    expect(() => checked({ agents: named, limits: { concurrency: 2 } })).not.toThrow();
  });
});

describe('the other options of a run', () => {
  it('are accepted', () => {
    const others = {
      budget: { tokens: 1_000 },
      onSessionEvent: () => undefined,
      approve: () => ({ approved: true }),
      journal: new MemoryJournal(),
      signal: new AbortController().signal,
      logger: false,
    };
    expect(() => checked(others)).not.toThrow();
  });

  it.each([
    [{ budget: { tokens: -1 } }, '`budget.tokens` must be'],
    [{ budget: { maxTokens: 1 } }, 'Unknown option `budget.maxTokens`.'],
    [{ onSessionEvent: 'log' }, '`onSessionEvent` must be a function; got "log".'],
    [{ approve: true }, '`approve` must be a function; got true.'],
    [{ journal: {} }, '`journal` must be a journal, such as '],
    [{ onEvent: 5 }, '`onEvent` must be'],
    [{ dryRun: true }, 'Unknown option `dryRun`.'],
  ])('%j is refused', (own, message) => {
    expect(() => checked(own)).toThrow(message);
  });

  it('of a run without any are refused', () => {
    for (const none of [undefined, null, 'backlog'])
      expect(() => checkedLimits(none as never)).toThrow(expect.objectContaining({ code: 'invalid_workflow' }));
  });
});
