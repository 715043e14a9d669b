import { tool } from 'ai';
import { build } from 'esbuild';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, runSession } from '../../src/index.ts';
import { pageFile } from '../../src/inspect/tape/page-file.ts';
import { sessionFile } from '../../src/inspect/tape/session-file.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { complaints, hasBrowser, launch, openFile, press, watchedPage } from '../support/pages.ts';
import { report } from '../support/session.ts';

const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script> \u202e\u0007';
const inputSchema = z.object({ q: z.string() });
const work = tool({ inputSchema, execute: ({ q }) => `found ${q}: ${hostile}` });

const story: RehearsedReply[] = [
  {
    text: 'I look.',
    calls: [
      { name: 'work', input: { q: 'one' } },
      { name: 'work', input: { q: 'two' } },
    ],
  },
  {},
  {
    calls: [
      { name: 'nope', input: {} },
      { name: 'work', input: { q: 'three' } },
    ],
  },
  { text: 'only text' },
  report('All found.'),
];

async function fileOf(replies: Parameters<typeof rehearsalModel>[0], definition: Partial<AgentDefinition> = {}) {
  const journal = new MemoryJournal();
  const agent = defineAgent({ name: 'shown', models: [rehearsalModel(replies)], tools: { work }, ...definition });
  const result = await runSession(agent, { prompt: `Find it. ${hostile}`, journal, sessionId: 's', logger: false });
  return { result, html: sessionFile(await journal.read('s')) };
}

describe.runIf(hasBrowser)('a session in one file', () => {
  let browser: Browser;
  let html: string;
  beforeAll(async () => {
    browser = await launch();
    ({ html } = await fileOf(story));
  });
  afterAll(() => browser?.close());

  it('opens from disk, without a network and under its own policy, and tells the story', async () => {
    expect(html.length).toBeLessThan(330_000);
    expect(html).toContain("default-src 'none'");
    expect(html).not.toContain('unsafe');
    const { page, misdeeds } = await openFile(browser, html);
    const list = await page.locator('.list').innerText();
    for (const told of ['turn 3', 'empty_response', 'unknown_tool', 'text_only', 'report accepted', 'succeeded'])
      expect(list).toContain(told);
    expect(await page.locator('.gaugetext').innerText()).toBe('requests 5 of 50');
    expect(await page.locator('.box.failed').count()).toBe(2);
    expect(await page.locator('.status').innerText()).toContain('succeeded');
    expect(await page.title()).toBe('shown · Pawl');
    expect(misdeeds).toEqual([]);
  });

  it('shows what arrives before the browser has come to the effects of the first drawing', async () => {
    const { page } = await openFile(browser, html, {}, () => {
      // Preact runs effects from a timeout, after the frame; here they never run.
      globalThis.setTimeout = (() => 0) as never;
    });
    expect(await page.locator('.status').innerText()).toContain('succeeded');
  });

  it('by keys alone: failures, requests, replies, answers, and the reason for each step', async () => {
    const { page, misdeeds } = await openFile(browser, html);
    const pane = page.locator('#pane');
    await press(page, '6');
    await press(page, 'Home');
    expect(await page.locator('.when').innerText()).toContain('step 1 of');
    await press(page, 'n');
    expect(await page.locator('.live').innerText()).toBe('turn choosing, by attempt done');
    expect(await pane.innerText()).toMatch(/guard\s+attemptWas\(failed\)/);
    expect(await pane.innerText()).toContain('B-3');
    await press(page, '4');
    expect(await pane.innerText()).toContain('The reply was empty.');
    await press(page, 'Shift+ArrowRight');
    await press(page, '3');
    expect(await pane.innerText()).toContain('ephemeral: in this request only (N-1)');
    await press(page, 'Alt+ArrowRight');
    const request = await pane.innerText();
    expect(request).toContain('from the previous request; it was ephemeral');
    expect(await page.locator('.message.new').count()).toBe(2);
    expect(await page.locator('.message.gone').count()).toBe(1);
    await press(page, 'Home');
    for (let turn = 0; turn < 3; turn += 1) await press(page, 'Alt+ArrowRight');
    await press(page, 'ArrowLeft');
    await press(page, '5');
    expect(await pane.innerText()).toContain('2 of 2 calls answered');
    await page.getByRole('button', { name: 'machines' }).first().click();
    await page.locator('.lit').first().waitFor();
    await press(page, '8');
    await page.waitForSelector('#pane .json');
    expect(await pane.innerText()).toContain('"maxRetries": 5');
    await press(page, '9');
    expect(await pane.innerText()).toContain('toolCalls.answered');
    await press(page, '?');
    expect(await page.locator('dialog').innerText()).toContain('next failure');
    expect(misdeeds).toEqual([]);
  });

  it('what if: another delivery is decided at once, offline, beside what happened', async () => {
    const { page, misdeeds } = await openFile(browser, html);
    await press(page, 'Home');
    // From here on the address is behind, so that it must not lead back.
    await page.waitForURL(/step=1/);
    await press(page, 'n');
    await press(page, '0');
    await page.getByRole('button', { name: 'a fault: auth' }).click();
    await page.locator('.departure').waitFor();
    await page.locator('.status.failed').waitFor();
    expect(await page.locator('.status').innerText()).toContain('no_targets');
    await page.getByRole('button', { name: 'Compare' }).click();
    expect(await page.locator('.compared').innerText()).toContain(
      'First difference, in turn-2/attempt-1: attempt.replied',
    );
    await page.getByRole('button', { name: 'Back to what happened' }).click();
    expect(await page.locator('.when').innerText()).toMatch(/step \d+ of \d+/);
    await page.getByLabel('or this:').fill('{');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Not valid JSON').waitFor();
    expect(misdeeds).toEqual([]);
  });

  it('marks the steps of a rule, and draws a number over all steps', async () => {
    const { page, misdeeds } = await openFile(browser, html);
    await press(page, '6');
    await press(page, 'Home');
    await press(page, 'n');
    await page.getByRole('button', { name: 'B-3', exact: true }).click();
    const [, count = ''] = /^B-3: (\d+) steps?$/.exec(await page.locator('.marked button').first().innerText()) ?? [];
    expect(Number(count)).toBe(0);
    await page.getByRole('button', { name: 'B-1', exact: true }).click();
    await page.getByText('B-1: ').waitFor();
    await press(page, '9');
    const field = page.getByLabel('Watch an expression');
    await field.fill('session.turn + counters.requests');
    await field.press('Enter');
    await page.locator('.watch').waitFor();
    await page.locator('.list').focus();
    await press(page, 'End');
    expect(await page.locator('.watch').innerText()).toMatch(/^session\.turn \+ counters\.requests = 8/);
    await press(page, 'Home');
    expect(await page.locator('.watch').innerText()).toMatch(/= [0–]/);
    await field.fill('alert(1)');
    await field.press('Enter');
    await page.getByText('`watch` must be numbers').waitFor();
    expect(misdeeds).toEqual([]);
  });

  it('what a model or a tool wrote stays text', async () => {
    const { page, misdeeds } = await openFile(browser, html);
    await press(page, 'Home');
    for (let turn = 0; turn < 2; turn += 1) await press(page, 'Alt+ArrowRight');
    await press(page, '3');
    expect(await page.locator('#pane').innerText()).toContain('<script>document.title=2</script> \\u{202e}\\u{7}');
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toBe('shown · Pawl');
    expect(misdeeds).toEqual([]);
  });

  it('at every step the gauge is the account, and each arrow that was taken is drawn', async () => {
    const { page } = await openFile(browser, html);
    await press(page, '9');
    await page.getByRole('button', { name: 'machines' }).click();
    await page.locator('.chart').waitFor();
    await press(page, 'Home');
    const steps = await page.locator('html').evaluate(async (root) => {
      const { defaultView: view } = root.ownerDocument;
      const textOf = (selector: string) => root.querySelector(selector)?.textContent ?? '';
      const last = Number(root.querySelector('input[type=range]')?.getAttribute('max'));
      const seen: { when: string; gauge: string; counted: string; arrows: boolean; taken: boolean; lit: boolean }[] =
        [];
      for (let step = 0; step <= last; step += 1) {
        const row = [...root.querySelectorAll('#pane tr')].find(
          (one) => one.querySelector('th')?.textContent === 'requests',
        );
        seen.push({
          when: textOf('.when').replace(/^.*step/, 'step'),
          gauge: textOf('.gaugetext'),
          counted: row?.querySelector('td')?.textContent ?? '0',
          arrows: Number(root.querySelector('.chart')?.getAttribute('data-arrows')) > 0,
          taken: root.querySelector('.edge.taken, g.taken') !== null,
          lit: root.querySelector('.lit, .past') !== null,
        });
        view?.dispatchEvent(new view.KeyboardEvent('keydown', { key: 'ArrowRight' }));
        for (let frame = 0; frame < 2; frame += 1) await new Promise((drawn) => view?.requestAnimationFrame(drawn));
      }
      return seen;
    });
    expect(steps.length).toBeGreaterThan(40);
    for (const [index, { when, gauge, counted, arrows, taken, lit }] of steps.entries()) {
      expect([when, gauge]).toEqual([`step ${index + 1} of ${steps.length}`, `requests ${counted} of 50`]);
      expect([index, taken, lit]).toEqual([index, arrows, true]);
    }
  });

  it.each([
    ['light', ['p', '2', '3', '5', '6', '7', '9', '0', '?']],
    ['dark', ['p', '2', '3']],
  ] as const)('axe finds nothing, %s', async (colorScheme, keys) => {
    // The content security policy would block axe.
    const { page } = await openFile(browser, html, { colorScheme, bypassCSP: true });
    for (const key of keys) {
      await press(page, key);
      expect(await complaints(page)).toEqual([]);
    }
  });

  it('fits a narrow page, one pane at a time', async () => {
    const { page, misdeeds } = await openFile(browser, html, { viewport: { width: 390, height: 800 } });
    for (const pane of ['events', 'machines', 'details']) {
      await page.getByRole('button', { name: pane }).click();
      expect(await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)).toBe(390);
    }
    await page.locator('.details').waitFor();
    await page.locator('.list').waitFor({ state: 'hidden' });
    expect(misdeeds).toEqual([]);
  });

  it('a long session is a small file, and few elements wherever one looks', async () => {
    let sent = 0;
    const { html: long, result } = await fileOf(
      () => {
        sent += 1;
        if (sent % 7 === 3) return {};
        return { text: 'Let me look.', calls: [{ name: 'work', input: { q: `thing ${sent}` } }] };
      },
      { tools: { work: tool({ inputSchema, execute: ({ q }) => `found ${q}` }) }, limits: { maxTurns: 300 } },
    );
    expect([result.status, result.counters.turns]).toEqual(['failed', 300]);
    // 2,000 turns are in bench/page.ts.
    expect(long.length).toBeLessThan(330_000);
    const { page, misdeeds } = await openFile(browser, long);
    for (const key of ['Home', 'n', '3', 'End', '7', 'p', '9', '1', '2']) {
      await press(page, key);
      expect(await page.locator('*').count()).toBeLessThan(1_500);
    }
    expect(await page.locator('.gaugetext').innerText()).toMatch(/^requests 3\d{2} of 1500$/);
    expect(misdeeds).toEqual([]);
  });

  it('every arrow of the machines can be lit, with its two states', async () => {
    const { outputFiles } = await build({
      entryPoints: ['test/support/page/lighting.ts'],
      bundle: true,
      write: false,
      format: 'iife',
      globalName: 'lighting',
      platform: 'browser',
    });
    const { page } = await watchedPage(browser, 'about:');
    await page.addScriptTag({ content: outputFiles[0]?.text ?? '' });
    const pictures = JSON.parse(pageFile('pictures.json'));
    expect(Object.keys(pictures.arrows).length).toBeGreaterThan(100);
    const dark = await page.evaluate(
      (given) =>
        (globalThis as unknown as { lighting: { darkArrows(one: unknown): string[] } }).lighting.darkArrows(given),
      pictures,
    );
    expect(dark).toEqual([]);
  });
});
