import { APICallError } from '@ai-sdk/provider';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, startSession } from '../../src/index.ts';
import { type RehearsalScript, rehearsalModel } from '../../src/testing/index.ts';
import { chatHandler, toEventStreamResponse } from '../../src/ui/index.ts';
import { report } from '../support/session.ts';

const secret = 'connection refused: db-7.internal:5432';
const fails = tool({
  inputSchema: z.object({}),
  execute: () => Promise.reject<string>(new Error(secret)),
});
const call = (name: string, input: object = {}) => ({ calls: [{ name, input }] });
const apiError = new APICallError({
  ...{ message: secret, url: 'http://localhost', requestBodyValues: {}, isRetryable: false },
  ...{ statusCode: 401, responseBody: secret },
});
const once = rehearsalModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? report() : call('fails')));
const child = defineAgent({ name: 'child', models: [once], tools: { fails } });
const failing = defineAgent({ name: 'failing', models: [rehearsalModel(() => ({ throws: apiError }))] });

const asked = () => {
  const messages = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }];
  return new Request('http://localhost/api/chat', { method: 'POST', body: JSON.stringify({ id: 'c', messages }) });
};

type Exit = { script: RehearsalScript; definition?: Partial<AgentDefinition>; shown: string };
const exits: Record<string, Exit> = {
  'a tool that throws': { script: [call('fails'), report()], shown: 'The tool failed.' },
  'a tool of a batch': {
    script: [call('batch', { calls: [{ tool: 'fails', input: {} }] }), report()],
    definition: { builtIns: { batch: true } },
    shown: 'The tool failed.',
  },
  'a provider that refuses the key': { script: [{ throws: apiError }], shown: 'provider_auth"' },
  'a stream that breaks': {
    script: [{ text: 'Well', breaks: new Error(secret) }],
    definition: { limits: { maxRetries: 1 } },
    shown: 'The session failed: ',
  },
  'a check that throws': {
    script: [call('fails'), report()],
    definition: {
      toolPolicies: [
        () => {
          throw new Error(secret);
        },
      ],
    },
    shown: 'The tool failed.',
  },
  'a check of the report that throws': {
    script: [report()],
    definition: { checkReport: () => Promise.reject(new Error(secret)), limits: { maxTurns: 1, maxRetries: 1 } },
    shown: 'The session failed: ',
  },
  'a sub-agent whose tool fails': {
    script: [call('child', { prompt: 'Go.', reason: 'It can.' }), report()],
    definition: { agents: { child } },
    shown: 'succeeded',
  },
  'a sub-agent that fails': {
    script: [call('failing', { prompt: 'Go.', reason: 'It can.' }), report()],
    definition: { agents: { failing } },
    shown: 'The tool failed.',
  },
};

describe.each(Object.entries(exits))('S-6f: %s', (_, { script, definition = {}, shown }) => {
  const agentOf = () => defineAgent({ name: 'a', models: [rehearsalModel(script)], tools: { fails }, ...definition });
  const posted = async (options: object) => {
    const handle = chatHandler(agentOf(), { logger: false, ...options });
    return (await handle(asked())).text();
  };

  it('a page learns that it failed, but not in which words', async () => {
    const body = await posted({});
    expect(body).toContain(shown);
    expect(body).not.toContain('internal');
  });

  it('the events of a session do not hold them either', async () => {
    const session = startSession(agentOf(), { prompt: 'Go.', logger: false });
    const body = await toEventStreamResponse(session).text();
    expect(body).toContain('"type":"session.');
    expect(body).not.toContain('internal');
  });

  it('unless the application says so', async () => {
    const session = startSession(agentOf(), { prompt: 'Go.', logger: false });
    const body = await toEventStreamResponse(session, { onError: (error) => `Sorry: ${error.message}` }).text();
    expect(body).toContain('Sorry: ');
    expect(body).toContain('internal');
  });
});

it('S-6f: onError is given the whole text, and what it returns is shown', async () => {
  const agent = defineAgent({ name: 'a', models: [rehearsalModel([call('fails'), report()])], tools: { fails } });
  const given: Error[] = [];
  const onError = (error: Error) => {
    given.push(error);
    return 'Ask us.';
  };
  const answer = await chatHandler(agent, { logger: false, onError })(asked());
  expect(await answer.text()).toContain('"errorText":"Ask us."');
  expect(given).toEqual([expect.objectContaining({ message: expect.stringContaining(secret) })]);
  expect(() => chatHandler(agent, { onError: 'mask' } as never)).toThrow('`options.onError` must be a function');
});

it('S-6f: what a page answered itself is shown as it came, also to one that connects again', async () => {
  const model = rehearsalModel([call('locate'), report()]);
  const agent = defineAgent({ name: 'a', models: [model], tools: { locate: { inputSchema: z.object({}) } } });
  const session = startSession(agent, { prompt: 'Go.', logger: false });
  let seq = 0;
  for await (const event of session.events) {
    if (event.type !== 'tool.handedOut') continue;
    seq = event.seq;
    session.answer(event.callId, 'The user refused.', { isError: true });
    break;
  }
  for (const from of [0, seq]) {
    const body = await toEventStreamResponse(session, { from }).text();
    expect(body).toContain('The user refused.');
    expect(body.includes('tool.handedOut')).toBe(from === 0);
  }
});
