import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  PawlError,
  resumeSession,
  runSession,
  sqliteJournal,
  startSession,
  type TurnPreparation,
} from '../../src/index.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { counters, report, run, tokensOf, wireModel } from '../support/session.ts';
import { search } from '../support/tools.ts';

const inputSchema = z.object({});
const other = tool({ description: 'Another one.', inputSchema, execute: () => 'other' });
const everythingServer = {
  command: process.execPath,
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
};
const namesOf = (body: { tools?: unknown[] }) => JSON.stringify(body.tools).match(/(?<="name":")[^"]+/g);

describe('T-8: a conversation is handed over', () => {
  const lookUp = tool({ description: 'Looks an invoice up.', inputSchema, execute: () => 'invoice 7' });
  const transfer = (name: string) => ({ calls: [{ name: `transfer_to_${name}`, input: {} }] });
  const lookUpCall = { calls: [{ name: 'look_up', input: {} }] };

  function desk(url: string, over = {}, billingOver = {}) {
    const models = [wireModel('openai', url, 'small')];
    const billing = defineAgent({
      name: 'billing-agent',
      description: 'Knows all invoices.',
      models: [wireModel('openai', url, 'large')],
      instructions: ({ context }) => `You bill ${(context as { user: string } | undefined)?.user}.`,
      settings: { seed: 2 },
      tools: { look_up: lookUp },
      ...billingOver,
    });
    return defineAgent({
      name: 'desk',
      models,
      instructions: 'You greet.',
      settings: { seed: 1 },
      tools: { search },
      handoffs: { billing },
      ...over,
    });
  }

  it('to an agent without instructions, which then has none', async () => {
    await using server = await startModelServer([transfer('billing'), report()]);
    const agent = desk(server.url, {}, { instructions: undefined });
    const { result, requests } = await run({ agent, requests: server.requests, options: {} });
    expect(result.success).toBe(true);
    const systems = requests.map(({ body }) => /"role":"system","content":"([^"]*)"/.exec(JSON.stringify(body))?.[1]);
    expect(systems).toEqual(['You greet.', undefined]);
  });

  it('to another agent with its instructions, tools, models and settings, within the same bound', async () => {
    await using server = await startModelServer([transfer('billing'), lookUpCall, report()]);
    const agent = desk(server.url, { limits: { maxTurns: 3, maxRetries: 2 } });
    const { result, requests, events } = await run({
      agent,
      requests: server.requests,
      options: { context: { user: 'ada' } },
    });
    expect(result).toMatchObject({ success: true, agent: 'desk', handedTo: 'billing' });
    expect(result.counters).toEqual(
      counters({
        ...{ cachePrefixBreaks: { handoff: 1 }, turns: 3 },
        attempts: 3,
        notices: 1,
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(3),
        costUsd: null,
      }),
    );
    expect(requests.map(({ body }) => [body.model, body.seed, namesOf(body), body.messages[0]?.content])).toEqual([
      ['small', 1, ['search', 'final_report', 'transfer_to_billing'], 'You greet.'],
      ['large', 2, ['final_report', 'look_up'], 'You bill ada.'],
      ['large', 2, ['final_report', 'look_up'], 'You bill ada.'],
    ]);
    expect(JSON.stringify(requests[0]?.body.tools)).toContain('Knows all invoices.');
    expect(
      events.flatMap((event) => (event.type === 'turn.planned' ? [[event.turn, event.speaker, event.targets]] : [])),
    ).toEqual([
      [1, null, ['scripted:small']],
      [2, 'billing', ['scripted:large']],
      [3, 'billing', ['scripted:large']],
    ]);
  });

  it('and each agent and its tools get the context that its own schema makes of the given one', async () => {
    const seen: unknown[] = [];
    const noting = tool({ inputSchema, execute: (_, { context }) => void seen.push(context) });
    await using server = await startModelServer([
      { calls: [{ name: 'note', input: {} }] },
      transfer('billing'),
      lookUpCall,
      report(),
    ]);
    const user = z.string();
    const agent = desk(
      server.url,
      {
        contextSchema: z.object({ user, desk: z.number().default(4) }),
        instructions: ({ context }: { context: unknown }) => {
          seen.push(context);
          return 'You greet.';
        },
        tools: { note: noting },
      },
      {
        contextSchema: z.object({ user, ledger: z.string().default('B') }),
        instructions: ({ context }: { context: unknown }) => {
          seen.push(context);
          return 'You bill.';
        },
        tools: { look_up: noting },
      },
    );
    const { result } = await run({ agent, requests: server.requests, options: { context: { user: 'ada', more: 1 } } });
    expect(result.success).toBe(true);
    const [atDesk, billing] = [
      { user: 'ada', desk: 4 },
      { user: 'ada', ledger: 'B' },
    ];
    expect(seen).toEqual([atDesk, atDesk, billing, billing]);
  });

  it('the other’s policies and its `prepareTurn` hold from then on, the first’s no longer', async () => {
    const heard: string[] = [];
    const hears = (who: string) => [
      ({ name }: { name: string }) => {
        heard.push(`${who}: ${name}`);
        return { allow: true as const };
      },
    ];
    await using server = await startModelServer([transfer('billing'), lookUpCall, report()]);
    const agent = desk(
      server.url,
      {
        toolPolicies: hears('desk'),
        prepareTurn: ({ turn }: TurnPreparation) => void heard.push(`desk: turn ${turn}`),
      },
      {
        toolPolicies: hears('billing'),
        prepareTurn: ({ turn }: TurnPreparation) => void heard.push(`billing: turn ${turn}`),
      },
    );
    expect((await run({ agent, requests: server.requests })).result.success).toBe(true);
    expect(heard).toEqual([
      'desk: turn 1',
      'desk: transfer_to_billing',
      'billing: turn 2',
      'billing: look_up',
      'billing: turn 3',
    ]);
  });

  it('on from there, and only once in a reply', async () => {
    await using server = await startModelServer([
      { calls: [...transfer('billing').calls, ...transfer('sales').calls] },
      transfer('refunds'),
      report(),
    ]);
    const models = [wireModel('openai', server.url)];
    const refunds = defineAgent({ name: 'refunds', models, instructions: 'You refund.' });
    const sales = defineAgent({ name: 'sales', models });
    const billing = defineAgent({ name: 'billing', models, instructions: 'You bill.', handoffs: { refunds } });
    const agent = defineAgent({ name: 'desk', models, handoffs: { billing, sales } });
    const { result, requests } = await run({ agent, requests: server.requests });
    expect(result).toMatchObject({ success: true, handedTo: 'refunds' });
    expect(result.counters).toEqual(
      counters({
        ...{ cachePrefixBreaks: { handoff: 2 }, turns: 3 },
        attempts: 3,
        toolCalls: {
          requested: 4,
          answered: 4,
          executed: 2,
          succeeded: 2,
          acknowledged: 1,
          rejected: { tool_not_permitted: 1 },
        },
        reports: { attempted: 1 },
        tokens: tokensOf(3),
        costUsd: null,
      }),
    );
    expect(
      requests.map(({ body }) => [
        body.messages[0]?.role === 'system' ? body.messages[0].content : null,
        namesOf(body),
      ]),
    ).toEqual([
      [null, ['final_report', 'transfer_to_billing', 'transfer_to_sales']],
      ['You bill.', ['final_report', 'transfer_to_refunds']],
      ['You refund.', ['final_report']],
    ]);
  });

  it('D-3: after a resumption, without planning again what was planned', async () => {
    await using server = await startModelServer([
      transfer('billing'),
      { calls: [{ name: 'pay', input: {} }] },
      report(),
    ]);
    const planned: string[] = [];
    const pay = tool({ inputSchema, needsApproval: true, execute: () => 'paid' });
    const made = () =>
      desk(
        server.url,
        {},
        {
          tools: { pay },
          prepareTurn: ({ turn, counters: { requests } }: TurnPreparation) => void planned.push(`${turn}: ${requests}`),
        },
      );
    const journal = sqliteJournal(freshFile());
    const first = startSession(made(), { prompt: 'Go.', journal, logger: false });
    for await (const event of first.events) if (event.type === 'tool.approvalRequested') break;
    await first.suspend();
    expect(planned).toEqual(['2: 1']);
    const again = await resumeSession(made(), { journal, sessionId: first.sessionId, logger: false });
    for await (const event of again.events)
      if (event.type === 'tool.approvalRequested') again.approve(event.callId, { approved: true });
    const result = await again.result;
    expect(result).toMatchObject({ success: true, handedTo: 'billing' });
    expect(result.counters).toEqual(
      counters({
        ...{ cachePrefixBreaks: { handoff: 1 }, turns: 3 },
        attempts: 3,
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(3),
        costUsd: null,
      }),
    );
    expect(planned).toEqual(['2: 1', '3: 2']);
    expect(server.requests.map(({ body }) => [body.model, body.messages[0]?.content])).toEqual([
      ['small', 'You greet.'],
      ['large', 'You bill undefined.'],
      ['large', 'You bill undefined.'],
    ]);
    await journal.close();
  });

  it('what the other brings along stays its own, also if the first is defined again', async () => {
    await using server = await startModelServer([transfer('billing'), report()]);
    const models = [wireModel('openai', server.url)];
    const auditor = defineAgent({ name: 'auditor', models });
    const first = desk(server.url, {}, { agents: { auditor }, mcpServers: { everything: everythingServer } });
    const agent = defineAgent({ ...first.definition, limits: { maxTurns: 4 } });
    const { result, requests } = await run({ agent, requests: server.requests });
    expect(result).toMatchObject({ success: true, handedTo: 'billing' });
    expect(result.counters).toMatchObject({ turns: 2, attempts: 2, requests: 2 });
    const [own, others] = requests.map(({ body }) => namesOf(body));
    expect(own).toEqual(['search', 'final_report', 'transfer_to_billing']);
    expect(others).toEqual(expect.arrayContaining(['final_report', 'look_up', 'auditor', 'everything__echo']));
    expect(others).not.toContain('search');
  });

  it('a session that permits none of the other’s models ends before its turn', async () => {
    await using server = await startModelServer([transfer('billing')]);
    const options = { prompt: 'Go.', models: ['scripted:small'], logger: false as const };
    const result = await runSession(desk(server.url), options);
    expect(result.slugs).toEqual(['turn_not_prepared']);
    expect(result.failure?.detail).toContain('this session permits none of the models of billing');
    expect(result.counters).toMatchObject({ turns: 1, attempts: 1, requests: 1 });
  });

  it('agents that cannot share a conversation are refused when they are defined', () => {
    const models = [wireModel('openai', 'http://127.0.0.1:9')];
    const define =
      (handoffs: object, over = {}) =>
      () =>
        defineAgent({ name: 'desk', models, handoffs, ...over } as never);
    const billing = defineAgent({ name: 'billing', models, tools: { search: other } });
    const texts = defineAgent({ name: 'texts', models, finish: 'text' });
    const data = defineAgent({ name: 'data', models, report: { format: 'json', schema: z.object({}) } });
    expect(define({ billing }, { tools: { search } })).toThrow(
      '`handoffs.billing` must not bring a different tool "search": in a shared conversation a name means one thing.',
    );
    expect(define({ texts })).toThrow('`handoffs.texts` must be an agent that ends its sessions in the same way');
    expect(define({ data })).toThrow('`handoffs.data` must be an agent that ends its sessions in the same way');
    expect(define({ billing: 1 })).toThrow('`handoffs.billing` must be an agent made by defineAgent; got 1.');
    expect(define({ 'a b': billing })).toThrow(PawlError);
    expect(define({ billing }, { tools: { transfer_to_billing: search } })).toThrow(
      'a different tool "transfer_to_billing"',
    );
    // The same tool, under the same name, is no other.
    expect(define({ billing }, { tools: { search: other } })).not.toThrow();
  });
});
