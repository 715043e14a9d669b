import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  defineAgent,
  resumeSession,
  runSession,
  type SessionOptions,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { openTelemetry } from '../../src/otel/open-telemetry.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { kept, tree } from '../support/otel.ts';
import { report, runOverWire } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

describe('pawl/otel over several lives', () => {
  it('D-3: a suspended session ends its spans, and a resumed one has a session of its own, which says so', async () => {
    const given = kept();
    const telemetry = openTelemetry({ ...given.providers, content: true });
    const model = rehearsalModel([searchCall, report()]);
    const guarded = { ...search, needsApproval: true };
    const agent = defineAgent({ name: 'kept', instructions: 'Look.', models: [model], tools: { search: guarded } });
    const journal = sqliteJournal(freshFile());
    const options: SessionOptions = { prompt: 'Go.', journal, logger: false, telemetry };
    const first = startSession(agent, options);
    for await (const event of first.events) if (event.type === 'tool.approvalRequested') break;
    await first.suspend();
    expect(given.spans().map(({ name, attributes: of }) => [name, of['error.type']])).toEqual([
      ['chat script', undefined],
      ['turn 1', undefined],
      ['invoke_agent kept', undefined],
    ]);
    const again = await resumeSession(agent, { journal, sessionId: first.sessionId, logger: false, telemetry });
    for await (const event of again.events)
      if (event.type === 'tool.approvalRequested') again.approve(event.callId, { approved: true });
    expect((await again.result).success).toBe(true);
    expect(tree(given.spans().slice(3))).toEqual([
      ['invoke_agent kept', 'execute_tool search', ['turn 2', 'chat script']],
    ]);
    const [called, asked] = ['execute_tool search', 'chat script'].map((name) =>
      given.spans().findLast((span) => span.name === name),
    );
    expect(called?.attributes['gen_ai.tool.call.arguments']).toBe(JSON.stringify(searchCall.calls[0]?.input));
    expect(asked?.attributes['gen_ai.system_instructions']).toContain('"Look."');
    expect(given.spans().at(-1)?.attributes).toMatchObject({ 'pawl.resumed': true, 'pawl.status': 'succeeded' });
    await journal.close();
  });

  it('D-3: the spans of a sub-agent end with the suspension too', async () => {
    const given = kept();
    const child = defineAgent({
      name: 'child',
      models: [rehearsalModel([searchCall])],
      tools: { search: { ...search, needsApproval: true } },
    });
    const agent = defineAgent({
      name: 'parent',
      models: [rehearsalModel([{ calls: [{ name: 'child', input: { prompt: 'Search.', reason: 'to know' } }] }])],
      agents: { child },
    });
    const journal = sqliteJournal(freshFile());
    const telemetry = openTelemetry(given.providers);
    const session = startSession(agent, { prompt: 'Go.', journal, logger: false, telemetry });
    for await (const event of session.events) if (event.type === 'tool.approvalRequested') break;
    await session.suspend();
    const events: string[] = [];
    for await (const { type } of session.events) events.push(type);
    expect(events.filter((type) => type === 'session.suspended')).toHaveLength(1);
    const names = given.spans().map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('invoke_agent'))).toEqual([
      'invoke_agent child',
      'invoke_agent parent',
    ]);
    expect(names.filter((name) => name === 'turn 1')).toHaveLength(2);
    await journal.close();
  });

  it('C-6: a new session whose messages are repaired is not resumed; a request that is aborted counts', async () => {
    const given = kept();
    const { result } = await runOverWire({
      script: [{ hang: true }],
      options: {
        messages: [
          { role: 'user', content: 'Hi.' },
          { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'x', input: {} }] },
        ],
        prompt: 'Go on.',
        telemetry: openTelemetry(given.providers),
      },
      during: (event, session) => event.type === 'attempt.started' && session.abort(),
    });
    expect(result.status).toBe('aborted');
    const session = given.spans().find(({ name }) => name === 'invoke_agent tested');
    expect(session?.attributes['pawl.resumed']).toBeUndefined();
    expect((await given.points()).find(({ name }) => name === 'pawl.requests')?.value).toBe(1);
  });

  it('T-7 T-8: a request has the instructions of its turn and of the agent that speaks', async () => {
    const given = kept();
    const boss = defineAgent({
      name: 'boss',
      description: 'Decides.',
      instructions: 'I am the boss.',
      models: [rehearsalModel([report()])],
    });
    const agent = defineAgent({
      name: 'root',
      instructions: 'I am the root.',
      models: [rehearsalModel([searchCall, searchCall, { calls: [{ name: 'transfer_to_boss', input: {} }] }])],
      tools: { search },
      handoffs: { boss },
      prepareTurn: ({ turn }) => (turn === 2 ? { instructions: 'For this turn alone.' } : {}),
    });
    const telemetry = openTelemetry({ ...given.providers, content: true });
    expect((await runSession(agent, { prompt: 'Go.', logger: false, telemetry })).success).toBe(true);
    const said = given
      .spans()
      .flatMap(({ name, attributes: of }) =>
        name.startsWith('chat') ? JSON.parse(String(of['gen_ai.system_instructions'])) : [],
      );
    expect(said.map(({ content }) => content)).toEqual([
      'I am the root.',
      'For this turn alone.',
      'I am the root.',
      'I am the boss.',
    ]);
  });
});
