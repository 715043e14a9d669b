import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent, runSession } from '../../src/index.ts';
import { sessionFile } from '../../src/inspect/tape/session-file.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { complaints, hasBrowser, launch, openFile, press } from '../support/pages.ts';
import { report } from '../support/session.ts';

async function file(): Promise<string> {
  const journal = new MemoryJournal();
  const clock = manualClock();
  const replies = [{}, { calls: [{ name: 'work', input: {} }] }, report()];
  const models = [
    rehearsalModel(({ index }) => {
      clock.advance(100);
      return replies[index] ?? {};
    }),
  ];
  const tools = { work: () => 'done' };
  await runSession(defineAgent({ name: 'clerk', models, tools }), {
    prompt: 'Go.',
    journal,
    sessionId: 's',
    logger: false,
    clock,
  });
  return sessionFile(await journal.read('s'));
}

type Box = { x: number; y: number; width: number; height: number };
const boxOf = async (page: Page, selector: string): Promise<Box> => {
  const box = await page.locator(selector).first().boundingBox();
  if (box === null) throw new Error(`${selector} is not shown`);
  return box;
};
const isWithin = (one: Box, other: Box) =>
  one.x >= other.x - 1 &&
  one.y >= other.y - 1 &&
  one.x + one.width <= other.x + other.width + 1 &&
  one.y + one.height <= other.y + other.height + 1;

describe.skipIf(!hasBrowser)('S-8: the panes of a session', () => {
  let browser: Browser;
  let html = '';
  beforeAll(async () => {
    browser = await launch();
    html = await file();
  });
  afterAll(() => browser.close());

  it.each([
    [1280, 800],
    [2560, 1440],
    [390, 844],
  ])(
    'at %i x %i each chart is whole at first, larger by wheel, and its lit state stays in view',
    async (width, height) => {
      const { page, misdeeds } = await openFile(browser, html, { viewport: { width, height } });
      if (width < 900) await page.getByRole('button', { name: 'time, machines' }).click();
      await page.locator('.middle').getByRole('button', { name: 'machines' }).click();
      for (const chart of ['session', 'turn', 'attempt', 'tool call']) {
        await page.locator('.thumb', { hasText: chart }).first().click();
        await page.locator(`.chart[aria-label^="${chart.replace(' ', '-')}:"]`).waitFor();
        expect(isWithin(await boxOf(page, '.chart svg'), await boxOf(page, '.chart'))).toBe(true);
        await page.locator('.thumb', { hasText: chart }).first().click();
      }
      await page.locator('.chart[aria-label^="session:"] svg').waitFor();
      const before = await boxOf(page, '.chart svg');
      const pane = await boxOf(page, '.chart');
      await page.mouse.move(pane.x + pane.width / 2, pane.y + pane.height / 2);
      await page.mouse.wheel(0, -600);
      await expect
        .poll(async () => (await boxOf(page, '.chart svg')).width / before.width)
        .toBeCloseTo(Math.exp(1.5), 1);
      await press(page, 'Home');
      for (let step = 0; step < 12; step += 1) {
        await press(page, 'ArrowRight');
        const lit = await boxOf(page, '.chart .node:is(.lit, .past)');
        expect(isWithin({ x: lit.x + lit.width / 2, y: lit.y + lit.height / 2, width: 0, height: 0 }, pane)).toBe(true);
      }
      await page.getByRole('button', { name: 'Whole' }).click();
      await expect.poll(async () => (await boxOf(page, '.chart svg')).width).toBeCloseTo(before.width, 0);
      expect(misdeeds).toEqual([]);
    },
  );

  it('are wider and narrower by dragging and by keys, which then move no step; the middle can be closed', async () => {
    const { page, misdeeds } = await openFile(browser, html, { bypassCSP: true });
    const widthOf = async (name: string) => Math.round((await boxOf(page, name)).width);
    const before = await widthOf('.happened');
    const when = await page.locator('.when').innerText();
    const line = page.getByRole('separator', { name: 'Width of the events' });
    await line.focus();
    await press(page, 'ArrowRight');
    expect((await widthOf('.happened')) - before).toBe(24);
    const { x, y } = await boxOf(page, '.splitter');
    await page.mouse.move(x + 3, y + 100);
    await page.mouse.down();
    await page.mouse.move(x - 57, y + 100);
    await page.mouse.up();
    await expect.poll(() => widthOf('.happened')).toBeLessThan(before);
    expect(await page.locator('.when').innerText()).toBe(when);
    const details = await widthOf('.details');
    await page.getByRole('separator', { name: 'Width of the details' }).focus();
    await press(page, 'ArrowLeft');
    expect((await widthOf('.details')) - details).toBe(24);
    expect(await complaints(page)).toEqual([]);
    // Neither pushes another pane out of the window, nor does a smaller window.
    const drag = async (at: number, to: number) => {
      const place = await page.locator('.splitter').nth(at).boundingBox();
      await page.mouse.move((place?.x ?? 0) + 3, 300);
      await page.mouse.down();
      await page.mouse.move(to, 300, { steps: 4 });
      await page.mouse.up();
    };
    const isInside = async (width: number) => {
      const panes = await Promise.all(['.happened', '.middle', '.details'].map((name) => boxOf(page, name)));
      return panes.every((pane) => pane.width >= 190 && pane.x >= 0 && pane.x + pane.width <= width);
    };
    await drag(0, 1_270);
    await drag(1, 10);
    expect(await isInside(1_280)).toBe(true);
    await line.focus();
    const value = async (name: string) => Number(await line.getAttribute(name));
    expect(await value('aria-valuenow')).toBe(await widthOf('.happened'));
    expect(await value('aria-valuemax')).toBeGreaterThanOrEqual(await value('aria-valuenow'));
    await page.setViewportSize({ width: 960, height: 800 });
    expect(await isInside(960)).toBe(true);
    await page.setViewportSize({ width: 1_280, height: 800 });
    const narrow = await widthOf('.details');
    await page.getByRole('button', { name: 'Close the middle' }).click();
    await expect.poll(() => widthOf('.details')).toBeGreaterThan(narrow + 150);
    await page.waitForURL(/shows=closed/);
    expect(await complaints(page)).toEqual([]);
    await page.getByRole('button', { name: 'time' }).click();
    await page.locator('.waterfall').waitFor();
    expect(misdeeds).toEqual([]);
  });

  it('a part of the time is shown alone: brushed on the axis, or that of the chosen line by a key', async () => {
    const { page, misdeeds } = await openFile(browser, html);
    const bar = () => boxOf(page, '.barrow .time-model');
    const before = await bar();
    const axis = await boxOf(page, '.axis');
    await page.mouse.move(axis.x + 1, axis.y + 5);
    await page.mouse.down();
    await page.mouse.move(axis.x + axis.width / 4, axis.y + 5);
    await page.mouse.up();
    await page.locator('.axis').getByRole('button', { name: 'all' }).waitFor();
    expect((await bar()).width / before.width).toBeCloseTo(4, 0);
    await page.locator('.axis').getByRole('button', { name: 'all' }).click();
    await expect.poll(async () => (await bar()).width).toBeCloseTo(before.width, 0);
    await page.locator('.row', { hasText: 'attempt 2' }).first().click();
    await press(page, 'z');
    const current = await boxOf(page, '.barrow.current .extent');
    const lane = await boxOf(page, '.barrow.current .lane');
    expect(current.width / lane.width).toBeCloseTo(1, 1);
    await press(page, 'z');
    expect(await page.locator('.axis').getByRole('button', { name: 'all' }).count()).toBe(0);
    expect(misdeeds).toEqual([]);
  });
});
