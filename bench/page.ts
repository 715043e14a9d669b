/** `node bench/page.ts`: how a page of 2,000 turns loads and scrubs in Chromium, beside one of 20 turns. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tool } from 'ai';
import { chromium } from 'playwright-core';
import { z } from 'zod';
import { defineAgent, runSession } from '../src/index.ts';
import { sessionFile } from '../src/inspect/index.ts';
import { MemoryJournal } from '../src/journal/memory.ts';
import { rehearsalModel } from '../src/testing/index.ts';

const work = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => `found ${q}` });

async function pageOf(turns: number): Promise<string> {
  let sent = 0;
  const model = rehearsalModel(() => {
    sent += 1;
    return sent % 7 === 3 ? {} : { text: 'Let me look.', calls: [{ name: 'work', input: { q: `thing ${sent}` } }] };
  });
  const journal = new MemoryJournal();
  const agent = defineAgent({ name: 'timed', models: [model], tools: { work }, limits: { maxTurns: turns } });
  await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
  return sessionFile(await journal.read('s'));
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
for (const turns of [20, 2_000]) {
  const html = await pageOf(turns);
  const file = join(mkdtempSync(join(tmpdir(), 'pawl-page-')), 'session.html');
  writeFileSync(file, html);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.addInitScript(() => {
    const seen: number[] = [];
    // The types are those of Node, which knows no long tasks.
    const longTasks = { type: 'longtask', buffered: true } as unknown as { type: 'mark' };
    new PerformanceObserver((list) => seen.push(...list.getEntries().map(({ duration }) => duration))).observe(
      longTasks,
    );
    Object.assign(globalThis, { seen });
  });
  const begun = Date.now();
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('main[aria-busy="false"]', { timeout: 60_000 });
  const loadMs = Date.now() - begun;
  const whileLoading = await page.evaluate(() => (globalThis as unknown as { seen: number[] }).seen.splice(0));
  const frames = await page.locator('input[type=range]').evaluate(async (element) => {
    const input = element as unknown as { value: string; max: string };
    const { defaultView: view } = element.ownerDocument;
    const times: number[] = [];
    let last = performance.now();
    for (let step = 0; step < 200; step += 1) {
      input.value = String(Math.floor((Number(input.max) * step) / 200));
      element.dispatchEvent(new Event('input', { bubbles: true }));
      await new Promise((drawn) => view?.requestAnimationFrame(drawn));
      times.push(performance.now() - last);
      last = performance.now();
    }
    return times.sort((a, b) => a - b);
  });
  const at = (share: number) => (frames[Math.floor(frames.length * share)] ?? 0).toFixed(1);
  const longest = (list: readonly number[]) => Math.max(0, ...list).toFixed(0);
  process.stdout.write(
    `${turns} turns: ${(html.length / 1_000).toFixed(0)} kB, played after ${loadMs} ms, longest task ${longest(whileLoading)} ms; scrub: median ${at(0.5)}, p95 ${at(0.95)}, most ${at(0.999)} ms a frame; ${await page.locator('*').count()} elements\n`,
  );
  await page.close();
}
await browser.close();
