import { tool } from 'ai';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, runSession, sqliteJournal, startSession } from '../../src/index.ts';
import { inspector } from '../../src/inspect/index.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { hasBrowser, launch, watchedPage } from '../support/pages.ts';
import { report } from '../support/session.ts';

const guarded = tool({ inputSchema: z.object({ to: z.string() }), needsApproval: true, execute: () => 'sent' });
const asking = (calls: number) =>
  defineAgent({
    name: 'asking',
    models: [
      rehearsalModel([
        { calls: Array.from({ length: calls }, (_, index) => ({ name: 'send', input: { to: `reader ${index}` } })) },
        report(),
      ]),
    ],
    tools: { send: guarded },
  });
const plain = (replies: RehearsedReply[] = []) =>
  defineAgent({ name: 'plain', models: [rehearsalModel([...replies, report()])] });

/** As if another tab were chosen, or this one again. */
const show = (page: Page, isShown: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${!isShown} });
    document.dispatchEvent(new Event('visibilitychange'));
  `);

const boxOf = async (page: Page, selector: string) => {
  const box = await page.locator(selector).first().boundingBox();
  return {
    left: box?.x ?? Number.NaN,
    right: (box?.x ?? 0) + (box?.width ?? 0),
    height: box?.height ?? 0,
    width: box?.width,
  };
};

describe.runIf(hasBrowser)('S-8: the pages of a server in use', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it('hidden pages hold no connection, so there may be more pages than a browser opens connections to one server', async () => {
    await using shown = await inspector({ port: 0 });
    const address = shown.address ?? '';
    const session = startSession(asking(1), { prompt: 'Go.', journal: shown.journal, sessionId: 's', logger: false });
    const context = await browser.newContext();
    const pages: Page[] = [];
    for (let number = 0; number < 8; number += 1) {
      const page = await context.newPage();
      pages.push(page);
      await page.goto(`${address}#s`);
      await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
      await show(page, false);
    }
    const [first, ...others] = pages;
    await show(first as Page, true);
    await first?.getByRole('button', { name: 'Approve', exact: true }).click();
    expect((await session.result).success).toBe(true);
    await first?.locator('.status.done').waitFor();
    // A page that is shown again continues where it was.
    for (const page of others.slice(0, 3)) {
      expect(await page.locator('.status.done').count()).toBe(0);
      await show(page, true);
      await page.locator('.status.done').waitFor();
      expect(await page.locator('.trouble').count()).toBe(0);
    }
    await context.close();
  });

  it('a list that is shown again has the new sessions, and no longer the deleted ones', async () => {
    await using shown = await inspector({ port: 0 });
    const { journal } = shown;
    const { page, misdeeds } = await watchedPage(browser, new URL(shown.address ?? '').origin);
    await runSession(plain(), { prompt: 'Go.', journal, sessionId: 'first', logger: false });
    await page.goto(shown.address ?? '');
    await page.locator('.entry[title^="first"]').waitFor();
    await show(page, false);
    await runSession(plain(), { prompt: 'Go.', journal, sessionId: 'second', logger: false });
    await journal.delete('first');
    await show(page, true);
    await page.locator('.entry[title^="second"]').waitFor();
    expect(await page.locator('.entry[title^="first"]').count()).toBe(0);
    expect(misdeeds).toEqual([]);
  });

  it.each([1280, 360])(
    'at %i pixels, each line of the list begins at the left and ends at the right',
    async (width) => {
      await using shown = await inspector({ port: 0 });
      const { page } = await watchedPage(browser, new URL(shown.address ?? '').origin);
      await page.setViewportSize({ width, height: 700 });
      const metadata = { note: 'long '.repeat(100) };
      await runSession(plain(), { prompt: 'Go.', journal: shown.journal, sessionId: 's', logger: false, metadata });
      await page.goto(shown.address ?? '');
      await page.locator('.entry').waitFor();
      expect((await boxOf(page, '.sessions input')).width).toBeLessThan(30);
      expect((await boxOf(page, '.entry .glyph')).left).toBeLessThan(70);
      const time = await boxOf(page, '.entry .when');
      expect([time.right <= width, time.width !== undefined && time.width > 40]).toEqual([true, true]);
      expect(await page.locator('.sessions').evaluate((list) => list.scrollWidth <= list.clientWidth)).toBe(true);
    },
  );

  it('says how many hits of a search are not shown', async () => {
    await using shown = await inspector({ port: 0 });
    const { page } = await watchedPage(browser, new URL(shown.address ?? '').origin);
    await runSession(plain(), { prompt: 'Go.', journal: shown.journal, sessionId: 's', logger: false });
    const found = { hits: [{ sessionId: 's', snippet: '' }], total: 1_286, indexed: 1_500, sessions: 1_500 };
    await page.route('**/search?*', (route) => route.fulfill({ json: found }));
    await page.goto(shown.address ?? '');
    await page.getByLabel('Search the sessions').fill('agent:plain');
    await page.getByText('Showing the latest 1 of 1286 hits.').waitFor();
  });

  it('many calls that wait leave room for the session, and the next one has the focus', async () => {
    await using shown = await inspector({ port: 0 });
    const { page } = await watchedPage(browser, new URL(shown.address ?? '').origin);
    await page.setViewportSize({ width: 1280, height: 600 });
    const session = startSession(asking(20), { prompt: 'Go.', journal: shown.journal, sessionId: 's', logger: false });
    await page.goto(`${shown.address}#s`);
    await page.getByRole('button', { name: 'Approve', exact: true }).nth(19).waitFor();
    expect((await boxOf(page, 'main')).height).toBeGreaterThan(200);
    await page.locator('button:not([disabled])', { hasText: 'Approve' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByText('Approved', { exact: true }).waitFor();
    // The list has the focus, and no button, which a second press would use.
    await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Waiting for a person');
    await page.keyboard.press('Enter');
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    for (let tabs = 0; tabs < 8 && (await focused()) !== 'Approve'; tabs += 1) await page.keyboard.press('Tab');
    expect(await focused()).toBe('Approve');
    await expect.poll(() => session.counters.toolCalls.executed).toBe(1);
    session.abort();
    await session.result;
  });

  it('calls of one tool are decided at once; a denial has a reason, which the model reads', async () => {
    const calls = ['Ada', 'Ben', 'Cid'].map((to) => ({ name: 'send', input: { to } }));
    const asked: string[] = [];
    const agent = defineAgent({
      name: 'many',
      models: [
        rehearsalModel(({ prompt }) => {
          asked.push(JSON.stringify(prompt));
          return asked.length === 1 ? { calls } : asked.length === 2 ? { calls: calls.slice(0, 1) } : report();
        }),
      ],
      tools: { send: guarded },
    });
    await using shown = await inspector({ port: 0 });
    const session = startSession(agent, { prompt: 'Go.', journal: shown.journal, sessionId: 's', logger: false });
    const { page, misdeeds } = await watchedPage(browser, new URL(shown.address ?? '').origin);
    await page.goto(`${shown.address}#s`);
    await page.getByRole('button', { name: 'Approve all 3 send' }).click();
    await expect.poll(() => session.counters.toolCalls.executed).toBe(3);
    await expect.poll(() => page.getByLabel('Why it is denied').count()).toBe(1);
    await page.locator('button:not([disabled])', { hasText: 'Deny' }).waitFor();
    await page.getByLabel('Why it is denied').fill('Ada has moved.');
    await page.keyboard.press('Enter');
    const { status, counters } = await session.result;
    expect([status, counters.toolCalls.executed, counters.toolCalls.rejected]).toEqual([
      'succeeded',
      3,
      { tool_denied: 1 },
    ]);
    expect(asked[2]).toContain('Ada has moved.');
    expect(misdeeds).toEqual([]);
  });

  it('says that the server does not answer, and that another one in its place knows no such page', async () => {
    const journal = sqliteJournal(freshFile());
    const first = await inspector({ port: 0, journal });
    const address = first.address ?? '';
    const { page } = await watchedPage(browser, new URL(address).origin);
    const session = startSession(asking(1), { prompt: 'Go.', journal, sessionId: 's', logger: false });
    await page.goto(`${address}#s`);
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    const away = page.getByText('The server does not answer. What is shown may be out of date.');
    expect(await away.count()).toBe(0);
    await first.close();
    await away.waitFor();
    await page.getByRole('button', { name: 'Abort' }).click();
    await page.getByRole('button', { name: 'End it' }).click();
    await page.getByText('The server does not answer.', { exact: true }).waitFor();
    const again = await inspector({ port: Number(new URL(address).port), journal });
    await page.getByText('The server no longer shows this session.').waitFor();
    expect(await away.count()).toBe(0);
    session.abort();
    await session.result;
    await again.close();
    await journal.close();
  });
});
