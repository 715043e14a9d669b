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
    expect(await card.innerText()).toMatch(/edit of editor in s2, just now · ticket: s2/);
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
    for (let tabs = 0; tabs < 12 && (await focused()) !== 'Approve'; tabs += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('1 waiting for a decision').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('1 waiting for a decision').waitFor();
    expect(await page.locator('article').count()).toBe(1);
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
        const [call] = await (await fetch('inbox')).json();
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
