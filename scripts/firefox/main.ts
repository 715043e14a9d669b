/**
 * `npm run firefox`: opens the pages of the inspector in Debian's Firefox: a file from disk, and a running session whose call
 * is approved in the page. Other checks of the pages are in test/inspect, in Chromium.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tool } from 'ai';
import puppeteer, { type Page } from 'puppeteer-core';
import { z } from 'zod';
import { defineAgent, startSession } from '../../src/index.ts';
import { inspector } from '../../src/inspect/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';

const executablePath = '/usr/bin/firefox-esr';
if (!existsSync(executablePath)) {
  process.stderr.write('No Firefox from Debian (apt-get install firefox-esr): skipped.\n');
  process.exit(0);
}
// The window has the size: not every Firefox of Debian knows all that a viewport would set.
const args = ['--width=1280', '--height=800'];
const browser = await puppeteer.launch({
  browser: 'firefox',
  executablePath,
  headless: true,
  args,
  defaultViewport: null,
});

/** Opens a page, acts on it, and fails on errors and refusals of the page's policy. */
async function opened(name: string, url: string, act: (page: Page) => Promise<void>): Promise<void> {
  const page = await browser.newPage();
  const misdeeds: string[] = [];
  page.on('pageerror', (error) => misdeeds.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warn'].includes(message.type())) misdeeds.push(message.text());
  });
  await page.goto(url);
  await act(page);
  assert.deepEqual(misdeeds, []);
  await page.close();
  process.stdout.write(`Firefox: ${name}\n`);
}

const textOf = (page: Page, selector: string) => page.$eval(selector, (element) => element.textContent);
const shows = (page: Page, text: string) => page.waitForSelector(`::-p-text(${text})`);

async function file(folder: string): Promise<void> {
  const path = join(folder, 'demo.html');
  execFileSync(process.execPath, ['src/cli/main.ts', 'demo', '--rehearsal', '--export', path], { stdio: 'ignore' });
  await opened('a session in a file, step by step', pathToFileURL(path).href, async (page) => {
    await page.waitForSelector('main[aria-busy="false"]');
    assert.equal(await textOf(page, '.gaugetext'), 'requests 6 of 32');
    await page.waitForSelector('.waterfall .time-model');
    await (await page.waitForSelector('.middle .tabs button:nth-child(2)'))?.click();
    await page.keyboard.press('Home');
    const last = Number(await page.$eval('input[type=range]', (element) => element.getAttribute('max')));
    for (let step = 1; step <= last; step += 1) {
      await page.keyboard.press('ArrowRight');
      await shows(page, `step ${step + 1} of ${last + 1}`);
      const arrows = Number(await page.$eval('.chart', (element) => element.getAttribute('data-arrows')));
      assert.equal((await page.$$('.chart .taken')).length > 0, arrows > 0, `step ${step + 1} has ${arrows} arrows`);
    }
  });
}

async function live(): Promise<void> {
  await using shown = await inspector({ port: 0 });
  const inputSchema = z.object({ to: z.string() });
  const send = tool({ inputSchema, needsApproval: true, execute: ({ to }) => `sent to ${to}` });
  const calls = [{ name: 'send', input: { to: 'Ada' } }];
  const model = rehearsalModel([{ calls }, { calls: [{ name: 'final_report', input: { content: 'Sent.' } }] }]);
  const agent = defineAgent({ name: 'secretary', models: [model], tools: { send } });
  const session = startSession(agent, { prompt: 'Tell Ada.', journal: shown.journal, logger: false });
  await opened('a running session, whose call is approved', shown.address ?? '', async (page) => {
    await (await page.waitForSelector('a[href="#inbox/"]'))?.click();
    // It takes no click while it has just appeared.
    await (await page.waitForSelector('article form button:not([disabled])'))?.click();
    await shows(page, 'No call waits for a person.');
    await (await page.waitForSelector('a[href="#/"]'))?.click();
    await (await page.waitForSelector('a.entry'))?.click();
    const { status, counters } = await session.result;
    assert.deepEqual([status, counters.toolCalls.executed], ['succeeded', 1]);
    await page.waitForSelector('.status.done');
  });
}

const folder = mkdtempSync(join(tmpdir(), 'pawl-firefox-'));
try {
  await file(folder);
  await live();
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
