import { tool } from 'ai';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Agent, defineAgent, type Journal, startSession } from '../../src/index.ts';
import { inspector } from '../../src/inspect/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { complaints, hasBrowser, launch, watchedPage } from '../support/pages.ts';
import { report } from '../support/session.ts';

const edit = Object.assign(
  tool({
    inputSchema: z.object({ path: z.string(), token: z.string().optional() }),
    needsApproval: true,
    execute: ({ path }) => `edited ${path}`,
  }),
  { preview: ({ path }: { path: string }) => `--- ${path}\n+++ ${path}\n@@ -1,1 +1,1 @@\n-old\n+new` },
);
const clientSide = tool({ inputSchema: z.object({}) });

/** Asks for the calls in one turn, each of its kind, and reports. */
const asking = (name: string, paths: readonly string[], more: Partial<Parameters<typeof defineAgent>[0]> = {}) =>
  defineAgent({
    name,
    models: [rehearsalModel([{ calls: paths.map((path) => ({ name: 'edit', input: { path } })) }, report()])],
    tools: { edit },
    ...more,
  });

const start = (agent: Agent, journal: Journal, sessionId: string) =>
  startSession(agent, { prompt: 'Go.', journal, sessionId, logger: false, metadata: { ticket: sessionId } });

describe.runIf(hasBrowser)('S-8: the inbox', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  const opened = async (address: string | null, options: object = {}) => {
    const { page, misdeeds } = await watchedPage(browser, new URL(address ?? '').origin, options);
    await page.goto(address ?? '');
    return { page, misdeeds };
  };

  it('has the calls of all sessions, with what each would do, and decides them with a reason', async () => {
    const [one, two] = [asking('writer', ['a.md', 'b.md']), asking('editor', ['c.md'])];
    await using shown = await inspector({ port: 0, agents: [one, two] });
    const sessions = [start(one, shown.journal, 's1'), start(two, shown.journal, 's2')];
    const { page, misdeeds } = await opened(shown.address);
    await page.getByRole('link', { name: 'Inbox (3)' }).click();
    await page.getByText('3 waiting for a decision').waitFor();
    expect(await page.title()).toBe('(3) Pawl');
    const card = page.locator('article', { hasText: 'c.md' });
    expect(await card.innerText()).toMatch(/edit of editor in s2, just now · ticket: s2\s+Go\./);
    expect(await card.locator('.diff .added').last().innerText()).toBe('+new\n');
    expect(await card.innerText()).toContain('"path": "c.md"');
    await card.getByLabel('Why it is denied').fill('Not this file.');
    await card.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('2 waiting for a decision').waitFor();
    await page.getByRole('button', { name: 'Approve all 2 edit' }).click();
    await page.getByText('No call waits for a person.').waitFor();
    const results = await Promise.all(sessions.map(({ result }) => result));
    expect(results.map(({ status, counters: { toolCalls } }) => [status, toolCalls.executed])).toEqual([
      ['succeeded', 2],
      ['succeeded', 0],
    ]);
    expect(JSON.stringify(results[1]?.conversation)).toContain('Not this file.');
    expect(await page.title()).toBe('Pawl');
    expect(misdeeds).toEqual([]);
  });

  it('by keys alone: a call is approved, and the next key decides no other', async () => {
    const agent = asking('writer', ['a.md', 'b.md']);
    await using shown = await inspector({ port: 0, agents: [agent] });
    const session = start(agent, shown.journal, 's');
    const { page } = await opened(shown.address);
    await page.getByRole('link', { name: 'Inbox (2)' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('2 waiting for a decision').waitFor();
    const focused = () => page.evaluate<string>('document.activeElement.innerText');
    await page.locator('button:not([disabled])', { hasText: 'Approve' }).first().waitFor();
    for (let tabs = 0; tabs < 12 && (await focused()) !== 'Approve'; tabs += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('1 waiting for a decision').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('1 waiting for a decision').waitFor();
    expect(await page.locator('article.open').count()).toBe(1);
    session.abort('enough');
    await session.result;
  });

  it('S-8e: shows no secret, counts calls that a program answers, and decides nothing that was not shown', async () => {
    const journal = new MemoryJournal();
    const [key, path] = ['s3cr3t-value-1', 'a.md'];
    const models = [
      rehearsalModel([
        {
          calls: [
            { name: 'edit', input: { path, token: key } },
            { name: 'pick', input: {} },
          ],
        },
        report(),
      ]),
    ];
    const agent = defineAgent({ name: 'writer', models, tools: { edit, pick: clientSide } });
    await using shown = await inspector({ port: 0, journal, secrets: [key] });
    const session = start(agent, shown.journal, 's');
    const { page } = await opened(shown.address);
    await page.getByText('2 waiting for a person', { exact: true }).waitFor();
    await page.goto(`${page.url().split('#')[0]}#inbox/`);
    await page.getByText('1 waiting for a decision · 1 for the answer of a program').waitFor();
    expect(await page.locator('article').innerText()).not.toContain(key);
    // The preview is that of an agent, which this inspector was not given.
    expect(await page.locator('.diff').count()).toBe(0);
    const decided = (own: object) =>
      page.evaluate<{ taken?: boolean; error?: string }>(`(async () => {
        const { calls: [call] } = await (await fetch('inbox')).json();
        const { sessionId, madeBy, callId, shown } = call;
        const body = JSON.stringify({ sessionId, madeBy, callId, shown, approved: true, ...${JSON.stringify(own)} });
        const token = document.querySelector('meta[name=pawl-token]').content;
        const headers = { 'content-type': 'application/json', 'x-pawl-token': token };
        return (await fetch('inbox', { method: 'POST', headers, body })).json();
      })()`);
    expect(await decided({ shown: 'another' })).toEqual({ taken: false });
    expect(await decided({ callId: 'none' })).toEqual({ taken: false });
    expect((await decided({ approved: 'yes' })).error).toContain('approved');
    expect(await decided({})).toEqual({ taken: true });
    expect(await decided({ callId: 'again' }).catch(() => 'nothing waits')).toBe('nothing waits');
    session.abort('enough');
    await session.result;
  });

  it('S-8e: a second click meets no other call, and the cards stay where they are until all are decided', async () => {
    const agent = asking('writer', ['a.md', 'b.md', 'c.md']);
    await using shown = await inspector({ port: 0, agents: [agent] });
    const session = start(agent, shown.journal, 's');
    const { page } = await opened(`${shown.address}#inbox/`);
    await page.getByText('3 waiting for a decision').waitFor();
    const first = page.locator('article', { hasText: 'a.md' }).getByRole('button', { name: 'Approve', exact: true });
    const places = () =>
      page
        .locator('article.open, article.decided')
        .evaluateAll((all) => all.map((one) => (one as unknown as { offsetTop: number }).offsetTop));
    const before = await places();
    await first.dblclick();
    await page.getByText('Approved', { exact: true }).waitFor();
    expect(await page.getByText('2 waiting for a decision').count()).toBe(1);
    expect(await places()).toEqual(before);
    expect(await first.isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Hide what is decided' }).click();
    await page.getByText('a.md').first().waitFor({ state: 'detached' });
    // What has just moved takes no click.
    const moved = page.locator('article.open').first().getByRole('button', { name: 'Approve', exact: true });
    expect(await moved.isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Deny all 2 edit' }).click();
    await page.getByText('No call waits for a person.').waitFor();
    const { counters } = await session.result;
    expect([counters.toolCalls.executed, counters.toolCalls.rejected]).toEqual([1, { tool_denied: 2 }]);
  });

  it('S-8e: if what a call would do has changed, the decision does not count, and the page says so and shows it', async () => {
    let version = 'one';
    const tools = { edit: Object.assign({ ...edit }, { preview: () => `would write version ${version}` }) };
    const agent = asking('writer', ['a.md'], { tools });
    await using shown = await inspector({ port: 0, agents: [agent] });
    const session = start(agent, shown.journal, 's');
    const { page } = await opened(`${shown.address}#inbox/`);
    await page.getByText('would write version one').waitFor();
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    await page.locator('button:not([disabled])', { hasText: 'Approve' }).waitFor();
    version = 'two';
    await approve.click();
    await page.getByText('Not decided: it had changed, or waits no more').waitFor();
    await page.getByText('would write version two').waitFor();
    await approve.click();
    const { counters } = await session.result;
    expect(counters.toolCalls.executed).toBe(1);
  });

  it('a call whose preview is never the same twice can be denied, and approved as it was shown last', async () => {
    const times = [0];
    const preview = () => `would write it, asked ${times.push(0)} times`;
    const tools = { edit: Object.assign({ ...edit }, { preview }) };
    const agent = asking('writer', ['a.md', 'b.md'], { tools });
    await using shown = await inspector({ port: 0, agents: [agent] });
    const session = start(agent, shown.journal, 's');
    const { page } = await opened(`${shown.address}#inbox/`);
    const card = (path: string) => page.locator('article', { hasText: path });
    await card('a.md').getByRole('button', { name: 'Deny', exact: true }).click();
    await card('a.md').getByText('Denied', { exact: true }).waitFor();
    await card('b.md').getByRole('button', { name: 'Approve', exact: true }).click();
    const { counters } = await session.result;
    expect([counters.toolCalls.executed, counters.toolCalls.rejected]).toEqual([1, { tool_denied: 1 }]);
  });

  it('a tool that says nothing, and a session that cannot be read, hide no other call', async () => {
    const journal = new MemoryJournal();
    const never = { edit: Object.assign({ ...edit }, { preview: () => new Promise<string>(() => {}) }) };
    const [slow, quick] = [asking('slow', ['a.md'], { tools: never }), asking('quick', ['b.md'])];
    const damaged: Journal = Object.assign(Object.create(journal), {
      read: async (id: string, after?: number) => {
        const entries = await journal.read(id, after);
        return id === 'damaged' ? entries.map((entry) => ({ ...entry, type: 'of another world' })) : entries;
      },
    });
    const sessions = [
      start(asking('quick', ['c.md']), journal, 'damaged'),
      start(slow, journal, 's1'),
      start(quick, journal, 's2'),
    ];
    await using shown = await inspector({ port: 0, journal: damaged, agents: [slow, quick] });
    const { page } = await opened(`${shown.address}#inbox/`);
    await page.getByText('2 waiting for a decision').waitFor();
    expect(await page.locator('article', { hasText: 'a.md' }).innerText()).toContain('has not said yet');
    expect(await page.locator('article', { hasText: 'b.md' }).innerText()).toContain('+new');
    expect(await page.locator('.trouble').innerText()).toMatch(/The calls of damaged cannot be shown: ./);
    // Nor what the others were asked.
    await page.getByText('Go.', { exact: true }).nth(1).waitFor();
    await page.getByRole('link', { name: 'All sessions' }).click();
    await page.locator('.sessions a', { hasText: 'quick' }).nth(1).waitFor();
    await page.getByText('Go.').nth(1).waitFor();
    expect(await page.locator('.trouble').count()).toBe(0);
    for (const session of sessions) session.abort('enough');
    await Promise.all(sessions.map(({ result }) => result));
  });

  it('calls of two sub-agents with one id are two, and a diff shows no line of a secret', async () => {
    const secret = [
      '-----BEGIN KEY-----',
      'MIIEpAIBAAKCAQEA0123456789',
      'abcdefghijABCDEFGHIJ98765',
      '-----END KEY-----',
    ];
    const written = secret.map((line) => `+${line}`).join('\n');
    const tools = { edit: Object.assign({ ...edit }, { preview: () => `--- a\n+++ a\n@@ -0,0 +1,4 @@\n${written}` }) };
    const helper = (name: string) => asking(name, [`${name}.md`], { tools });
    const agents = { left: helper('left'), right: helper('right') };
    const input = { prompt: 'Edit it.', reason: 'It can.' };
    const calls = Object.keys(agents).map((name) => ({ name, input }));
    const parent = defineAgent({ name: 'parent', models: [rehearsalModel([{ calls }, report()])], agents });
    await using shown = await inspector({ port: 0, agents: [parent], secrets: [secret.join('\n')] });
    const session = start(parent, shown.journal, 's');
    const { page } = await opened(`${shown.address}#inbox/`);
    await page.getByText('2 waiting for a decision').waitFor();
    await page.locator('.diff').nth(1).waitFor();
    const text = await page.locator('main').innerText();
    for (const line of secret.slice(1, 3)) expect(text).not.toContain(line);
    await page.locator('article', { hasText: 'left.md' }).getByRole('button', { name: 'Deny' }).click();
    await page.getByText('1 waiting for a decision').waitFor();
    await page
      .locator('article', { hasText: 'right.md' })
      .getByRole('button', { name: 'Approve', exact: true })
      .click();
    const { counters } = await session.result;
    const ran = Object.values(counters.subAgents).map(({ toolCalls }) => toolCalls.executed);
    expect([Object.keys(counters.subAgents), ran]).toEqual([
      ['left', 'right'],
      [0, 1],
    ]);
  });

  it('the page of a session shows what is decided, at 390 px, too', async () => {
    const agent = asking('writer', ['a.md']);
    await using shown = await inspector({ port: 0, agents: [agent] });
    const session = start(agent, shown.journal, 's');
    const viewport = { width: 390, height: 844 };
    const { page, misdeeds } = await opened(`${shown.address}#s`, { viewport });
    const card = page.locator('.waiting article');
    await card.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    expect(await card.innerText()).toContain('"path": "a.md"');
    expect(await card.locator('.diff .added').last().innerText()).toBe('+new\n');
    expect(await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)).toBe(390);
    await card.getByRole('button', { name: 'Approve', exact: true }).click();
    expect((await session.result).counters.toolCalls.executed).toBe(1);
    await card.waitFor({ state: 'detached' });
    expect(misdeeds).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('axe finds nothing, %s, and it fits a narrow page', async (colorScheme) => {
    const agent = asking('writer', ['a.md', 'b.md']);
    await using shown = await inspector({ port: 0, agents: [agent] });
    const session = start(agent, shown.journal, 's');
    const viewport = { width: 390, height: 844 };
    const { page } = await opened(shown.address, { bypassCSP: true, colorScheme, viewport });
    await page.getByRole('link', { name: 'Inbox (2)' }).click();
    await page.getByText('2 waiting for a decision').waitFor();
    await page.locator('article').first().waitFor();
    expect(await complaints(page)).toEqual([]);
    expect(await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)).toBe(390);
    session.abort('enough');
    await session.result;
  });
});
