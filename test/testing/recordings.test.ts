import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterAll, describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent, exportSession, runSession, sqliteJournal } from '../../src/index.ts';
import {
  manualClock,
  type PawlMatchers,
  pawlMatchers,
  recordedAgent,
  recordedModel,
  recordingModel,
  rehearsalModel,
  startModelServer,
} from '../../src/testing/index.ts';
import { serveGemini } from '../support/gemini.ts';

declare module 'vitest' {
  interface Matchers extends PawlMatchers {}
}
expect.extend(pawlMatchers);

const folder = mkdtempSync(join(tmpdir(), 'pawl-recordings-'));
afterAll(() => rmSync(folder, { recursive: true }));
const quiet = { logger: false, prompt: 'Where is Ulysses?' } as const;
const report = { calls: [{ name: 'final_report', input: { content: 'J-12' } }] };
const look = { calls: [{ name: 'look', input: { title: 'Ulysses' } }] };
const answers = [{ ...look, reasoning: 'Let me look.', text: 'I look.' }, { text: '' }, report];
const agentWith = (model: AgentDefinition['models'][number], over: Partial<AgentDefinition> = {}) =>
  defineAgent({ name: 'librarian', models: [model], tools: { look: () => 'in J-12' }, ...over });

describe('a recorded model: what a provider streamed, part by part', () => {
  const providers = {
    'openai-compatible': (url: string) =>
      createOpenAICompatible({ name: 'local', baseURL: url, apiKey: 'sk-secret-key-0123456789' })('m'),
    openai: (url: string) => createOpenAI({ baseURL: url, apiKey: 'sk-secret-key-0123456789' }).chat('gpt-5'),
    anthropic: (url: string) =>
      createAnthropic({ baseURL: url, apiKey: 'sk-secret-key-0123456789' })('claude-haiku-4-5'),
  };

  it.each(Object.entries(providers))('of %s: the agent of today does the same, offline', async (name, make) => {
    const file = join(folder, `${name}.jsonl`);
    let url = '';
    const first = await (async () => {
      await using server = await startModelServer(answers);
      url = server.url;
      return await runSession(agentWith(recordingModel(make(url), file)), quiet);
    })();
    expect(first).toHaveSucceeded();
    const text = readFileSync(file, 'utf8');
    expect(text.trim().split('\n')).toHaveLength(4);
    expect(text).not.toContain('sk-secret-key');
    const model = recordedModel(file);
    const again = await runSession(agentWith(model), quiet);
    expect([model.difference, model.left]).toEqual([null, 0]);
    expect(again.report).toEqual(first.report);
    expect(again.conversation).toEqual(first.conversation);
    const { durationMs: _, ...tool } = again.counters.tools.look ?? { durationMs: 0 };
    expect(tool).toMatchObject({ calls: 1, failed: 0 });
    expect({ ...again.counters, tools: {} }).toEqual({ ...first.counters, tools: {} });
  });

  it('of Google, with its thoughts', async () => {
    const file = join(folder, 'google.jsonl');
    const first = await (async () => {
      await using server = await serveGemini([
        [{ text: 'Let me look.', thought: true }, { functionCall: { name: 'look', args: { title: 'Ulysses' } } }],
        [{ functionCall: { name: 'final_report', args: { content: 'J-12' } } }],
      ]);
      const model = createGoogleGenerativeAI({ baseURL: server.url, apiKey: 'k' })('gemini-2.5-flash');
      return await runSession(agentWith(recordingModel(model, file)), quiet);
    })();
    const again = await runSession(agentWith(recordedModel(file)), quiet);
    expect(again.conversation).toEqual(first.conversation);
    expect(again.counters.costUsd).toBe(first.counters.costUsd);
  });

  it('a fault, a stream that broke off and a whole response come back as they were', async () => {
    const file = join(folder, 'faults.jsonl');
    const limited = { status: 429, headers: { 'retry-after-ms': '1' } };
    const run = (model: AgentDefinition['models'][number], streaming: boolean) =>
      runSession(agentWith(model, { settings: { streaming } }), { ...quiet, random: () => 0, clock: manualClock() });
    const first = await (async () => {
      await using server = await startModelServer([
        limited,
        { text: 'I', cut: { afterBytes: 120, how: 'end' } },
        report,
      ]);
      return await run(recordingModel(providers.openai(server.url), file), true);
    })();
    const again = await run(recordedModel(file), true);
    expect(again.turns.map(({ attempts }) => attempts.map(({ slugs }) => slugs))).toEqual(
      first.turns.map(({ attempts }) => attempts.map(({ slugs }) => slugs)),
    );
    expect(first).toHaveFailedFor([['rate_limited'], ['stream_interrupted', 'network_error']]);
    const whole = join(folder, 'whole.jsonl');
    const one = await (async () => {
      await using server = await startModelServer([{ ...look, text: 'I look.' }, report]);
      return await run(recordingModel(providers.openai(server.url), whole), false);
    })();
    for (const streaming of [true, false])
      expect((await run(recordedModel(whole), streaming)).conversation).toEqual(one.conversation);
  }, 30_000);
});

describe('a request that differs from the recorded one', () => {
  const record = async (file: string) => {
    await runSession(agentWith(recordingModel(rehearsalModel([look, report]), file)), quiet);
    return file;
  };

  it('fails, and shows the difference; or goes on, if that is wanted', async () => {
    const file = await record(join(folder, 'differs.jsonl'));
    const strict = recordedModel(file);
    const changed = { tools: { look: () => 'in K-7' } };
    const result = await runSession(agentWith(strict, changed), quiet);
    expect(result).toHaveEndedWith('no_targets');
    expect(result.failure?.detail).toContain('Request 2 is not the one that was recorded: line');
    expect(strict.difference).toContain('in J-12');
    expect(strict.difference).toContain('in K-7');
    const loose = recordedModel(file, { strict: false });
    expect(await runSession(agentWith(loose, changed), quiet)).toHaveSucceeded();
    expect(loose.difference).toBe(strict.difference);
  });

  it('after the last recorded one, nobody answers, or another model does', async () => {
    const file = await record(join(folder, 'short.jsonl'));
    const agent = (model: AgentDefinition['models'][number]) =>
      agentWith(model, { checkReport: () => ({ ok: false, reason: 'no' }) as never });
    const result = await runSession(agent(recordedModel(file, { strict: false })), quiet);
    expect(result.success).toBe(false);
    const more = recordedModel(file, { strict: false, afterwards: rehearsalModel([report]) });
    await runSession(agent(more), quiet);
    expect(more.left).toBe(0);
  });

  it.each<[string, () => unknown, string]>([
    ['no file', () => recordedModel(join(folder, 'no.jsonl')), 'cannot be used'],
    ['another file', () => recordedModel(import.meta.filename), 'cannot be used'],
    ['an unknown option', () => recordedModel('x', { strickt: true } as never), 'Unknown option `options.strickt`.'],
    ['no model', () => recordingModel({} as never, join(folder, 'x')), '`model` must be an AI SDK language model'],
  ])('bad input is told: %s', (_, make, message) => expect(make).toThrow(message));
});

describe('a recorded session: its agent of today, on what happened', () => {
  const writer = (model: AgentDefinition['models'][number], over: Partial<AgentDefinition> = {}) => {
    const helper = defineAgent({
      name: 'helper',
      models: [rehearsalModel([look, report])],
      tools: { look: () => 'in J-12' },
    });
    return defineAgent({
      name: 'boss',
      models: [model],
      agents: { helper },
      tools: { charge: () => 'charged' },
      ...over,
    });
  };
  const script = [
    {
      calls: [
        { name: 'helper', input: { prompt: 'Look.', reason: 'To see.' } },
        { name: 'charge', input: { sum: 3 } },
      ],
    },
    report,
  ];

  it('its models, those of its sub-agents and its tools answer as they did, from a journal and from a file', async () => {
    const journal = sqliteJournal(':memory:');
    const first = await runSession(writer(rehearsalModel(script)), { ...quiet, journal, sessionId: 's' });
    expect(first).toHaveSucceeded();
    const file = join(folder, 's.jsonl');
    writeFileSync(file, await exportSession(journal, 's'));
    let charged = 0;
    const today = writer(rehearsalModel([{ text: 'never asked' }]), {
      tools: {
        charge: () => {
          charged += 1;
          return `charged ${charged}`;
        },
      },
    });
    for (const source of [file, { journal, sessionId: 's' }]) {
      const { agent, given } = await recordedAgent(today, source);
      expect(given).toEqual({ prompt: 'Where is Ulysses?' });
      const again = await runSession(agent, { ...given, logger: false });
      expect(again).toHaveSucceeded();
      expect(again.conversation).toEqual(first.conversation);
      expect(again.counters.tree.requests).toBe(4);
    }
    expect(charged).toBe(0);
    const { agent, given } = await recordedAgent(today, file, { strict: false, realTools: ['charge'] });
    expect(await runSession(agent, { ...given, logger: false })).toHaveCalled('charge', { sum: 3 });
    expect(charged).toBe(1);
    await journal.close();
  });

  it('a failure of last night is green once it is mended', async () => {
    const journal = sqliteJournal(':memory:');
    const broken = {
      checkReport: ({ content }: { content: unknown }) =>
        content === 'K-7' ? undefined : { ok: false, reason: 'No.' },
    };
    const make = (over: object) =>
      agentWith(rehearsalModel([look, report]), { limits: { maxTurns: 2, maxRetries: 1 }, ...over });
    const failed = await runSession(make(broken), { ...quiet, journal, sessionId: 'night' });
    expect(failed.success).toBe(false);
    const source = { journal, sessionId: 'night' };
    const red = await recordedAgent(make(broken), source);
    expect(await runSession(red.agent, { ...red.given, logger: false })).not.toHaveSucceeded();
    const green = await recordedAgent(make({}), source);
    expect(await runSession(green.agent, { ...green.given, logger: false })).toHaveSucceeded();
    await journal.close();
  });
});
