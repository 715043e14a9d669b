import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { type Browser, chromium, type Page } from 'playwright-core';

const browserPath = '/usr/bin/chromium';

export const hasBrowser = existsSync(browserPath);
if (!hasBrowser) process.stderr.write('No Chromium from Debian (apt-get install chromium): skipped.\n');

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/** What a page did that it must not: requests to anywhere, errors, refusals of its policy. */
export type Misdeeds = string[];

/** Opens a page, and notes its misdeeds. `own`: what the addresses that it may ask begin with. */
export async function watchedPage(
  browser: Browser,
  own: string,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<{ page: Page; misdeeds: Misdeeds }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  // Shorter than a test's, so that a failure names the step.
  page.setDefaultTimeout(30_000);
  const misdeeds: Misdeeds = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(own) && !request.url().startsWith('blob:')) misdeeds.push(`asked ${request.url()}`);
  });
  page.on('pageerror', ({ message }) => misdeeds.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') misdeeds.push(message.text());
  });
  return { page, misdeeds };
}

/**
 * Writes a page to a file, opens it from there without a network, and waits until the session is played.
 * `before`: runs in the page before its scripts.
 */
export async function openFile(
  browser: Browser,
  html: string,
  options: Parameters<Browser['newPage']>[0] = {},
  before: () => void = () => {},
) {
  const file = join(mkdtempSync(join(tmpdir(), 'pawl-page-')), 'session.html');
  writeFileSync(file, html);
  const url = pathToFileURL(file).href;
  const opened = await watchedPage(browser, url, options);
  await opened.page.context().setOffline(true);
  await opened.page.addInitScript(before);
  await opened.page.goto(url);
  await opened.page.waitForSelector('main[aria-busy="false"]');
  return opened;
}

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe finds wrong with a page, by rule. */
export async function complaints(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.addScriptTag({ path: axeFile });
  const found: { violations: { id: string; nodes: { html: string }[] }[] } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<never> } }).axe.run(),
  );
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`);
}

/** Presses a key, and waits until the page has drawn what it led to. */
export async function press(page: Page, key: string): Promise<void> {
  await page.keyboard.press(key);
  await page.locator('html').evaluate(async ({ ownerDocument: { defaultView } }) => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise((drawn) => defaultView?.requestAnimationFrame(drawn));
  });
}

/** Returns the text of a packed block of a page. */
export function blockIn(html: string, id: string): string {
  const [, packed = ''] = new RegExp(`id="${id}"[^>]*>([^<]*)<`).exec(html) ?? [];
  return gunzipSync(Buffer.from(packed, 'base64')).toString();
}
