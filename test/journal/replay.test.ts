import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import {
  defineAgent,
  exportSession,
  forkSession,
  type Message,
  readSession,
  replaySession,
  resumeSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { PromptBuilder } from '../../src/model/prompt/prompt.ts';
import { assertInvariants, rehearsalModel, replayFixture, startModelServer } from '../../src/testing/index.ts';
import { everyStep, steppingAgent } from '../support/every-step.ts';
import { inputSchema } from '../support/journaled.ts';
import { report, wireModel } from '../support/session.ts';

const journal = sqliteJournal(':memory:');
const folder = mkdtempSync(join(tmpdir(), 'pawl-replay-'));

/** A session of every step, over the wire. */
async function stepped(sessionId: string) {
  await using server = await startModelServer(everyStep());
  const events: SessionEvent[] = [];
  const session = startSession(steppingAgent(server.url, join(folder, 'effects')), {
    prompt: 'Do it all.',
    journal,
    sessionId,
    logger: false,
    onEvent: (event) => {
      events.push(event);
      if (event.type === 'tool.approvalRequested') session.approve(event.callId, { approved: true });
    },
  });
  const result = await session.result;
  return { result, events, requests: server.requests };
}

const userText = ({ content }: Message) => content.map((part) => ('text' in part ? part.text : '')).join('');

const withoutDeltas = (events: readonly SessionEvent[]) => events.filter(({ type }) => type !== 'model.delta');

describe('D-3: replay', async () => {
  const { result, events, requests } = await stepped('s');

  it('a session and its sub-agents replay to the same events, counters and conversation, offline', async () => {
    const replayed = await replaySession(journal, 's');
    expect(replayed.difference).toBeNull();
    expect(withoutDeltas(replayed.events)).toEqual(withoutDeltas(events));
    expect(replayed.counters).toEqual(result.counters);
    expect(replayed.conversation).toEqual(result.conversation);
    expect(replayed.turns).toEqual(result.turns);
    expect(replayed.states).toEqual(['session: succeeded']);
    expect(replayed.pending).toEqual([]);
    expect(replayed.steps[0]).toMatchObject({ sessionId: 's', cause: 'start' });
    expect(replayed.steps.map(({ cause }) => cause)).toContain('turn-2/attempt-2/approval-0');
    expect(new Set(replayed.steps.map(({ sessionId }) => sessionId)).size).toBe(2);
    const read = await readSession(journal, 's');
    expect(read).toMatchObject({ status: 'succeeded', slugs: [], agent: 'stepping', counters: result.counters });
  });

  it('each request is shown as it was sent, its messages by reference', async () => {
    const replayed = await replaySession(journal, 's');
    expect(replayed.requests).toHaveLength(requests.length);
    for (const [index, sent] of replayed.requests.entries()) {
      const { body } = requests[index] ?? {};
      // The wire has a message for each tool result, then the notice.
      const own = (body?.messages ?? []).filter(({ role }) => role !== 'system');
      const wired = sent.messages.flatMap((message) =>
        message.role === 'tool'
          ? message.content.map(({ toolCallId }) => ['tool', toolCallId])
          : [[message.role, message.role === 'user' ? userText(message) : undefined]],
      );
      const notice = sent.notice === null ? [] : [['user', sent.notice]];
      const shown = own.map(({ role, content, tool_call_id }) => [
        role,
        role === 'tool' ? tool_call_id : role === 'user' ? content : undefined,
      ]);
      expect(shown).toEqual([...wired, ...notice]);
      expect(sent.tools.map(({ name }) => name)).toEqual(body?.tools?.map((one) => one.function?.name));
    }
    expect(replayed.requests.filter(({ notice }) => notice !== null).length).toBeGreaterThan(0);
  });

  it('each request, sent again from what the journal tells of it, is byte for byte the one that went out', async () => {
    const { requests: told } = await replaySession(journal, 's');
    await using server = await startModelServer(() => ({ text: 'Once more.' }));
    const model = wireModel('openai', server.url);
    for (const { provider, instructions, messages, notice, omitted, omittedText, tools } of told) {
      const source = { instructions, ownInstructions: null, messages, prompt: 0, revision: 0, answerTokens: new Map() };
      const prompts = new PromptBuilder(source, {
        takesText: () => false,
        stub: String,
        output: ({ output }) => output,
        file: (part) => part,
      });
      const { prompt } = prompts.build({
        ...{ provider, notice, omit: omitted, omitText: omittedText, promptCaching: 'auto' },
      });
      const { stream } = await model.doStream({ prompt, tools: [...tools], toolChoice: { type: 'auto' } });
      await stream.cancel();
    }
    expect(server.requests.map(({ body }) => JSON.stringify(body))).toEqual(
      requests.map(({ body }) => JSON.stringify(body)),
    );
  });

  it('until a turn or an attempt: its request, state and counters', async () => {
    const at = await replaySession(journal, 's', { until: 'turn-2/attempt-2' });
    expect(at.counters).toMatchObject({ turns: 2, attempts: 3, requests: 3, failedAttempts: 1 });
    expect(at.pending).toContain('turn-2/attempt-2/model');
    expect(at.requests.at(-1)).toMatchObject({ turn: 2, attempt: 2, notice: expect.stringContaining('attempt') });
    expect(at.states[0]).toContain('session: running');
    expect(at.states.some((state) => state.startsWith('attempt: '))).toBe(true);
    const first = await replaySession(journal, 's', { until: 'turn-1' });
    expect(first.counters).toMatchObject({ turns: 1, attempts: 1 });
    await expect(replaySession(journal, 's', { until: 'turn-99' })).rejects.toThrow('The session has no turn-99.');
    await expect(replaySession(journal, 's', { until: 'later' })).rejects.toMatchObject({ code: 'invalid_options' });
    await expect(replaySession(journal, 'nobody')).rejects.toMatchObject({ code: 'session_unknown' });
  });

  it('an exported session is a fixture; a tampered one is caught at its first wrong fact', async () => {
    const file = join(folder, 'session.jsonl');
    writeFileSync(file, await exportSession(journal, 's'));
    expect((await replayFixture(file)).counters).toEqual(result.counters);
    expect((await replayFixture(file, { until: 'turn-2' })).counters.turns).toBe(2);
    const text = readFileSync(file, 'utf8');
    const wrong = join(folder, 'wrong.jsonl');
    // The tool failed, although it did not.
    writeFileSync(wrong, text.replace('"executed":true', '"executed":false'));
    await expect(replayFixture(wrong)).rejects.toThrow(/takes another way at entry \d+: it was ".*tool\.answered/);
    writeFileSync(wrong, text.slice(0, -20));
    await expect(replayFixture(wrong)).rejects.toThrow(
      /Line \d+ of the exported session cannot be used: it is cut off/,
    );
    writeFileSync(wrong, text.split('\n').slice(1).join('\n'));
    await expect(replayFixture(wrong)).rejects.toThrow('Line 1 of the exported session cannot be used');
    writeFileSync(wrong, `${text.split('\n').slice(0, 3).join('\n')}\n{"type":"delivered","scope":""}\n`);
    await expect(replayFixture(wrong)).rejects.toThrow('Entry 3 of the journal is malformed.');
    const again = '{"type":"started","scope":"","head":{"sessionId":"s"}}';
    writeFileSync(wrong, `${text.split('\n').slice(0, 3).join('\n')}\n${again}\n`);
    await expect(replayFixture(wrong)).rejects.toThrow(/^Entry \d+ of the journal cannot be replayed: /);
    await expect(replayFixture(join(folder, 'none'))).rejects.toMatchObject({ code: 'invalid_journal' });
  });

  it('a fork continues from a turn, as a separate session', async () => {
    let answer = 'first';
    const work = tool({ inputSchema, execute: () => answer });
    const model = rehearsalModel(({ prompt }) =>
      JSON.stringify(prompt).includes('tool-result')
        ? report(`It said ${answer}.`)
        : { calls: [{ name: 'work', input: {} }] },
    );
    const agent = defineAgent({ name: 'forked', models: [model], tools: { work } });
    const own = { journal, logger: false as const };
    const original = await startSession(agent, { ...own, prompt: 'Go.', sessionId: 'f' }).result;
    answer = 'second';
    const early = await forkSession(journal, 'f', { at: 'turn-1' });
    const late = await forkSession(journal, 'f', { at: 'turn-2', sessionId: 'late' });
    expect(late).toBe('late');
    const [fromStart, fromTurn2] = await Promise.all(
      [early, late].map(async (sessionId) => (await resumeSession(agent, { ...own, sessionId })).result),
    );
    for (const result of [fromStart, fromTurn2]) if (result !== undefined) assertInvariants(result);
    expect(original.report.content).toBe('It said first.');
    expect(JSON.stringify(fromStart?.conversation)).toContain('"second"');
    expect(JSON.stringify(fromTurn2?.conversation)).not.toContain('"second"');
    expect(fromTurn2).toMatchObject({ sessionId: 'late', success: true, counters: { requests: 2 } });
    expect((await readSession(journal, 'f')).conversation).toEqual(original.conversation);
    await expect(forkSession(journal, 'f', { at: 'turn-2', sessionId: 'late' })).rejects.toMatchObject({
      code: 'session_exists',
    });
    await expect(forkSession(journal, 'f', { at: 'turn-7' })).rejects.toThrow('The session has no turn-7.');
  });
});
