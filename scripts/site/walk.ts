/** Walks the built site in Chromium: the session that runs in it, with faults and a kill; the search; pages and links. */
import { strict as assert } from 'node:assert';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { chromium, type Page } from 'playwright-core';

const types: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.txt': 'text/plain',
};

/** Serves a folder on the loopback address. */
async function serve(folder: string) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname));
    const asked = join(folder, path);
    const file = existsSync(asked) && statSync(asked).isDirectory() ? join(asked, 'index.html') : asked;
    if (!existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close };
}

/** The session of the first page: a fault, a kill, and how both loops then ended. */
async function liveSession(page: Page, pictures: string | undefined): Promise<void> {
  const live = page.frameLocator('iframe[title="A session, live"]');
  await live.getByRole('button', { name: 'unknown tool' }).waitFor();
  await live.locator('#pawl li', { hasText: 'book_table: done' }).waitFor();
  await live.getByRole('button', { name: 'kill the process' }).click();
  await live.locator('#pawl li', { hasText: 'resumed from the journal' }).waitFor();
  await live.locator('#pawl .status', { hasText: 'done, and it is' }).waitFor();
  assert.match(
    String(await live.locator('#pawl .world').textContent()),
    /^tables booked: 1, deposits paid: 1, mails sent: 1$/,
  );
  await live.locator('#plain .status', { hasText: 'did something twice' }).waitFor();
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, 'site-live.png'), fullPage: true });
  await live.getByRole('button', { name: 'Again' }).click();
  await live.getByRole('button', { name: 'claimed' }).click();
  await live.locator('#plain .status', { hasText: 'says it is done, and it is not' }).waitFor();
  await live.locator('#pawl .status', { hasText: 'done, and it is' }).waitFor();
  assert.equal(await live.locator('#count').textContent(), '5 of 15 requests');
}

/** The file of a session: what it says of the session as a whole, and of an attempt that is chosen. */
async function inspectedSession(page: Page, pictures: string | undefined): Promise<void> {
  const frame = page.locator('iframe[title="A session, inspected"]');
  await frame.scrollIntoViewIfNeeded();
  const shown = frame.contentFrame();
  await shown.locator('main[aria-busy="false"]').waitFor();
  await shown.locator('.row', { hasText: 'attempt 1' }).first().click();
  await shown.getByRole('tab', { name: 'attempt', selected: true }).waitFor();
  if (pictures !== undefined) await frame.screenshot({ path: join(pictures, 'site-inspected.png') });
}

const questions: [string, RegExp][] = [
  ['force a tool', /How do I/],
  ['silence the logs', /How do I/],
  ['waits for approval', /How do I|Nothing lost/],
  ['Ollama', /How do I/],
  ['memory', /How do I/],
  ['disable logs', /How do I/],
  ['timeout', /How do I|Options/],
  ['createReactAgent', /Moving to Pawl/],
  ['prefix.broken', /Events|Control|Turn/],
];

async function searches(page: Page): Promise<void> {
  for (const [question, expected] of questions) {
    await page.locator('button.DocSearch-Button, .VPNavBarSearch button').first().click();
    await page.locator('#localsearch-input').fill(question);
    await page.locator('#localsearch-list .result').first().waitFor();
    const found = await page.locator('#localsearch-list .result').allInnerTexts();
    assert.ok(
      found.some((text) => expected.test(text)),
      `${question}: ${found.slice(0, 3).join(' | ')}`,
    );
    await page.keyboard.press('Escape');
  }
}

export async function walk(folder: string, pictures?: string): Promise<void> {
  const site = await serve(folder);
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  const misdeeds: string[] = [];
  try {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
    page.setDefaultTimeout(30_000);
    page.on('pageerror', ({ message }) => misdeeds.push(message));
    page.on('request', (request) => {
      if (!request.url().startsWith(site.url) && !/^(data|blob):/.test(request.url())) misdeeds.push(request.url());
    });
    page.on('response', (response) => {
      if (response.status() >= 400) misdeeds.push(`${response.status()} ${response.url()}`);
    });
    await page.goto(site.url);
    await liveSession(page, pictures);
    await inspectedSession(page, pictures);
    await searches(page);
    for (const path of [
      'docs/index.html',
      'docs/guides/moving.html',
      'docs/comparison.html',
      'docs/specification.html',
    ]) {
      await page.goto(`${site.url}${path}`);
      await page.locator('h1').waitFor();
      const { width } = (await page.locator('body').boundingBox()) ?? { width: 0 };
      assert.ok(width <= 1_280, `${path} is ${width} px wide`);
    }
    assert.deepEqual(misdeeds, []);
  } finally {
    await browser.close();
    site.close();
  }
}
