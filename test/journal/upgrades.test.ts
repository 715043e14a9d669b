import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AgentDefinition, Journal, SessionResult } from '../../src/index.ts';
import { checkSessions, defineAgent, sqliteJournal, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { dyingJournal } from '../support/dying-journal.ts';
import { lastingAgent } from '../support/lasting-agent.ts';
import { report } from '../support/session.ts';
import { type Release, releaseWith } from '../support/two-releases.ts';

const inputSchema = z.object({});
const versioned = (text: string) => text.replace(/machinesVersion = "[0-9a-f]+"/, 'machinesVersion = "another"');

/** A release in which other words say the same. */
const reworded = () =>
  releaseWith((text) =>
    versioned(text)
      .replaceAll('The tool succeeded.', 'The tool has done its work.')
      .replaceAll('no tool named', 'there is nothing called')
      .replaceAll('system notice: ', 'notice of the system: '),
  );

/** A release that judges an empty reply otherwise. */
const deciding = () => releaseWith((text) => versioned(text).replaceAll('["empty_response"]', '["text_only"]'));

/** The agent of the next deployment: other words, more tools, more models in another order, higher limits. */
function grownAgent(release: Release) {
  const own = lastingAgent(release);
  const { definition } = own.agent;
  const spare = rehearsalModel([], { modelId: 'spare' });
  const agent = release.defineAgent({
    ...definition,
    instructions: 'Do it, and well.',
    models: [spare, own.model],
    tools: { ...definition.tools, more: tool({ inputSchema, execute: () => 'more' }) },
    limits: { maxTurns: 40, maxRetries: 9, maxToolCallsPerTurn: 20 },
  });
  return { ...own, agent };
}

/** Runs a session until its process dies at a write. Returns whether it died. */
async function leftAt(release: Release, journal: Journal, at: number, when: 'before' | 'after'): Promise<boolean> {
  const dying = dyingJournal(journal, at, when);
  const session: Approver & { result: Promise<SessionResult> } = release.startSession(lastingAgent(release).agent, {
    prompt: 'Go.',
    journal: dying.journal,
    sessionId: 's',
    logger: false,
    onEvent: approving(() => session),
  });
  return Promise.race([dying.died.then(() => true), session.result.then(() => false)]);
}

type Approver = { approve(callId: string, decision: { approved: boolean }): boolean };

const approving = (session: () => Approver) => (event: { type: string; callId?: unknown }) => {
  if (event.type === 'tool.approvalRequested')
    queueMicrotask(() => void session().approve(String(event.callId), { approved: true }));
};

/** Resumes it with the next release and the next agent. */
async function resumedBy(release: Release, journal: Journal): Promise<SessionResult> {
  const waits: string[] = [];
  let resumed: Approver | null = null;
  const approve = (callId: string) => void resumed?.approve(callId, { approved: true });
  const session = await release.resumeSession(grownAgent(release).agent, {
    journal,
    sessionId: 's',
    logger: false,
    onEvent: (event) => {
      if (event.type !== 'tool.approvalRequested') return;
      if (resumed === null) waits.push(event.callId);
      else queueMicrotask(() => approve(event.callId));
    },
  });
  resumed = session;
  for (const callId of waits) approve(callId);
  return session.result;
}

describe('D-6a D-6b: a session that was left under one release is resumed under the next', () => {
  it('at every write, with other words, instructions, tools, models and limits', { timeout: 120_000 }, async () => {
    const old: Release = await releaseWith((text) => text.replaceAll('The tool succeeded.', 'The tool succeeded. '));
    const next = await reworded();
    let points = 0;
    for (const when of ['before', 'after'] as const) {
      for (let at = 2; ; at += 1) {
        const journal = sqliteJournal(':memory:');
        if (!(await leftAt(old, journal, at, when))) break;
        const entries = await journal.read('s');
        const result = await resumedBy(next, journal);
        expect([at, when, result.status, result.slugs]).toEqual([at, when, 'succeeded', []]);
        // The bound, the instructions and the words stay those that it began with; the new tool is there.
        const { requests, conversation, difference } = await next.replaySession(journal, 's');
        const own = requests.filter(({ sessionId }) => sessionId === 's');
        const isPrepared = entries.some(
          ({ type, scope, ...entry }) =>
            type === 'delivered' && scope === '' && JSON.stringify(entry).includes('"prepare"'),
        );
        expect(new Set(own.map(({ instructions }) => instructions))).toEqual(
          new Set([isPrepared ? 'Do it.' : 'Do it, and well.']),
        );
        const wasSent = entries.filter(({ type, scope }) => type === 'sent' && scope === '').length;
        const isNew = own.slice(wasSent).map(({ tools }) => tools.some(({ name }) => name === 'more'));
        expect(new Set(isNew)).toEqual(new Set(isNew.length === 0 ? [] : [true]));
        expect(conversation.slice(0, 2)).toEqual(result.conversation.slice(0, 2));
        expect(difference).toBeNull();
        const [started] = entries;
        expect(started).toMatchObject({ type: 'started', head: { input: { bound: { maxTurns: 10, maxRetries: 5 } } } });
        await journal.close();
        points += 1;
      }
    }
    expect(points).toBeGreaterThan(60);
  });

  it('D-6d: what was said stays as it was said, and what comes is said in the new words', async () => {
    const next = await reworded();
    const old = await releaseWith((text) => text.replaceAll('system notice: ', 'old notice: '));
    const journal = sqliteJournal(':memory:');
    // After the answer to the unknown tool.
    expect(await leftAt(old, journal, 12, 'after')).toBe(true);
    const { conversation } = await resumedBy(next, journal);
    const said = JSON.stringify(conversation);
    expect([said.includes('no tool named'), said.includes('there is nothing called')]).toEqual([true, false]);
    const { requests } = await next.replaySession(journal, 's');
    const notices = requests.flatMap(({ notice }) => notice ?? []);
    expect(notices[0]).toMatch(/^old notice: /);
    await journal.close();
  });

  it('is refused with the first difference if the machines decide otherwise; once it has ended, it is told', async () => {
    const next = await deciding();
    const old = await releaseWith((text) => text.replaceAll('The tool succeeded.', 'It did.'));
    const journal = sqliteJournal(':memory:');
    expect(await leftAt(old, journal, 12, 'after')).toBe(true);
    const before = await journal.read('s');
    await expect(resumedBy(next, journal)).rejects.toMatchObject({
      code: 'machines_changed',
      message: expect.stringMatching(/^The session s cannot be resumed by this version of Pawl: entry \d+ says /),
    });
    expect(await journal.read('s')).toEqual(before);
    const [checked] = await next.checkSessions([grownAgent(next).agent], { journal });
    expect(checked).toMatchObject({ sessionId: 's', isFit: false });
    expect(checked?.differences.filter(({ kind }) => kind === 'decision')).toEqual([
      { kind: 'decision', what: expect.stringMatching(/"slugs":\["empty_response"\].*"slugs":\["text_only"\]/) },
    ]);
    const whole = await resumedBy(old, journal);
    const read = await next.readSession(journal, 's');
    expect([read.status, read.conversation, read.counters]).toEqual(['succeeded', whole.conversation, whole.counters]);
    const again = await next.resumeSession(grownAgent(next).agent, { journal, sessionId: 's', logger: false });
    expect(await again.result).toEqual(whole);
    await journal.close();
  });
});

describe('D-6: sessions are checked before a deployment', () => {
  it('each difference that was made is named, and no other', async () => {
    const release = await reworded();
    const old = await releaseWith((text) => text.replaceAll('The tool succeeded.', 'It did.'));
    const journal = sqliteJournal(':memory:');
    expect(await leftAt(old, journal, 12, 'after')).toBe(true);
    const before = await journal.read('s');
    const differences = async (by: Release, over: Partial<AgentDefinition> = {}) => {
      const { agent } = lastingAgent(by, over);
      return (await by.checkSessions([agent], { journal }))[0];
    };
    expect(await differences(old)).toMatchObject({ isFit: true, differences: [] });
    const words = await differences(release);
    expect([words?.isFit, (words?.differences ?? []).length > 0]).toEqual([true, true]);
    for (const { kind, what } of words?.differences ?? [])
      expect([kind, what]).toEqual([
        'answer',
        expect.stringMatching(/^Entry \d+: \{.*\} would be stated as \{.*\}\.$/),
      ]);
    const one = tool({ inputSchema: z.object({ times: z.number() }), execute: () => 1 });
    const asked = tool({ inputSchema, execute: () => 1 });
    expect(await differences(old, { tools: { one, asked, more: asked } })).toMatchObject({
      isFit: true,
      differences: [
        { kind: 'request', what: expect.stringMatching(/^The tool one is offered as \{.*times.*\}; it was \{.*\}\.$/) },
        { kind: 'request', what: 'The tool more is new.' },
      ],
    });
    expect(await differences(old, { tools: { one }, finish: 'text' })).toMatchObject({
      isFit: false,
      differences: [
        {
          kind: 'agent',
          what: 'The agent lasting is not the one that began the session s: finish: was "report", is "text"; the tool asked is missing; the tool final_report is missing.',
        },
      ],
    });
    expect(await journal.read('s')).toEqual(before);
    expect(await journal.list({ status: 'suspended' })).toHaveLength(1);
    await journal.close();
  });

  it('D-6b: a model of another name is given by its old one', async () => {
    const old = await releaseWith((text) => text.replaceAll('The tool succeeded.', 'It did.'));
    const journal = sqliteJournal(':memory:');
    expect(await leftAt(old, journal, 12, 'after')).toBe(true);
    const models = [rehearsalModel(() => report(), { modelId: 'newer' })];
    const { agent } = lastingAgent(old, { models });
    const options = { journal, sessionId: 's', logger: false as const };
    await expect(old.resumeSession(agent, options)).rejects.toThrow('the model rehearsal:script is missing');
    const renamedModels = { 'rehearsal:script': 'rehearsal:newer' };
    expect((await old.checkSessions([agent], { journal, renamedModels }))[0]).toMatchObject({ isFit: true });
    const waits: string[] = [];
    const onEvent = (event: { type: string; callId?: unknown }) => {
      if (event.type === 'tool.approvalRequested') waits.push(String(event.callId));
    };
    const session = await old.resumeSession(agent, { ...options, renamedModels, onEvent });
    for (const callId of waits) session.approve(callId, { approved: true });
    expect((await session.result).success).toBe(true);
    expect(models[0]?.requests.length).toBeGreaterThan(0);
    await journal.close();
  });

  it('the tools of agents that have not spoken, and those that a session did without, are no difference', async () => {
    const look = tool({ inputSchema, execute: () => 'seen' });
    const model = rehearsalModel([{ hangs: true }]);
    const billing = defineAgent({ name: 'billing', models: [model], tools: { refund: look } });
    const desk = defineAgent({ name: 'desk', models: [model], tools: { look, spare: look }, handoffs: { billing } });
    const journal = sqliteJournal(':memory:');
    for (const [sessionId, tools] of [
      ['whole', undefined],
      ['narrowed', ['look']],
    ] as const) {
      const own = { prompt: 'Go.', journal, sessionId, logger: false as const, ...(tools && { tools: [...tools] }) };
      const session = startSession(desk, own);
      for await (const { type } of session.events) if (type === 'attempt.started') break;
      await session.suspend({ graceMs: 0 });
    }
    expect((await checkSessions([desk], { journal })).map(({ isFit, differences }) => [isFit, differences])).toEqual([
      [true, []],
      [true, []],
    ]);
    await journal.close();
  });
});
