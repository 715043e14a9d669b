import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Agent } from '../../src/agent/definition.ts';
import { defineAgent } from '../../src/index.ts';
import { mostStoredBytes as most, storable } from '../../src/restate/payload.ts';
import type { RestateRequest } from '../../src/restate/request.ts';
import * as room from '../../src/restate/request.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { errorOf } from '../support/temporary.ts';

const agentNamed = (name: string, over: Partial<Parameters<typeof defineAgent>[0]> = {}) =>
  defineAgent({ name, models: [rehearsalModel(() => ({ text: 'Done.' }))], ...over });

let agents: Map<string, Agent>;
beforeEach(() => {
  const leaf = agentNamed('leaf', { limits: { maxDepth: 7 } });
  const branch = agentNamed('branch', { agents: { leaf }, limits: { maxDepth: 2 } });
  const root = agentNamed('root', { agents: { branch }, limits: { maxDepth: 5 } });
  const picky = agentNamed('picky', { contextSchema: z.object({ tenant: z.string() }) });
  agents = new Map([root, picky].map((agent) => [agent.name, agent]));
});

const refusal = (errorCode: number, message: string) => ({
  name: 'TerminalError',
  code: errorCode,
  message: expect.stringContaining(message),
});
const requested = (request: object) => room.requestedAgent(agents, request as RestateRequest);

describe('the agent that a request names (D-3)', () => {
  it('at the root of its tree', () => {
    const { agent, lineage } = requested({ agent: 'root', prompt: 'Go.' });
    expect(agent).toBe(agents.get('root'));
    expect(lineage).toMatchObject({ parentSessionId: null, depth: 1 });
  });

  it('as a sub-agent: its depth and the least of the limits above it', () => {
    const path = [{ tool: 'branch', sessionId: 's1' }];
    const first = requested({ agent: 'root', path });
    expect(first.agent.name).toBe('branch');
    expect(first.lineage).toMatchObject({ parentSessionId: 's1', depth: 2, maxDepth: 5 });
    const second = requested({ agent: 'root', path: [...path, { tool: 'leaf', sessionId: 's2' }] });
    expect(second.agent.name).toBe('leaf');
    expect(second.lineage).toMatchObject({ parentSessionId: 's2', depth: 3, maxDepth: 2 });
  });

  it('with fewer turns than its own', () => {
    expect(requested({ agent: 'root', limits: { maxTurns: 2 } }).agent.limits.maxTurns).toBe(2);
  });

  it.each([
    [{ agent: 'nobody' }, 'Unknown agent "nobody". Agents: root, picky.'],
    [{ agent: 'nobody', path: [{ tool: 'a', sessionId: 's' }] }, 'Unknown agent "nobody/a".'],
    [{ agent: 'root', path: [{ tool: 'a', sessionId: 's' }] }, 'Unknown agent "root/a". Agents: root, picky.'],
    [{ agent: 'root', path: [{ tool: 'toString', sessionId: 's' }] }, 'Unknown agent "root/toString".'],
    [{ agent: 'root', path: [{ tool: '__proto__', sessionId: 's' }] }, 'Unknown agent "root/__proto__".'],
  ])('%j is not there: the invocation ends', (request, message) => {
    expect(errorOf(() => requested(request))).toMatchObject(refusal(404, message));
  });

  it.each([
    [{}, '`request.agent` is required'],
    [{ agent: 1 }, '`request.agent` must be the name of an agent'],
    [{ agent: 'root', colour: 'red' }, 'colour'],
    [{ agent: 'root', path: [{ tool: 'branch' }] }, '`request.path[0].sessionId` is required'],
    [{ agent: 'root', path: [{ tool: 1, sessionId: 's' }] }, '`request.path[0].tool` must be a string'],
    [{ agent: 'root', path: [{ tool: 'branch', sessionId: 's', more: 1 }] }, 'more'],
    [{ agent: 'root', limits: { maxTurns: 0 } }, 'maxTurns'],
    [{ agent: 'root', metadata: 'Ada' }, 'metadata'],
  ])('%j is refused: the invocation ends', (request, message) => {
    expect(errorOf(() => requested(request))).toMatchObject(refusal(400, message));
  });
});

it('a defect of the check itself is no refusal: the engine tries again until it is mended (D-3)', () => {
  const odd = {
    get limits() {
      throw new TypeError('a defect');
    },
  } as unknown as Agent;
  const request = { agent: 'odd', limits: { maxTurns: 1 } };
  expect(errorOf(() => room.requestedAgent(new Map([['odd', odd]]), request))).toBeInstanceOf(TypeError);
});

describe('what a session begins with (D-3)', () => {
  const begun = (name: string, request: object) =>
    room.begunWith(agents.get(name) as Agent, 's1', request as RestateRequest, most);

  it('has what the request gives', () => {
    const head = begun('root', { prompt: 'Go.', budget: { requests: 3 }, metadata: { user: 'Ada' } });
    expect(head.head).toMatchObject({
      agent: 'root',
      input: { budget: { requests: 3 } },
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Go.' }] }],
    });
  });

  it.each([
    ['root', {}, 'prompt'],
    ['root', { prompt: 'Go.', messages: 'none' }, 'messages'],
    ['root', { prompt: 'Go.', budget: { maxRequests: -1 } }, 'budget'],
    ['picky', { prompt: 'Go.' }, 'context'],
    ['picky', { prompt: 'Go.', context: { tenant: 1 } }, 'tenant'],
  ])('%s with %j is refused: the invocation ends', (name, request, message) => {
    expect(errorOf(() => begun(name, request))).toMatchObject(refusal(400, message));
  });

  it('a schema of a context that throws is refused, since it would be tried forever', () => {
    const contextSchema = z.unknown().refine(() => {
      throw new TypeError('no connection');
    });
    const agent = agentNamed('broken', { contextSchema });
    expect(errorOf(() => room.begunWith(agent, 's1', { agent: 'broken', prompt: 'Go.' }, most))).toMatchObject(
      refusal(400, 'it must check at once'),
    );
  });

  it('a context that fits its schema is taken', () => {
    expect(begun('picky', { prompt: 'Go.', context: { tenant: 'a' } }).head.agent).toBe('picky');
  });

  it('more than Restate stores is refused, since it would be retried forever', () => {
    const large = 'x'.repeat(30 * 2 ** 20);
    const given = (content: string) => ({ messages: [{ role: 'user', content }] });
    expect(errorOf(() => begun('root', given(large)))).toMatchObject(
      refusal(413, 'bytes; Restate stores at most 31,457,280 (`maxValueBytes`).'),
    );
    expect(begun('root', given(large.slice(0, -10_000))).head.agent).toBe('root');
    const bytes = Buffer.byteLength(JSON.stringify(begun('root', given('x'))));
    const longest = 'x'.repeat(30 * 2 ** 20 - bytes + 1);
    expect(begun('root', given(longest)).head.agent).toBe('root');
    expect(errorOf(() => begun('root', given(`${longest}x`)))).toMatchObject(refusal(413, 'has 31,457,281 bytes'));
  });
});

it('the result of an effect that is more than Restate stores is a defect, since it would be retried forever (D-3)', () => {
  const ended = (size: number) => ({ key: 'k', at: 1, chance: 0.5, outcome: 'x'.repeat(size) });
  const largest = ended(30 * 2 ** 20 - JSON.stringify(ended(0)).length);
  expect(storable(largest, most)).toBe(largest);
  expect(storable(ended(largest.outcome.length + 1), most)).toEqual({
    ...{ key: 'k', at: 1 },
    defect: 'the result has 31,457,281 bytes; Restate stores at most 31,457,280 (`maxValueBytes`)',
  });
});

describe('what is nested more deeply than the stack (D-3)', () => {
  const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
  it.each(['prompt', 'messages', 'context', 'budget'])('is refused as `%s`: the invocation ends', (name) => {
    expect(errorOf(() => room.requestedAgent(agents, { agent: 'root', [name]: deep }))).toMatchObject(
      refusal(400, 'The input cannot be read: it is nested more than 500 levels deep.'),
    );
  });

  it('is refused as the answer of a client', () => {
    const answer = { type: 'answer', callId: 'c', output: deep, isError: false, sessionId: null };
    expect(errorOf(() => room.checkMessage(answer))).toMatchObject(refusal(400, 'The input cannot be read: '));
  });
});

describe('the id of a session (D-3)', () => {
  it('has at most 500 characters; that of a sub-agent is as long as it gets', () => {
    const [agent, id] = [agents.get('root') as Agent, 'i'.repeat(501)];
    const request = { agent: 'root', prompt: 'Go.' };
    expect(errorOf(() => room.begunWith(agent, id, request, most))).toMatchObject(
      refusal(400, 'at most 500 characters'),
    );
    const path = [{ tool: 'branch', sessionId: 's' }];
    expect(room.begunWith(agent, id, { ...request, path }, most).head.sessionId).toBe(id);
  });

  it.each([' ', 'a\0b', '\ud800'])('%j is refused', (id) => {
    const agent = agents.get('root') as Agent;
    expect(errorOf(() => room.begunWith(agent, id, { agent: 'root', prompt: 'Go.' }, most))).toMatchObject(
      refusal(400, '`sessionId` must be a '),
    );
  });
});

describe('a message to a session is checked (D-3)', () => {
  it.each([
    { type: 'session.steer', text: 'Hurry.' },
    { type: 'session.stop' },
    { type: 'session.abort', reason: 'late' },
    { type: 'approve', callId: 'c1', approved: true, reason: null, sessionId: null },
    { type: 'approve', callId: 'c1', approved: false, reason: 'no', sessionId: 's2' },
    { type: 'answer', callId: 'c1', output: { a: [1, null] }, isError: false, sessionId: null },
  ])('%j', (message) => {
    expect(room.checkMessage(message)).toEqual(message);
  });

  it.each([
    ['stop', 'message'],
    [{ type: 'session.end' }, '`message.type` must be one of: session.steer, session.stop, '],
    [
      { type: 'approve', callId: 'c1', approved: true, sessionId: null },
      '`message.reason` is required: a string or null',
    ],
    [{ type: 'answer', callId: 'c1', output: 1, isError: false }, '`message.sessionId` is required: a string or null'],
    [{ type: 'session.steer', text: ' ' }, '`message.text` must be a string that is not blank'],
    [{ type: 'session.stop', now: true }, 'now'],
    [{ type: 'session.abort', reason: 1 }, '`message.reason` must be a string'],
    [
      { type: 'approve', callId: 'c1', approved: 'yes', reason: null, sessionId: null },
      '`message.approved` must be true or false',
    ],
    [
      { type: 'approve', callId: 1, approved: true, reason: null, sessionId: null },
      '`message.callId` must be a string',
    ],
    [
      { type: 'answer', callId: 'c1', output: 1, isError: 0, sessionId: null },
      '`message.isError` must be true or false',
    ],
    [{ type: 'answer', callId: 'c1', isError: false, sessionId: null }, '`message.output` is required: a JSON value'],
  ])('%j is refused: the invocation ends', (message, reason) => {
    expect(errorOf(() => room.checkMessage(message))).toMatchObject(refusal(400, reason));
  });
});
