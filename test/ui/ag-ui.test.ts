import { type AgentSubscriber, type BaseEvent, HttpAgent, type RunAgentParameters } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { serve } from '@hono/node-server';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Agent, defineAgent, type SessionEvent, sqliteJournal } from '../../src/index.ts';
import { type ServerScript, startModelServer } from '../../src/testing/index.ts';
import { agUiHandler } from '../../src/ui/index.ts';
import { freshFile } from '../support/journaled.ts';
import { report, wireModel } from '../support/session.ts';
import { guarded, search } from '../support/tools.ts';

type Definition = Partial<Parameters<typeof defineAgent>[0]>;
type Options = NonNullable<Parameters<typeof agUiHandler>[1]>;

/** A client of AG-UI whose agent is behind a real server, with a model behind another; every event is validated. */
async function connected(script: ServerScript, definition: Definition = {}, options: Options = {}) {
  const models = await startModelServer(script);
  const agent = defineAgent({
    name: 'helper',
    models: [wireModel('openai', models.url)],
    finish: 'text',
    ...definition,
  } as Parameters<typeof defineAgent>[0]) as Agent;
  const told: SessionEvent[] = [];
  const onEvent = (event: SessionEvent) => void told.push(event);
  const handle = agUiHandler(agent, { logger: false, onEvent, ...options });
  let port = 0;
  const server = serve({ fetch: handle, port: 0, hostname: '127.0.0.1' }, (info) => {
    port = info.port;
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const client = new HttpAgent({ url: `http://127.0.0.1:${port}/`, threadId: 'thread' });
  const run = async (parameters: RunAgentParameters = {}) => {
    const events: BaseEvent[] = [];
    const subscriber: AgentSubscriber = {
      onEvent: ({ event }) => {
        EventSchemas.parse(event);
        events.push(event);
      },
    };
    const failed = await client.runAgent(parameters, subscriber).then(
      () => null,
      (error: Error) => error,
    );
    return { events, types: events.map(({ type }) => String(type)), failed, last: events.at(-1) };
  };
  const say = (content: string) => client.addMessage({ id: `u${client.messages.length}`, role: 'user', content });
  const counts = () => {
    const of = (type: SessionEvent['type']) => told.filter((event) => event.type === type).length;
    return { sessions: of('session.started'), requests: of('attempt.started'), answered: of('tool.answered') };
  };
  const close = async () => {
    await models.close();
    await new Promise((resolve) => server.close(resolve));
  };
  return { client, run, say, counts, models, port, [Symbol.asyncDispose]: close };
}

const call = (name: string, input: unknown, text = '') => ({ text, calls: [{ name, input }] });
const answering =
  (first: object, said: (answer: string) => string): ServerScript =>
  ({ body: { messages } }) => {
    const answer = messages.findLast(({ role }) => role === 'tool');
    return answer === undefined ? first : { text: said(String(answer.content)) };
  };

describe('agUiHandler, with the client of AG-UI over HTTP', () => {
  it('a run has steps, text, calls and results, and the conversation goes on in the next one', async () => {
    await using given = await connected(
      [call('search', { q: 'moss' }, 'I look.'), { text: 'Moss is green.' }, { text: 'Yes.' }],
      { tools: { search } },
    );
    given.say('What is moss?');
    const { types, last, failed } = await given.run();
    expect(failed).toBeNull();
    const isDelta = (type: string) => /CONTENT|ARGS|CUSTOM/.test(type);
    expect(types.filter((type) => !isDelta(type))).toEqual([
      'RUN_STARTED',
      ...['STEP_STARTED', 'TEXT_MESSAGE_START'],
      ...['TOOL_CALL_START', 'TEXT_MESSAGE_END', 'TOOL_CALL_END', 'TOOL_CALL_RESULT', 'STEP_FINISHED'],
      ...['STEP_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'STEP_FINISHED'],
      ...['STATE_SNAPSHOT', 'RUN_FINISHED'],
    ]);
    expect(last).toMatchObject({
      outcome: { type: 'success' },
      result: 'Moss is green.',
      usage: [{ totalTokens: 30 }],
    });
    expect(given.client.messages).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: 'I look.',
        toolCalls: [{ function: { name: 'search', arguments: '{"q":"moss"}' } }],
      },
      { role: 'tool', content: 'found moss' },
      { role: 'assistant', content: 'Moss is green.' },
    ]);
    given.say('Sure?');
    await given.run();
    expect(given.models.requests[2]?.body.messages.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant', 'user'],
    ]);
    expect(given.counts()).toEqual({ sessions: 2, requests: 3, answered: 1 });
  });

  it('what a failed attempt said is taken back from the client’s messages', async () => {
    await using given = await connected([
      { text: 'Moss is re', reasoning: 'Hm.', finishReason: 'length' },
      { text: 'Moss is green.' },
    ]);
    given.say('What is moss?');
    const { types } = await given.run();
    expect(types).toContain('MESSAGES_SNAPSHOT');
    // The client keeps what was thought, whatever a snapshot says.
    const said = given.client.messages.filter(({ role }) => role !== 'reasoning');
    expect(said.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'What is moss?'],
      ['assistant', 'Moss is green.'],
    ]);
  });

  it('a report with a schema is the result, and grows in custom events', async () => {
    await using given = await connected([report({ colour: 'green' })], {
      finish: 'report',
      report: { format: 'json', schema: z.object({ colour: z.string() }) },
    } as Definition);
    given.say('Report.');
    const { last, events } = await given.run();
    expect(last).toMatchObject({ result: { colour: 'green' } });
    expect(events.filter(({ name }) => name === 'report').at(-1)).toMatchObject({ value: { state: 'accepted' } });
  });

  it('a session that fails ends with RUN_ERROR and its slug', async () => {
    await using given = await connected([{ text: '' }], { limits: { maxTurns: 1, maxRetries: 1 } });
    given.say('Go.');
    const { last } = await given.run();
    expect(last).toMatchObject({ type: 'RUN_ERROR', code: 'retries_exhausted' });
    expect(given.counts()).toEqual({ sessions: 1, requests: 1, answered: 0 });
  });

  it.each([
    [{ status: 'resolved' as const, payload: { approved: true } }, 'So: deleted /x'],
    [{ status: 'resolved' as const, payload: { approved: false, reason: 'Not today.' } }, /^So: .*Not today/],
    [{ status: 'cancelled' as const }, /^So: .*Cancelled/],
  ])('an approval interrupts the run, and resume[] decides it once: %j', async (answer, said) => {
    await using given = await connected(
      answering(call('guarded', { path: '/x' }), (text) => `So: ${text}`),
      {
        tools: { guarded },
      },
    );
    given.say('Delete it.');
    await given.run();
    const [interrupt] = given.client.pendingInterrupts;
    expect(given.client.pendingInterrupts).toHaveLength(1);
    expect(interrupt).toMatchObject({ reason: 'tool_approval', message: 'Run guarded?' });
    const resume = [{ interruptId: interrupt?.id ?? '', ...answer }];
    const { failed, last } = await given.run({ resume });
    expect([failed, last?.type]).toEqual([null, 'RUN_FINISHED']);
    expect(given.client.messages.at(-1)?.content).toMatch(said);
    expect(given.counts()).toEqual({ sessions: 1, requests: 2, answered: 1 });
  });

  it('a decision reaches the session after a crash of its process, from the journal', async () => {
    const file = freshFile();
    const script = answering(call('guarded', { path: '/x' }), (text) => `So: ${text}`);
    const journal = sqliteJournal(file, { leaseMs: 500 });
    await using given = await connected(script, { tools: { guarded } }, { journal });
    given.say('Delete it.');
    await given.run();
    const [interrupt] = given.client.pendingInterrupts;
    await journal.close();
    const later = sqliteJournal(file, { leaseMs: 500 });
    await using other = await connected(script, { tools: { guarded } }, { journal: later });
    other.client.messages = given.client.messages;
    other.client.state = given.client.state;
    const resume = [{ interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload: { approved: true } }];
    await expect.poll(async () => (await other.run({ resume })).last?.type, { timeout: 20_000 }).toBe('RUN_FINISHED');
    expect(other.client.messages.at(-1)?.content).toBe('So: deleted /x');
    expect(other.counts()).toMatchObject({ sessions: 0, requests: 1, answered: 1 });
    await later.close();
  });

  it('a client-side tool is pending, and its output in a message continues the session', async () => {
    const locate = tool({ inputSchema: z.object({}) });
    await using given = await connected(
      answering(call('locate', {}), (text) => `In ${text}`),
      { tools: { locate } },
    );
    given.say('Where am I?');
    const { last } = await given.run({ tools: [{ name: 'locate', description: 'Where the user is.' }] });
    const [{ id: toolCallId } = { id: '' }] = given.client.messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []) : [],
    );
    expect(last).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: [toolCallId] } });
    given.client.addMessage({ id: 't', role: 'tool', toolCallId, content: 'Bonn' });
    await given.run();
    expect(given.client.messages.at(-1)?.content).toBe('In Bonn');
    expect(given.counts()).toEqual({ sessions: 1, requests: 2, answered: 1 });
  });

  it('a batch has the answers inside it, and the calls inside are not the model’s own later', async () => {
    const inside = {
      calls: [
        { tool: 'search', input: { q: 'moss' } },
        { tool: 'guarded', input: { path: '/x' } },
      ],
    };
    await using given = await connected(
      answering(call('batch', inside), () => 'Done.'),
      {
        tools: { search, guarded },
        builtIns: { batch: true },
      } as Definition,
    );
    given.say('Do both.');
    await given.run();
    const [interrupt] = given.client.pendingInterrupts;
    const resume = [{ interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload: { approved: true } }];
    await given.run({ resume });
    given.say('And?');
    await given.run();
    const { messages = [] } = given.models.requests.at(-1)?.body ?? {};
    const answers = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
    expect(answers).toHaveLength(1);
    expect(answers[0]).toContain('found moss');
    expect(answers[0]).toContain('deleted /x');
  });

  it('sub-agents start and end, and what they ask interrupts the run, too', async () => {
    await using server = await startModelServer(({ body: { messages, tools = [] } }) => {
      const answer = messages.findLast(({ role }) => role === 'tool');
      if (JSON.stringify(tools).includes('"guarded"'))
        return answer === undefined ? call('guarded', { path: '/x' }) : { text: `Sub: ${String(answer.content)}` };
      return answer === undefined ? call('sub', { prompt: 'Do it.', reason: 'x' }) : { text: String(answer.content) };
    });
    const models = [wireModel('openai', server.url)];
    const sub = defineAgent({ name: 'sub', models, tools: { guarded }, finish: 'text', description: 'Deletes.' });
    await using given = await connected([], { models, agents: { sub } } as Definition);
    given.say('Go.');
    const first = await given.run();
    expect(first.failed).toBeNull();
    expect(first.events.filter(({ type }) => String(type).startsWith('SUBAGENT'))).toMatchObject([
      { type: 'SUBAGENT_STARTED', name: 'sub' },
      { type: 'SUBAGENT_FINISHED', outcome: { type: 'suspended' } },
    ]);
    const [interrupt] = given.client.pendingInterrupts;
    const resume = [{ interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload: { approved: true } }];
    const second = await given.run({ resume });
    expect(second.failed).toBeNull();
    expect(second.types.filter((type) => type.startsWith('SUBAGENT'))).toEqual([
      'SUBAGENT_STARTED',
      'SUBAGENT_FINISHED',
    ]);
    expect(given.client.messages.at(-1)?.content).toContain('deleted /x');
  });
});

describe('the input of a run', () => {
  const handle = agUiHandler(defineAgent({ name: 'x', models: [wireModel('openai', 'http://127.0.0.1:1')] }) as Agent, {
    logger: false,
  });
  const input = {
    threadId: 't',
    runId: 'r',
    messages: [{ id: 'u', role: 'user', content: 'Hi.' }],
    tools: [],
    context: [],
  };
  const refusal = async (more: object) => {
    const body = JSON.stringify({ ...input, ...more });
    const response = await handle(new Request('http://x.test/', { method: 'POST', body }));
    return [response.status, ((await response.json()) as { error: string }).error];
  };

  it.each<[object, string]>([
    [{ messages: undefined }, '`body.messages` is required'],
    [{ messages: [] }, '`body.messages` must hold at least one message with content; got none.'],
    [{ messages: [{ role: 'alien' }] }, 'a message of a role of AG-UI'],
    [{ tools: [{ name: 'paint' }] }, '`body.tools` must be client-side tools of the agent; it has no paint.'],
    [{ resume: [{ interruptId: 'a/b', status: 'resolved', payload: { approved: true } }] }, '`body.state'],
    [
      { resume: [{ interruptId: 'nonsense', status: 'cancelled' }], state: { pawl: { sessionId: 't:1', seq: 1 } } },
      'No session gave the interrupt id "nonsense".',
    ],
    [
      { resume: [{ interruptId: 'a/b', status: 'resolved' }], state: { pawl: { sessionId: 't:1', seq: 1 } } },
      '`body.resume[0].payload` is required',
    ],
    [{ threadId: '../etc' }, '`id` must be'],
  ])('is refused by name: %j', async (more, message) => {
    const [status, said] = await refusal(more);
    expect([400, 404]).toContain(status);
    expect(said).toContain(message);
  });
});
