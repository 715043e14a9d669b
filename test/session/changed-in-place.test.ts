import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { tool, wrapLanguageModel } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type Metadata, runSession, sqliteJournal, startSession } from '../../src/index.ts';
import { type RehearsalScript, rehearsalModel } from '../../src/testing/index.ts';
import { counters, report } from '../support/session.ts';

const logger = false as const;
const calls = (name: string) => ({ calls: [{ name, input: {} }] });

describe('T-3: what a middleware changes in its request', () => {
  it('is in no other request, of this session or another', async () => {
    const said: unknown[] = [];
    const script = [calls('look'), calls('look'), report()] satisfies RehearsalScript;
    const changed = (user: string) =>
      wrapLanguageModel({
        model: rehearsalModel(script),
        middleware: {
          specificationVersion: 'v4',
          transformParams: async ({ params }) => {
            const question = params.prompt.findLast(({ role }) => role === 'user');
            if (question?.role === 'user') question.content.push({ type: 'text', text: `(for ${user})` });
            for (const one of params.tools ?? []) {
              if (one.type !== 'function') continue;
              one.description += '!';
              one.inputSchema.title = `${one.inputSchema.title ?? ''}T`;
            }
            params.providerOptions ??= {};
            params.providerOptions.openai = { user, ...params.providerOptions.openai };
            const look = params.tools?.find(({ name }) => name === 'look') as LanguageModelV4FunctionTool | undefined;
            said.push([
              question?.content.length,
              look?.description,
              look?.inputSchema.title,
              params.providerOptions.openai.user,
            ]);
            return params;
          },
        },
      });
    const settings = { providerOptions: { openai: {} } };
    const look = tool({ description: 'Looks.', inputSchema: z.object({}), execute: () => 1 });
    for (const user of ['ada', 'bob']) {
      const agent = defineAgent({ name: 'told', models: [changed(user)], tools: { look }, settings });
      await runSession(agent, { prompt: 'Go.', logger });
    }
    const each = (user: string) => [2, 'Looks.!', 'T', user];
    expect(said).toEqual([each('ada'), each('ada'), each('ada'), each('bob'), each('bob'), each('bob')]);
    expect(settings).toEqual({ providerOptions: { openai: {} } });
  });
});

describe('C-6: the conversation that a tool gets', () => {
  it('is its own: what it changes there is in no request and no result', async () => {
    const masked = ({ messages }: { messages: unknown[] }) => {
      const [first] = messages as { content: unknown }[];
      if (first !== undefined) first.content = 'masked';
      messages.pop();
      return false;
    };
    const sdk = tool({
      inputSchema: z.object({}),
      needsApproval: (_, options) => masked(options),
      execute: (_, options) => masked(options),
    });
    const plain = {
      description: 'Looks.',
      inputSchema: z.object({}),
      execute: (_: object, options: { messages: unknown[] }) => masked(options),
    };
    const model = rehearsalModel([{ calls: [...calls('sdk').calls, ...calls('plain').calls] }, report()]);
    const agent = defineAgent({ name: 'masking', models: [model], tools: { sdk, plain: plain as never } });
    const result = await runSession(agent, { prompt: 'Card 4111.', logger });
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 2, tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 3, executed: 2, succeeded: 2, acknowledged: 1, answered: 3 },
      }),
    );
    expect(JSON.stringify(result.conversation[0])).toContain('Card 4111.');
    expect(JSON.stringify(model.requests.at(-1)?.prompt)).toContain('Card 4111.');
    expect(JSON.stringify(model.requests)).not.toContain('masked');
  });
});

describe('S-7: the metadata of a session', () => {
  it('are those that it began with, whatever becomes of the object', async () => {
    const journal = sqliteJournal(':memory:');
    const agent = defineAgent({ name: 'noted', models: [rehearsalModel(() => report())] });
    const metadata = { user: 'ada' };
    const told: Metadata[] = [];
    const telemetry = {
      session: (about: { metadata: Metadata }) => {
        told.push(about.metadata);
        return { event: () => {}, around: <T>(_: unknown, work: () => T) => work() };
      },
    };
    const first = startSession(agent, { prompt: 'Go.', journal, logger, metadata, telemetry: telemetry as never });
    metadata.user = 'bob';
    expect((await first.result).metadata).toEqual({ user: 'ada' });
    expect(told).toEqual([{ user: 'ada' }]);
    expect(() => Object.assign(told[0] ?? {}, { user: 'eve' })).toThrow(TypeError);
    expect((await journal.list({})).map((one) => one.metadata)).toEqual([{ user: 'ada' }]);
    await journal.close();
  });
});
