import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  allow,
  defineAgent,
  deny,
  type PrepareTurn,
  replace,
  resumeSession,
  runSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { counters, report, runOverWire, tokensOf } from '../support/session.ts';

const inputSchema = z.object({});
const logger = false as const;
const named = (modelId: string, ...script: Extract<Parameters<typeof rehearsalModel>[0], readonly unknown[]>) =>
  rehearsalModel(script, { provider: 'r', modelId });
const call = (name: string) => ({ calls: [{ name, input: {} }] });
const look = tool({ inputSchema, execute: () => 'seen' });
const everything = {
  command: process.execPath,
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
  allow: ['echo'],
};

describe('T-8: what belongs to whom', () => {
  it('a tool whose name only looks like one of a server stays with its own agent', async () => {
    const model = named('m', report());
    const admin = defineAgent({ name: 'admin', models: [model], tools: { everything__wipe: look } });
    const desk = defineAgent({ name: 'desk', models: [model], mcpServers: { everything }, handoffs: { admin } });
    const result = await runSession(desk, { prompt: 'Go.', logger });
    expect(result.success).toBe(true);
    expect(model.requests[0]?.tools).toEqual(['final_report', 'transfer_to_admin', 'everything__echo']);
  });

  it('the models of the other are tried in its own order, under its own names', async () => {
    const [a, b, otherA] = [named('a', call('transfer_to_billing')), named('b', report()), named('a', report())];
    const seen: unknown[] = [];
    const billing = defineAgent({
      name: 'billing',
      models: [b, otherA],
      prepareTurn: ({ turn }) => {
        seen.push(turn);
        return turn === 2 ? { models: ['r:a'] } : {};
      },
      tools: { look },
    });
    const desk = defineAgent({ name: 'desk', models: [a], handoffs: { billing } });
    const chosen = await runSession(desk, { prompt: 'Go.', logger });
    expect([chosen.success, otherA.requests.length, b.requests.length, seen]).toEqual([true, 1, 0, [2]]);
    const plain = defineAgent({ ...billing.definition, prepareTurn: () => {} });
    const first = defineAgent({ ...desk.definition, handoffs: { billing: plain } });
    await runSession(first, { prompt: 'Go.', logger });
    expect([otherA.requests.length, b.requests.length]).toEqual([1, 1]);
  });

  it('the other gets the context as its own schema makes it', async () => {
    const seen: unknown[] = [];
    const contextSchema = z.object({ user: z.string().default('anon') });
    const model = named('m', call('transfer_to_billing'), call('mine'), report());
    const billing = defineAgent({
      name: 'billing',
      models: [model],
      contextSchema,
      instructions: ({ context }) => String(seen.push(['instructions', context])),
      prepareTurn: ({ context }) => void seen.push(['turn', context]),
      toolPolicies: [
        (_call, _history, { context }) => {
          seen.push(['policy', context]);
          return allow;
        },
      ],
      tools: { mine: (_, { context }) => void seen.push(['tool', context]) },
    });
    const desk = defineAgent({ name: 'desk', models: [model], handoffs: { billing } });
    const result = await runSession(desk, { prompt: 'Go.', logger, context: {} });
    expect(result.success).toBe(true);
    expect(seen).toEqual(['turn', 'instructions', 'policy', 'tool', 'turn'].map((what) => [what, { user: 'anon' }]));
  });

  it('its instructions are made once, also if the session is resumed', async () => {
    let made = 0;
    const model = named('m', call('transfer_to_billing'), call('pay'), report());
    const billing = defineAgent({
      name: 'billing',
      models: [model],
      instructions: () => {
        made += 1;
        return `I am ${made}.`;
      },
      tools: { pay: tool({ inputSchema, needsApproval: true, execute: () => 'paid' }) },
    });
    const desk = defineAgent({ name: 'desk', models: [model], handoffs: { billing } });
    const journal = sqliteJournal(freshFile());
    const first = startSession(desk, { prompt: 'Go.', journal, logger });
    for await (const event of first.events) if (event.type === 'tool.approvalRequested') break;
    await first.suspend();
    const again = await resumeSession(desk, { journal, sessionId: first.sessionId, logger });
    for await (const event of again.events)
      if (event.type === 'tool.approvalRequested') again.approve(event.callId, { approved: true });
    expect((await again.result).success).toBe(true);
    const systems = model.requests.map(({ prompt }) => (prompt[0]?.role === 'system' ? prompt[0].content : null));
    expect(systems).toEqual([null, 'I am 1.', 'I am 1.']);
    await journal.close();
  });

  it('an agent without tools is offered none until a conversation has calls', async () => {
    const model = named('m', { text: 'Hi.' });
    const none = defineAgent({
      name: 'none',
      models: [model],
      tools: { look },
      finish: 'text',
      prepareTurn: () => ({ activeTools: [], offer: 'planned' }),
    });
    await runSession(none, { prompt: 'Go.', logger });
    expect(model.requests[0]?.tools).toEqual([]);
  });
});

describe('T-6, T-7: what a plan changes', () => {
  const wordy = tool({ description: 'word '.repeat(2_000), inputSchema, execute: () => 'x' });
  const small = { limits: { contextWindow: 4_000 }, tools: { look } };

  it.each<[string, object]>([
    ['the tools of agents that do not speak', { handoffs: { wordy: { tools: { wordy } } } }],
    [
      'B-5c: the tools that a turn does not offer',
      { tools: { look, wordy }, prepareTurn: () => ({ activeTools: ['look'], offer: 'planned' }) },
    ],
  ])('%s take no room', async (_what, over) => {
    const model = named('m', { ...call('look'), usage: { input: 0, output: 0 } }, report());
    const { handoffs, ...own } = over as { handoffs?: Record<string, object> };
    const others = Object.entries(handoffs ?? {}).map(([name, definition]) => [
      name,
      defineAgent({ name, models: [model], ...definition }),
    ]);
    const agent = defineAgent({
      name: 'desk',
      models: [model],
      ...small,
      ...own,
      handoffs: Object.fromEntries(others),
    });
    const result = await runSession(agent, { prompt: 'Go.', logger });
    expect(result).toMatchObject({ success: true, counters: { turns: 2, requests: 2, collapses: 0 } });
    expect(JSON.stringify(model.requests.map(({ tools }) => tools))).not.toContain('"wordy"');
  });

  it('after a turn with models of its own, the next one starts where it would have without', async () => {
    const prepareTurn: PrepareTurn = ({ turn }) => (turn === 2 ? { models: ['r:b'] } : {});
    const [a, b] = [named('a', call('look'), call('look'), report()), named('b', call('look'))];
    const agent = defineAgent({ name: 'escalates', models: [a, b], tools: { look }, prepareTurn });
    const result = await runSession(agent, { prompt: 'Go.', logger });
    expect(result).toMatchObject({ success: true, counters: { turns: 4, requests: 4 } });
    expect(result.turns.map(({ attempts }) => attempts[0]?.target)).toEqual(['r:a', 'r:b', 'r:a', 'r:a']);
  });
});

describe('G-1 to G-3: checks', () => {
  it('what they do to what they are given changes nothing', async () => {
    const meddled = (value: unknown) => JSON.stringify(value).includes('meddled');
    const { result, requests, events } = await runOverWire({
      script: [{ text: 'Hm.', calls: [{ name: 'look', input: {} }] }, report()],
      definition: {
        tools: { look },
        checkInput: ({ messages }) => {
          Object.assign(messages[0]?.content[0] ?? {}, { text: 'meddled' });
          (messages as unknown[]).push({ role: 'user', content: [{ type: 'text', text: 'meddled' }] });
          return allow;
        },
        checkReply: ({ reply }) => {
          reply.content.length = 0;
          return allow;
        },
        prepareTurn: ({ messages }) => void (messages as unknown[]).splice(0),
      },
    });
    expect(result.counters).toMatchObject({ turns: 2, attempts: 2, failedAttempts: 0, toolCalls: { executed: 1 } });
    expect([result.conversation, requests, events].some(meddled)).toBe(false);
    expect(requests[1]?.body.messages.map(({ role }) => role)).toEqual(
      ['user', 'assistant', 'tool', 'user'].slice(0, 3),
    );
  });

  it('F-1: what checkReport puts in the place of a report must be one', async () => {
    const attempt = (value: unknown, over = {}) =>
      runOverWire({
        script: [report({ n: 1 } as never)],
        definition: {
          report: { format: 'json', schema: z.object({ n: z.number() }) },
          checkReport: () => replace(value),
          limits: { maxRetries: 1 },
          ...over,
        },
      });
    expect((await attempt({ n: 2 })).result.report.content).toEqual({ n: 2 });
    const { result, events } = await attempt('not an object');
    expect(result.slugs).toContain('check_failed');
    expect(events.find(({ type }) => type === 'report.rejected')).toMatchObject({
      reasons: expect.stringContaining('checkReport() failed: what it put in its place is no report:'),
    });
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 1,
        failedAttempts: 1,
        toolCalls: { requested: 1, answered: 1, rejected: { check_failed: 1 } },
        reports: { attempted: 1, rejected: 1 },
        tokens: tokensOf(1),
        costUsd: null,
        slugs: { check_failed: 2, retries_exhausted: 1 },
      }),
    );
  });

  it('S-5: a secret in a reason is removed everywhere', async () => {
    const secret = 'hunter2-hunter2';
    const reason = `not ${secret}`;
    for (const check of [
      { checkInput: () => deny(reason) },
      { checkReply: () => deny(reason) },
      { checkReport: () => deny(reason) },
    ]) {
      const { result, requests, events, lines } = await runOverWire({
        script: [report(), report()],
        definition: { ...check, secrets: [secret], limits: { maxRetries: 2 } },
      });
      expect(result.success).toBe(false);
      expect(JSON.stringify([result, requests, events, lines])).not.toContain(secret);
    }
  });

  it('G-1: nothing of a prompt that was replaced is left, in the instructions or the report', async () => {
    const { result, requests } = await runOverWire({
      script: [{}],
      definition: {
        instructions: ({ prompt }) => `The task: ${prompt}`,
        checkInput: () => replace([{ role: 'user', content: 'card ****' }]),
        limits: { maxRetries: 1 },
      },
      options: { prompt: 'card 4111' },
    });
    expect(JSON.stringify([requests, result])).not.toContain('4111');
    expect(requests[0]?.body.messages[0]).toEqual({ role: 'system', content: 'The task: card ****' });
    expect(String(result.report.content)).toContain('card ****');
  });

  it('S-4: tools may have the names that every object has', async () => {
    const { result } = await runOverWire({
      script: [
        {
          calls: [
            { name: 'toString', input: {} },
            { name: 'valueOf', input: {} },
          ],
        },
        report(),
      ],
      definition: { tools: { toString: look, valueOf: look } as never },
    });
    expect(result.success).toBe(true);
    expect(Object.entries(result.counters.tools).map(([name, { calls }]) => [name, calls])).toEqual([
      ['toString', 1],
      ['valueOf', 1],
    ]);
  });
});
