import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { approveSession, sqliteJournal } from '../../src/index.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { atPrompts, pawl, pawlOnTerminal } from '../support/pawl.ts';
import { report } from '../support/session.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-unattended-'));
afterAll(() => rmSync(folder, { recursive: true }));
const agent = join(folder, 'paying.mjs');
writeFileSync(
  agent,
  `const pay = { inputSchema: { type: 'object' }, needsApproval: true, execute: () => 'paid' };
  export default { name: 'paying', models: [], tools: { pay } };`,
);
const replies = () => [{ calls: [{ name: 'pay', input: {} }] }, report('Done.')];
const given = (url: string) => ['--agent', agent, '--base-url', url, '--model', 'm'];

describe('C-1: a call that needs approval, where there is no terminal to ask', () => {
  it('is denied if nothing keeps the session', async () => {
    await using server = await startModelServer(replies());
    const { code, stdout } = await pawl(['run', ...given(server.url), 'Pay.']);
    expect(code).toBe(0);
    expect(stdout).toContain('tool_denied');
  });

  it('waits for a person if the session has a journal: it is suspended, also when it is resumed', async () => {
    await using server = await startModelServer(replies());
    const own = [...given(server.url), '--journal', join(folder, 'own.db')];
    const first = await pawl(['run', ...own, 'Pay.']);
    expect([first.code, first.stderr]).toEqual([75, expect.stringContaining('There is no terminal to ask')]);
    const [, sessionId = ''] = /pawl resume (\S+)/.exec(first.stderr) ?? [];
    const second = await pawl(['resume', sessionId, ...own]);
    expect([second.code, second.stderr]).toEqual([75, expect.stringContaining('approval of pay')]);
    expect(second.stdout).not.toContain('tool_denied');
    const { code, screen } = await pawlOnTerminal(['resume', sessionId, ...own], [atPrompts('[y/N] ', 'y\r')]);
    expect([code, screen]).toEqual([0, expect.stringContaining('1 tool call run')]);
    expect(server.requests).toHaveLength(2);
  });

  it('is approved by a decision that came meanwhile', async () => {
    await using server = await startModelServer(replies());
    const file = join(folder, 'other.db');
    const own = [...given(server.url), '--journal', file];
    const { stderr } = await pawl(['run', ...own, 'Pay.']);
    const [, sessionId = ''] = /pawl resume (\S+)/.exec(stderr) ?? [];
    const journal = sqliteJournal(file);
    const [session] = await journal.list({});
    const [callId = ''] = session?.waiting ?? [];
    expect(await approveSession(journal, sessionId, callId.split(' ').at(-1) ?? '', { approved: true })).toBe(true);
    await journal.close();
    const { code, stdout } = await pawl(['resume', sessionId, ...own]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('1 tool call run')]);
  });
});
