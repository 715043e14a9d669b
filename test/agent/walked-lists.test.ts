import { describe, expect, it, vi } from 'vitest';
import { secretsOf } from '../../src/agent/secrets.ts';
import {
  type AgentDefinition,
  allow,
  defineAgent,
  deny,
  restTool,
  runSession,
  type SessionEvent,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

const secret = 'quartz-pelican-58';
const input = { type: 'object' } as never;
const agentWith = (definition: Partial<AgentDefinition>) =>
  defineAgent({ name: 'inner', description: 'Inner.', models: [rehearsalModel([report()])], ...definition });

/**
 * Where a definition may hold a secret: a new field needs a row. Null for what holds none by itself; the others hold the
 * secret that they are given.
 */
const places: Record<keyof AgentDefinition, ((own: string) => Partial<AgentDefinition>) | null> = {
  name: null,
  description: null,
  models: () => ({ models: ['openai:gpt-5'] }),
  // An instance keeps its key to itself.
  providers: null,
  instructions: null,
  contextSchema: null,
  tools: (bearer) => ({
    tools: { look: restTool({ method: 'GET', url: 'http://localhost/', input, auth: { bearer } }) },
  }),
  mcpServers: (TOKEN) => ({ mcpServers: { files: { command: 'true', env: { TOKEN } } } }),
  agents: (own) => ({ agents: { inner: agentWith({ secrets: [own] }) } }),
  handoffs: (own) => ({ handoffs: { inner: agentWith({ secrets: [own] }) } }),
  checkInput: null,
  checkReply: null,
  checkReport: null,
  prepareTurn: null,
  toolPolicies: null,
  report: null,
  limits: null,
  settings: (own) => ({ settings: { headers: { 'x-api-key': own } } }),
  finish: null,
  builtIns: null,
  downloads: null,
  slices: null,
  secrets: (own) => ({ secrets: [own] }),
  compact: () => ({ compact: { model: 'openai:gpt-5' } }),
  pricing: null,
  queues: null,
  cache: null,
  telemetry: null,
};
const holding = Object.entries(places).flatMap(([field, make]) => (make === null ? [] : [[field, make] as const]));

describe.each(holding)('S-5: a secret in `%s`', (_, make) => {
  it.each<[string, (definition: Partial<AgentDefinition>) => Partial<AgentDefinition>]>([
    ['of the agent', (own) => own],
    ['of a sub-agent', (own) => ({ agents: { deeper: agentWith(own) } })],
    ['of an agent that it hands over to', (own) => ({ handoffs: { other: agentWith({ name: 'other', ...own }) } })],
    [
      'of a sub-agent of an agent that it hands over to',
      (own) => ({ handoffs: { other: agentWith({ name: 'other', agents: { deeper: agentWith(own) } }) } }),
    ],
  ])('%s is known, and shown nowhere', async (__, within) => {
    vi.stubEnv('OPENAI_API_KEY', secret);
    const definition = within(make(secret));
    const { models = [], ...rest } = definition;
    const model = rehearsalModel([{ ...report(`It is ${secret}.`), text: `Well, ${secret}.` }]);
    const agent = defineAgent({ name: 'tested', models: [model, ...models], ...rest });
    expect(secretsOf(agent.definition)).toContain(secret);
    if ('mcpServers' in definition) return;
    const told: SessionEvent[] = [];
    const result = await runSession(agent, { prompt: 'Go.', logger: false, onEvent: (event) => void told.push(event) });
    expect(JSON.stringify([told, result.report])).not.toContain('pelican');
    vi.unstubAllEnvs();
  });
});

/** The checks of an application; a new one needs a row: how it is made, given what it decides. */
const checks = {
  checkReply: (decide: () => boolean) => ({ checkReply: () => (decide() ? allow : deny('No.')) }),
  checkReport: (decide: () => boolean) => ({ checkReport: () => (decide() ? allow : deny('No.')) }),
  toolPolicies: (decide: () => boolean) => ({ toolPolicies: [() => (decide() ? allow : deny('No.'))] }),
} satisfies Partial<Record<keyof AgentDefinition, (decide: () => boolean) => Partial<AgentDefinition>>>;

describe.each(Object.entries(checks))('G-2, G-3: `%s` of an agent that takes the conversation over', (_, make) => {
  const conversation = async (first: boolean, second: boolean) => {
    const asked = { first: 0, second: 0 };
    const model = rehearsalModel(({ prompt }) => {
      const answers = prompt.filter(({ role }) => role === 'tool').length;
      if (answers === 0) return { calls: [{ name: 'transfer_to_other', input: { reason: 'It knows.' } }] };
      return answers === 1 ? { calls: [{ name: 'look', input: {} }] } : report();
    });
    const other = defineAgent({
      ...{ name: 'other', description: 'Other.', models: [model], tools: { look: () => 'seen' } },
      ...make(() => {
        asked.second += 1;
        return second;
      }),
    });
    const agent = defineAgent({
      ...{ name: 'tested', models: [model], handoffs: { other } },
      ...make(() => {
        asked.first += 1;
        return first;
      }),
      limits: { maxTurns: 5, maxRetries: 2 },
    });
    return { result: await runSession(agent, { prompt: 'Go.', logger: false }), asked };
  };

  it('is asked beside that of the first, and either may deny', async () => {
    const both = await conversation(true, true);
    expect(both.result.status).toBe('succeeded');
    expect(both.asked.first).toBeGreaterThan(0);
    expect(both.asked.second).toBeGreaterThan(0);
    const denied = await conversation(true, false);
    expect(denied.asked.second).toBeGreaterThan(0);
    const slugs = Object.keys({ ...denied.result.counters.slugs, ...denied.result.counters.toolCalls.rejected });
    expect(slugs.some((slug) => ['reply_denied', 'report_denied', 'policy_denied'].includes(slug))).toBe(true);
  });
});
