import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { complaints, hasBrowser, launch, watchedPage } from '../support/pages.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-chat-page-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts the server of the example, as its README says. */
async function serve(journal: string) {
  const { MODEL: _, PORT: __, ...env } = process.env;
  const child = spawn(process.execPath, ['examples/chat-page/server.ts', join(folder, journal)], { env });
  let [said, errors] = ['', ''];
  child.stderr.on('data', (data) => {
    errors += data;
  });
  for await (const data of child.stdout) {
    said += data;
    if (said.includes('\n')) break;
  }
  return {
    url: said.trim(),
    errors: () => errors,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGKILL');
      await closed;
    },
  };
}

it('the page of the example is one file of at most 150 lines', () => {
  expect(readFileSync('examples/chat-page/page.tsx', 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});

describe.skipIf(!hasBrowser)('the chat page of the examples', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it.each(['light', 'dark'] as const)(
    'asks, shows a change, approves it, and has it in another process, %s',
    async (colorScheme) => {
      const journal = `chat-${colorScheme}.db`;
      let hash = '';
      {
        await using server = await serve(journal);
        const { page, misdeeds } = await watchedPage(browser, server.url, { colorScheme });
        await page.goto(server.url);
        await page.getByLabel('Message').fill('Mark the bill of May as paid.');
        await page.getByLabel('Message').press('Enter');
        await page.getByText('needs your approval').waitFor();
        expect(await page.locator('.call del').textContent()).toBe('the bill of May');
        expect(await complaints(page)).toEqual([]);
        await page.getByRole('button', { name: 'Approve' }).click();
        await page.locator('.text td', { hasText: 'paid on June 2' }).waitFor();
        await page.getByText('succeeded · requests: 3').waitFor();
        // The chat that is new is listed without a reload.
        await page.locator('nav a[aria-current="true"]', { hasText: 'Mark the bill' }).waitFor();
        expect(misdeeds).toEqual([]);
        hash = new URL(page.url()).hash;
        await page.close();
      }
      // Another process has the chat from the journal.
      await using server = await serve(journal);
      const { page } = await watchedPage(browser, server.url, { colorScheme });
      await page.goto(`${server.url}/${hash}`);
      await page.locator('.text td', { hasText: 'paid on June 2' }).waitFor();
      expect(await page.locator('.call small').allTextContents()).toEqual(['done', 'done']);
      expect(await page.locator('nav a[aria-current="true"]').textContent()).toContain('Mark the bill');
      expect(await complaints(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)).toBe(390);
      await page.close();
    },
  );

  it('a denial gives its reason, and a failure can be tried again', async () => {
    await using server = await serve('denied.db');
    const { page } = await watchedPage(browser, server.url);
    await page.goto(server.url);
    const say = async (text: string) => {
      await page.getByLabel('Message').fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    };
    await say('Mark the bill of May as paid.');
    await page.getByPlaceholder('Reason').fill('Not yet.');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('Then I leave the notes as they are.').waitFor();
    expect(await page.locator('.call').last().textContent()).toMatch(/denied\s+Not yet\./);
    expect(await page.locator('.call pre').count()).toBe(0);
    await say('Now fail.');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('retries_exhausted');
    const failures = page.getByText('tried again after: empty_response');
    expect(await failures.count()).toBe(1);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').waitFor({ state: 'hidden' });
    await page.getByRole('alert').waitFor();
    expect(await failures.count()).toBe(1);
    await page.close();
  });

  it('a call of a chat that was stopped asks for nothing, and a long chat leaves the message box where it is', async () => {
    await using server = await serve('stopped.db');
    const viewport = { width: 1_000, height: 500 };
    const { page } = await watchedPage(browser, server.url, { viewport });
    await page.goto(server.url);
    const message = page.getByLabel('Message');
    for (let asked = 1; asked <= 3; asked += 1) {
      await message.fill('Mark the bill of May as paid.');
      await message.press('Enter');
      await page.getByRole('button', { name: 'Deny' }).click();
      await page
        .getByText('Then I leave the notes as they are.')
        .nth(asked - 1)
        .waitFor();
    }
    const box = await message.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(500);
    await message.fill('Mark the bill of May as paid.');
    await message.press('Enter');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    const id = new URL(page.url()).hash.slice(1);
    await page.evaluate(`fetch('/api/chat/${id}', { method: 'DELETE' })`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('The session was aborted.').waitFor();
    await page.getByText('aborted · requests: 2').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await page.close();
  });
});
