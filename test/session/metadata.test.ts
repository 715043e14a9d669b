import { describe, expect, it } from 'vitest';
import {
  defineAgent,
  listSessions,
  type Metadata,
  readSession,
  replaySession,
  resumeSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { openaiHandler } from '../../src/openai/index.ts';
import { openTelemetry } from '../../src/otel/open-telemetry.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { chatHandler } from '../../src/ui/index.ts';
import { freshFile } from '../support/journaled.ts';
import { kept } from '../support/otel.ts';
import { report, runOverWire } from '../support/session.ts';
import { guarded } from '../support/tools.ts';

const metadata = { user: 'ada', plan: 'pro', seats: 3, trial: false };
const logger = false as const;

describe('S-7: the metadata of a session', () => {
  it('is in its result, its log lines and its listener, with those of its sub-agents, and in no request', async () => {
    const told: Metadata[] = [];
    const child = defineAgent({ name: 'child', models: [rehearsalModel([{}])], limits: { maxRetries: 1 } });
    const { result, requests, warnings, errors } = await runOverWire({
      script: [{}, { calls: [{ name: 'child', input: { prompt: 'Go.', reason: 'It can.' } }] }, report()],
      definition: { agents: { child } },
      options: {
        metadata,
        telemetry: {
          session: (about) => ({ event: () => void told.push(about.metadata), around: (_, work) => work() }),
        },
      },
    });
    expect(result).toMatchObject({ success: true, metadata });
    expect(result.counters).toMatchObject({ turns: 2, attempts: 3, failedAttempts: 1 });
    expect(JSON.stringify(requests)).not.toContain('"ada"');
    // One of the session itself, one of its sub-agent, which failed.
    expect([...warnings, ...errors].map((line) => [line.event, line.agent, line.metadata])).toEqual([
      ['attempt.failed', 'tested', metadata],
      ['attempt.failed', 'child', metadata],
      ['session.failed', 'child', metadata],
    ]);
    expect(new Set(told.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(metadata)]));
  });

  it('D-3: is in its journal, can be listed by, and comes back when the session is resumed', async () => {
    const model = rehearsalModel([{ calls: [{ name: 'guarded', input: { path: 'a' } }] }, report()]);
    const agent = defineAgent({ name: 'noted', models: [model], tools: { guarded } });
    const journal = sqliteJournal(freshFile());
    const first = startSession(agent, { prompt: 'Go.', journal, logger, metadata });
    for await (const event of first.events) if (event.type === 'tool.approvalRequested') break;
    await first.suspend();
    const other = startSession(agent, { prompt: 'Go.', journal, logger, metadata: { user: 'grace' } });
    await other.suspend({ graceMs: 0 });
    const ids = async (query: Metadata) =>
      (await listSessions(journal, { metadata: query })).map((one) => one.sessionId);
    expect(await ids({ user: 'ada' })).toEqual([first.sessionId]);
    expect(await ids({ user: 'ada', trial: true })).toEqual([]);
    expect(await readSession(journal, first.sessionId)).toMatchObject({ metadata });
    expect((await replaySession(journal, first.sessionId)).difference).toBeNull();
    const spans = kept();
    const heard: unknown[] = [];
    const again = await resumeSession(agent, {
      journal,
      sessionId: first.sessionId,
      logger,
      telemetry: openTelemetry(spans.providers),
      onEvent: (event, session) => {
        heard.push(session.metadata);
        if (event.type === 'tool.approvalRequested') again.approve(event.callId, { approved: true });
      },
    });
    for await (const event of again.events)
      if (event.type === 'tool.approvalRequested') again.approve(event.callId, { approved: true });
    expect(await again.result).toMatchObject({ success: true, metadata });
    expect(heard[0]).toEqual(metadata);
    expect(spans.spans().at(-1)?.attributes).toMatchObject({
      'pawl.metadata.user': 'ada',
      'pawl.metadata.seats': 3,
      'pawl.metadata.trial': false,
    });
    await journal.close();
  });

  it('comes from the request in a chat and behind OpenAI’s API', async () => {
    const heard: unknown[] = [];
    const agent = defineAgent({ name: 'texter', models: [rehearsalModel([{ text: 'Hi.' }])], finish: 'text' });
    const options = {
      logger,
      metadata: (request: Request) => ({ user: request.headers.get('x-user') ?? '' }),
      onEvent: (_: unknown, session: { metadata: Metadata }) => void heard.push(session.metadata),
    };
    const post = (body: object) => ({ method: 'POST', body: JSON.stringify(body), headers: { 'x-user': 'ada' } });
    const message = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] };
    const chat = chatHandler(agent, options);
    await (await chat(new Request('http://x.example/chat', post({ id: 'c', messages: [message] })))).text();
    const openai = openaiHandler([agent], options);
    const asked = { model: 'texter', messages: [{ role: 'user', content: 'Hi.' }] };
    expect((await openai(new Request('http://x.example/v1/chat/completions', post(asked)))).status).toBe(200);
    expect(heard.length).toBeGreaterThan(10);
    expect(new Set(heard.map((one) => JSON.stringify(one)))).toEqual(new Set(['{"user":"ada"}']));
  });

  it('S-5: a secret in it reaches no log line', async () => {
    const { lines } = await runOverWire({
      script: [{}],
      definition: { secrets: ['hunter2-hunter2'], limits: { maxRetries: 1 } },
      options: { metadata: { token: 'hunter2-hunter2' } },
    });
    expect(lines.length).toBeGreaterThan(1);
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });

  it.each([
    [
      'a nested value',
      { user: { name: 'ada' } },
      '`metadata.user` must be a string, a number or a boolean; got {"name":"ada"}.',
    ],
    [
      'a name that hides its value',
      { ['__proto__']: { a: 1 } },
      '`metadata` must be an object without the name `__proto__`',
    ],
    ['a list', ['ada'], '`metadata` must be an object of strings, numbers and booleans; got ["ada"].'],
    ['no number', { seats: Number.NaN }, '`metadata.seats` must be a string, a number or a boolean; got NaN.'],
  ])('%s is refused', (_what, given, message) => {
    const agent = defineAgent({ name: 'x', models: [rehearsalModel([])] });
    expect(() => startSession(agent, { prompt: 'Go.', metadata: given as never })).toThrow(message);
  });
});
