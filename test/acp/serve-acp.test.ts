import { resolve } from 'node:path';
import { methods } from '@agentclientprotocol/sdk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { serveAcp } from '../../src/acp/index.ts';
import { editor } from '../support/acp-client.ts';
import { freshFile } from '../support/journaled.ts';

const { session } = methods.agent;

describe('an agent in an editor, over its standard streams', () => {
  it('says what it can, and each prompt goes on with what was said before', async () => {
    const { greeted, begin, prompt, told } = await editor();
    expect(greeted).toMatchObject({ agentInfo: { name: 'helper' }, agentCapabilities: { loadSession: false } });
    const id = await begin();
    expect(await prompt(id, 'hi')).toEqual({ stopReason: 'end_turn' });
    expect(told()).toEqual([['agent_message_chunk', 'You said: user: hi']]);
    await prompt(id, 'again, hi');
    expect(told()).toEqual([
      ['agent_message_chunk', 'You said: user: hi | assistant: You said: user: hi | user: again, hi'],
    ]);
    // Another talk knows nothing of it.
    await prompt(await begin(), 'ho');
    expect(told()).toEqual([['agent_message_chunk', 'You said: user: ho']]);
  });

  it('C-1: a call that changes something is asked for, with its diff, and runs once through the editor', async () => {
    const { begin, prompt, told, asked, files } = await editor();
    expect(await prompt(await begin(), 'write it')).toEqual({ stopReason: 'end_turn' });
    expect(asked).toMatchObject([
      {
        toolCall: {
          ...{ name: 'write_text_file', kind: 'edit', locations: [{ path: '/tmp/none/a.txt' }] },
          content: [{ type: 'diff', path: '/tmp/none/a.txt', oldText: null, newText: 'new' }],
        },
        options: [{ kind: 'allow_once' }, { kind: 'reject_once' }],
      },
    ]);
    expect(files.get('/tmp/none/a.txt')).toBe('new');
    expect(told()).toEqual([
      ['tool_call', 'pending'],
      ['tool_call_update', 'in_progress'],
      ['tool_call_update', 'completed'],
      ['agent_message_chunk', 'Done.'],
    ]);
  });

  it.each(['reject', null])('C-1: a call that the user answers with %s does not run', async (decide) => {
    const { begin, prompt, told, files } = await editor({ decide });
    await prompt(await begin(), 'write it');
    expect(files.has('/tmp/none/a.txt')).toBe(false);
    expect(told()).toEqual([
      ['tool_call', 'pending'],
      ['tool_call_update', 'failed'],
      ['agent_message_chunk', 'Done.'],
    ]);
  });

  it("the editor's files and terminals are tools, as far as it has them", async () => {
    const whole = await editor();
    const id = await whole.begin();
    await whole.prompt(id, 'read it');
    expect(JSON.stringify(whole.updates)).toContain('as the editor has it');
    await whole.prompt(id, 'run it');
    expect(JSON.stringify(whole.updates)).toContain('a.txt');
    expect(whole.asked).toHaveLength(1);
    const none = await editor({ capabilities: {} });
    await none.prompt(await none.begin(), 'read it').catch(() => undefined);
    expect(JSON.stringify(none.updates)).not.toContain('as the editor has it');
  });

  it.each([
    ['loop', 'max_turn_requests'],
    ['refuse', 'refusal'],
  ])('a session that ends by its bound or by a refusal says so: %s', async (text, stopReason) => {
    const { begin, prompt } = await editor();
    expect(await prompt(await begin(), text)).toEqual({ stopReason });
  });

  it('F-5: a session that fails otherwise is an error with its slugs', async () => {
    const { begin, prompt } = await editor();
    await expect(prompt(await begin(), 'fail')).rejects.toMatchObject({
      message: expect.stringContaining('the session failed: '),
      data: { slugs: expect.any(Array) },
    });
  });

  it('D-2: a prompt that is cancelled aborts its session, and the talk goes on', async () => {
    const { agent, begin, prompt, told } = await editor();
    const id = await begin();
    const hanging = prompt(id, 'hang');
    await expect.poll(() => told().flat()).toContain('in_progress');
    await expect(prompt(id, 'hi')).rejects.toThrow('a prompt of this session still runs');
    await agent.notify(session.cancel, { sessionId: id });
    expect(await hanging).toEqual({ stopReason: 'cancelled' });
    expect(await prompt(id, 'hi')).toEqual({ stopReason: 'end_turn' });
    await expect(prompt('none', 'hi')).rejects.toThrow(/not found/i);
  });

  it('D-3: after kill -9, another process has the talk: its list, what was said, and the prompt that was cut off', async () => {
    const journal = freshFile();
    const first = await editor({ journal });
    const id = await first.begin();
    await first.prompt(id, 'hi');
    void first.prompt(id, 'hang').catch(() => undefined);
    await expect.poll(() => first.told().flat()).toContain('in_progress');
    await first.kill();
    const second = await editor({ journal });
    expect(second.greeted.agentCapabilities).toMatchObject({ loadSession: true });
    expect(await second.agent.request(session.list, {})).toMatchObject({
      sessions: [{ sessionId: id, cwd: '/work', title: 'hang' }],
    });
    await second.agent.request(session.load, { sessionId: id, cwd: '/work', mcpServers: [] });
    const told = second.told();
    expect(told.slice(0, 3)).toEqual([
      ['user_message_chunk', 'hi'],
      ['agent_message_chunk', 'You said: user: hi'],
      ['user_message_chunk', 'hang'],
    ]);
    // The call that was cut off is answered so (D-4), and the session goes on.
    expect(told.at(-1)).toEqual(['agent_message_chunk', 'Done.']);
    expect(await second.prompt(id, 'still there?')).toEqual({ stopReason: 'end_turn' });
    expect(second.told().flat().join()).toContain('user: hi');
    await expect(second.agent.request(session.load, { sessionId: 'none', cwd: '/', mcpServers: [] })).rejects.toThrow(
      /not found/i,
    );
  });

  it('D-3: a talk that is resumed goes on without being told again; one that is closed ends what runs', async () => {
    const journal = freshFile();
    const first = await editor({ journal });
    const id = await first.begin();
    await first.prompt(id, 'hi');
    const hanging = first.prompt(id, 'hang').then(
      () => 'ended',
      () => 'ended',
    );
    await expect.poll(() => first.told().flat()).toContain('in_progress');
    expect(await first.agent.request(session.close, { sessionId: id })).toEqual({});
    expect(await hanging).toBe('ended');
    await expect(first.prompt(id, 'still there?')).rejects.toThrow(/not found/i);
    await first.kill();
    const second = await editor({ journal });
    await second.agent.request(session.resume, { sessionId: id, cwd: '/work', mcpServers: [] });
    expect(second.told().flat()).not.toContain('You said: user: hi');
    expect(await second.prompt(id, 'still there?')).toEqual({ stopReason: 'end_turn' });
    expect(second.told().flat().join()).toContain('user: hi');
  });

  it('a talk is forked: both know what was said before, and neither what the other says', async () => {
    const { agent, greeted, begin, prompt, told } = await editor();
    expect(greeted.agentCapabilities).toMatchObject({ sessionCapabilities: { fork: {} } });
    const fork = (sessionId: string) =>
      agent.request<{ sessionId: string }>('session/fork', { sessionId, cwd: '/work' });
    const id = await begin();
    await prompt(id, 'hi');
    const { sessionId: forked } = await fork(id);
    await prompt(forked, 'left');
    await prompt(id, 'right');
    const said = (text: string) => `You said: user: hi | assistant: You said: user: hi | user: ${text}`;
    expect(told().map(([, text]) => text)).toEqual(['You said: user: hi', said('left'), said('right')]);
    const hanging = prompt(id, 'hang');
    await expect.poll(() => told().flat()).toContain('in_progress');
    await expect(fork(id)).rejects.toThrow('a prompt of this session still runs');
    await agent.notify(session.cancel, { sessionId: id });
    await hanging;
    await expect(fork('none')).rejects.toThrow(/not found/i);
    await expect(agent.request('session/fork', { cwd: '/work' })).rejects.toMatchObject({ code: -32_602 });
    const odd = { sessionId: id, cwd: '/work', mcpServers: [{ name: 'x' }] };
    await expect(agent.request('session/fork', odd)).rejects.toMatchObject({ code: -32_602 });
  });

  it('a talk of the journal is forked by another process, unless its last prompt was cut off', async () => {
    const journal = freshFile();
    const first = await editor({ journal });
    const [ended, cut] = [await first.begin(), await first.begin()];
    await first.prompt(ended, 'hi');
    void first.prompt(cut, 'hang').catch(() => undefined);
    await expect.poll(() => first.told().flat()).toContain('in_progress');
    await first.kill();
    const second = await editor({ journal });
    const fork = (sessionId: string) =>
      second.agent.request<{ sessionId: string }>('session/fork', { sessionId, cwd: '/work', mcpServers: [] });
    const { sessionId: forked } = await fork(ended);
    await second.prompt(forked, 'ho');
    expect(second.told()).toEqual([
      ['agent_message_chunk', 'You said: user: hi | assistant: You said: user: hi | user: ho'],
    ]);
    expect((await second.agent.request(session.list, {})).sessions.map(({ sessionId }) => sessionId)).toContain(forked);
    await expect(fork(cut)).rejects.toThrow('its last prompt has not ended: load it first');
    // A third process has gone on with it meanwhile.
    const third = await editor({ journal });
    await third.agent.request(session.resume, { sessionId: forked, cwd: '/work', mcpServers: [] });
    await third.prompt(forked, 'more');
    await second.prompt((await fork(forked)).sessionId, 'last');
    expect(second.told().flat().join()).toContain('user: more');
  });

  it('the MCP servers that the editor names are the agent’s', async () => {
    const { agent, prompt, told } = await editor();
    const server = {
      name: 'every one',
      command: process.execPath,
      args: [resolve('node_modules/@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'],
      env: [],
    };
    const { sessionId } = await agent.request(session.new, { cwd: '/work', mcpServers: [server as never] });
    expect(await prompt(sessionId, 'echo')).toEqual({ stopReason: 'end_turn' });
    const updates = told();
    expect(updates).toContainEqual(['tool_call_update', 'completed']);
    expect(updates.at(-1)).toEqual(['agent_message_chunk', 'Done.']);
  });

  it('D-1: when the editor leaves, what runs is suspended; it is asked for again, and its talk goes on', async () => {
    const journal = freshFile();
    const first = await editor({ journal, decide: 'never' });
    const id = await first.begin();
    void first.prompt(id, 'write it').catch(() => undefined);
    await expect.poll(() => first.asked).toHaveLength(1);
    await expect(first.agent.request(session.load, { sessionId: id, cwd: '/work', mcpServers: [] })).rejects.toThrow();
    first.child.stdin.end();
    await first.gone;
    expect(first.child.exitCode).toBe(0);
    const second = await editor({ journal });
    await second.agent.request(session.load, { sessionId: id, cwd: '/work', mcpServers: [] });
    expect([second.asked.length, second.files.get('/tmp/none/a.txt')]).toEqual([1, 'new']);
    expect(second.told().at(-1)).toEqual(['agent_message_chunk', 'Done.']);
  });

  it('S-5: what was said is told again without secrets', async () => {
    const journal = freshFile();
    const first = await editor({ journal });
    const id = await first.begin();
    await first.prompt(id, 'whisper');
    await first.kill();
    const second = await editor({ journal });
    await second.agent.request(session.load, { sessionId: id, cwd: '/work', mcpServers: [] });
    const whispered = JSON.stringify([first.updates, second.updates]);
    expect(whispered).toContain('psst [redacted]');
    expect(whispered).not.toContain('hunter-two-22');
  });

  it('lists nothing after a cursor that it did not give', async () => {
    const { agent } = await editor({ journal: freshFile() });
    await expect(agent.request(session.list, { cursor: 'x' })).rejects.toMatchObject({ code: -32_602 });
  });
});

describe('what serveAcp is given', () => {
  it.each([
    [{}, {}, '`agent` must be an agent made by defineAgent'],
    [null, { retries: 1 }, 'Unknown option `options.retries`'],
    [null, { journal: {} }, '`options.journal`'],
    [null, { stream: {} }, '`options.stream` must be a stream of messages: { readable, writable }; got {}.'],
  ])('is checked: %j %j', async (agent, options, message) => {
    const { defineAgent } = await import('../../src/index.ts');
    const { rehearsalModel } = await import('../../src/testing/index.ts');
    const own = agent ?? defineAgent({ name: 'a', models: [rehearsalModel([])] });
    expect(() => serveAcp(own as never, options as never)).toThrow(message);
  });

  it('the context must be one that the agent takes', async () => {
    const { defineAgent } = await import('../../src/index.ts');
    const { rehearsalModel } = await import('../../src/testing/index.ts');
    const contextSchema = z.object({ user: z.string() });
    const agent = defineAgent({ name: 'a', models: [rehearsalModel([])], contextSchema });
    expect(() => serveAcp(agent as never)).toThrow('`context (for the agent a)` is required');
  });
});
