import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, resumeAll, runSession, sqliteJournal, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { pawl } from '../support/pawl.ts';
import { report } from '../support/session.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-many-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'pawl.db');
const journal = ['--journal', file];

const usage = { input: 1_000, cacheRead: 800, cacheWrite: 100, output: 50 };
const paid: unknown[] = [];
const pay = tool({
  inputSchema: z.object({ bill: z.string() }),
  needsApproval: true,
  execute: (one) => void paid.push(one),
});
const pricing = { 'rehearsal:script': { input: 10, output: 20, cacheRead: 1, cacheWrite: 12 } };
const model = rehearsalModel(({ prompt }) =>
  prompt.some(({ role }) => role === 'tool')
    ? { ...report('paid'), usage }
    : { calls: [{ name: 'pay', input: { bill: 'rent' } }], usage },
);
const clerk = defineAgent({ name: 'clerk', models: [model], tools: { pay }, pricing });
const talker = defineAgent({ name: 'talker', models: [rehearsalModel(() => report('hello'))] });

beforeAll(async () => {
  const store = sqliteJournal(file);
  const session = startSession(clerk, {
    prompt: `Pay what is due.\n${'x'.repeat(90)}`,
    journal: store,
    sessionId: 'pay-1',
    logger: false,
  });
  for await (const { type } of session.events) if (type === 'tool.approvalRequested') break;
  while ((await store.list({ sessionId: 'pay-1' }))[0]?.waiting.length !== 1) await new Promise(setImmediate);
  await session.suspend();
  for (const sessionId of ['talk-1', 'talk-2'])
    await runSession(talker, { prompt: 'Say hello.', journal: store, sessionId, logger: false });
  await store.close();
  const agent = (finish: string) =>
    `export default { name: 'clerk', models: ['openai:gpt-5'], finish: '${finish}', pricing: ${JSON.stringify(pricing)} };`;
  writeFileSync(join(folder, 'clerk.mjs'), agent('text'));
});

describe('the sessions of a journal, in the terminal', () => {
  it('are listed with what they are about, what they cost and how long they took', async () => {
    const { stdout } = await pawl(['sessions', ...journal]);
    expect(stdout).toMatch(/^pay-1 .* suspended {2}clerk {2}1 waiting for a person$/m);
    expect(stdout).toMatch(/^ {2}Pay what is due\. x{52}…$/m);
    expect(stdout).toMatch(/^ {2}1 request, 1050 tokens, \$0\.0040, \d+\.\d s$/m);
    expect(stdout).toMatch(/^ {2}1 request, \d+ tokens, no price, \d+\.\d s$/m);
    const rows = JSON.parse((await pawl(['sessions', ...journal, '--json'])).stdout);
    expect(rows.find(({ sessionId }: { sessionId: string }) => sessionId === 'pay-1')).toMatchObject({
      ...{ requests: 1, tokens: 1_050, durationMs: expect.any(Number) },
      costUsd: expect.closeTo(0.004, 9),
    });
  });

  it('cost what their requests cost, with what the cache saved where the price is known', async () => {
    const { stdout } = await pawl(['cost', 'pay', ...journal, '--agent', join(folder, 'clerk.mjs')]);
    // 800 tokens at 1 instead of 10, 100 at 12 instead of 10, in millionths.
    expect(stdout).toMatch(
      /^by turn\n {2}turn-1 {2}1 request {2}1000 in {2}80 % cached {2}50 out {2}\$0\.0040 {2}cache saved \$0\.0070$/m,
    );
    const all = JSON.parse((await pawl(['cost', ...journal, '--json'])).stdout);
    expect(Object.keys(all)).toEqual(['session', 'target', 'all']);
    expect(all.session).toHaveLength(3);
    expect(all.all[0]).toMatchObject({ requests: 3, costUsd: null, savedUsd: null });
  });

  it('an id may be cut short, if it stays the only one', async () => {
    expect((await pawl(['replay', 'pay', ...journal])).code).toBe(0);
    const { code, stderr } = await pawl(['replay', 'talk', ...journal]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^pawl: 2 sessions begin with talk, such as talk-\d, talk-\d: pass more/),
    ]);
  });

  it('are checked against new code and another agent', async () => {
    const { code, stdout } = await pawl(['check', ...journal, '--agent', join(folder, 'clerk.mjs')]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^pay-1 {2}suspended {2}is refused\n {2}agent {5}The agent clerk is not the one .*finish: was "report", is "text"/m,
    );
    expect(stdout).toContain(
      '1 session of clerk checked, 1 refused, 1 with differences. 2 sessions of other agents left out.',
    );
    expect((await pawl(['check', ...journal])).stderr).toContain('Pass the agent of the sessions');
  });

  it('what waits for a person is listed and decided, for whoever resumes the session', async () => {
    const { stdout } = await pawl(['approvals', ...journal]);
    expect(stdout).toMatch(/^pay-1 {2}\S+ {2}pay of clerk, for 0 minutes\n {2}\{"bill":"rent"\}\n$/);
    const [{ callId }] = JSON.parse((await pawl(['approvals', ...journal, '--json'])).stdout);
    expect((await pawl(['approve', 'pay-1', 'nothing', ...journal])).stderr).toContain(
      'No call nothing of pay-1 waits',
    );
    expect((await pawl(['approve', 'pay-1', ...journal])).stderr).toContain('Pass a session and a call');
    const denied = await pawl(['approve', 'pay', callId.slice(0, 4), '--deny', '--reason', 'Too dear.', ...journal]);
    expect([denied.code, denied.stdout]).toEqual([0, 'Denied: pay of pay-1. Whoever runs the session takes it in.\n']);
    expect((await pawl(['approvals', ...journal])).stdout).toBe('No call waits for a person.\n');
    const store = sqliteJournal(file);
    const { sessions } = await resumeAll([clerk], { journal: store, logger: false });
    const result = await sessions[0]?.result;
    expect([result?.success, paid]).toEqual([true, []]);
    expect(JSON.stringify(result?.conversation)).toContain('Too dear.');
    await store.close();
  });
});
