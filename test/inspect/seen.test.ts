import { tool } from 'ai';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, runSession } from '../../src/index.ts';
import { inspector } from '../../src/inspect/index.ts';
import { sessionFile } from '../../src/inspect/tape/session-file.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { hasBrowser, launch, openFile, press, watchedPage } from '../support/pages.ts';
import { report } from '../support/session.ts';

const usage = { input: 1_000, output: 100 };
const priced = { pricing: { 'rehearsal:script': { input: 1, output: 10 } } };
const work = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => `found ${q}` });
const paid = (replies: readonly RehearsedReply[]) => rehearsalModel(replies.map((reply) => ({ usage, ...reply })));

async function fileOf(definition: Partial<AgentDefinition> & Pick<AgentDefinition, 'name' | 'models'>, prompt: string) {
  const journal = new MemoryJournal();
  await runSession(defineAgent({ ...priced, tools: { work }, ...definition }), {
    ...{ prompt, journal, sessionId: 's', logger: false },
  });
  return sessionFile(await journal.read('s'));
}

/** Three sessions, and the first questions of an engineer on call about each. */
const sessions: Record<string, { file: () => Promise<string>; answers: (string | RegExp)[] }> = {
  'one that failed': {
    file: () => {
      const calls = [{ name: 'work', input: { q: 'one' } }];
      const cut = { text: 'half of', finishReason: 'length' as const };
      const models = [paid([{ calls }, {}, { calls: [{ name: 'nope' }] }, cut])];
      return fileOf({ name: 'clerk', models, limits: { maxRetries: 3 } }, 'Find the letter of May 3.');
    },
    answers: [
      'Failed in turn 2: 3 of 3 attempts failed; the last: text_only, response_truncated.',
      /4 requests · .* · \$0\.0080 · /,
      'Find the letter of May 3.',
      'No report was accepted.',
      /in all/,
    ],
  },
  'one with sub-agents': {
    file: () => {
      const models = [paid([report('Helped.'), report('Helped, too.')])];
      const helper = defineAgent({ name: 'helper', models, ...priced });
      const calls = [1, 2].map((number) => ({ name: 'helper', input: { prompt: `Do ${number}.`, reason: 'r' } }));
      const own = [paid([{ calls }, report('All is done.')])];
      return fileOf({ name: 'asker', models: own, agents: { helper } }, 'Ask two helpers.');
    },
    answers: ['Succeeded after 2 turns.', /4 requests · .* · \$0\.0080/, 'All is done.', /asker\s+2/, /helper\s+2/],
  },
  'one of odd texts': {
    file: () => {
      const models = [
        paid([{ text: '<b>x</b>', calls: [{ name: 'work', input: { q: '<i>' } }] }, report('A <b>report</b>.')]),
      ];
      return fileOf({ name: 'odd', models }, `Look at <script>alert(1)</script> ${'long '.repeat(400)}`);
    },
    answers: ['Succeeded after 2 turns.', 'A <b>report</b>.', '<script>alert(1)</script>'],
  },
};
const sizes = [
  [390, 844],
  [1_280, 800],
  [1_680, 1_050],
  [2_560, 1_440],
] as const;

describe.runIf(hasBrowser)('S-8: a session is seen at once', () => {
  let browser: Browser;
  const files = new Map<string, string>();
  beforeAll(async () => {
    browser = await launch();
    for (const [name, { file }] of Object.entries(sessions)) files.set(name, await file());
  });
  afterAll(() => browser?.close());
  const opened = (name: string, [width, height]: readonly [number, number] = [1_680, 1_050]) =>
    openFile(browser, files.get(name) ?? '', { viewport: { width, height } });
  const pane = (page: Page) => page.locator('#pane').innerText();

  describe.each(sizes)('at %i x %i', (width, height) => {
    it.each(Object.keys(sessions))(
      '%s: how it ended, what was asked and said, what it cost, where the time went',
      async (name) => {
        const { page, misdeeds } = await opened(name, [width, height]);
        const text = await pane(page);
        for (const answer of sessions[name]?.answers ?? [])
          expect(text).toMatch(typeof answer === 'string' ? escaped(answer) : answer);
        const footer = await page.locator('.scrub').boundingBox();
        expect((footer?.y ?? 0) + (footer?.height ?? 0)).toBeCloseTo(height, 0);
        expect(footer?.height).toBeLessThan(width < 900 ? 110 : 60);
        expect(await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)).toBe(width);
        expect(misdeeds).toEqual([]);
      },
    );
  });

  it('a line that is chosen is shown as a whole, wherever the step stands', async () => {
    const { page } = await opened('one that failed');
    const when = await page.locator('.when').innerText();
    await page.locator('.row.attempt').nth(1).click();
    await page.getByText('Turn 2, attempt 1 failed: empty_response.').waitFor();
    expect(await pane(page)).not.toMatch(/No reply has arrived yet|The reply has no tool calls/);
    await page.locator('.row.call').first().click();
    await page.getByText('found one').first().waitFor();
    expect(await pane(page)).toMatch(/work[\s\S]*"q": ?"one"[\s\S]*found one/);
    expect(await page.locator('.when').innerText()).toBe(when);
    // A single step can be shown as well, and the header still says how the session ended.
    await press(page, 'Home');
    expect(await page.locator('header').innerText()).toMatch(/failed: retries_exhausted[\s\S]*replay: step 1 of/);
  });

  it('by keys alone: along the list, into a sub-agent and out again', async () => {
    const { page, misdeeds } = await opened('one with sub-agents');
    await page.locator('.list').focus();
    for (let up = 0; up < 30; up += 1) await press(page, 'ArrowUp');
    const before = await page.locator('.row').count();
    for (let down = 0; down < 4; down += 1) await press(page, 'ArrowDown');
    expect(await page.locator('.row.current').innerText()).toContain('sub-agent');
    await press(page, 'Enter');
    expect(await page.locator('.row').count()).toBeGreaterThan(before);
    await press(page, 'ArrowDown');
    expect(await page.locator('.row.current').innerText()).toContain('turn 1');
    await press(page, 'ArrowUp');
    await press(page, 'Enter');
    expect(await page.locator('.row').count()).toBe(before);
    expect(misdeeds).toEqual([]);
  });

  it('each line has its bar in the same row, and the header counts the whole tree', async () => {
    const { page } = await opened('one with sub-agents');
    const tops = (selector: string) =>
      page.locator(selector).evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
    expect(await tops('.barrow')).toEqual(await tops('.row'));
    expect(await page.locator('.barrow .time-model').count()).toBeGreaterThan(1);
    expect(await page.locator('.numbers').innerText()).toContain('$0.0080');
    expect(await page.locator('.gauge').innerText()).toContain('4 in the tree');
  });

  it('each duration comes with tokens and money, of a line and what is below it', async () => {
    const { page } = await opened('one with sub-agents');
    const numbers = await page.locator('.barrow small').allInnerTexts();
    expect(numbers[0]).toMatch(/ · 4400 tokens · \$0\.0080$/);
    // The first turn asked two sub-agents.
    expect(numbers[1]).toMatch(/ · 3300 tokens · \$0\.0060$/);
    expect(numbers.filter((one) => one.endsWith(' · 1100 tokens · $0.0020')).length).toBeGreaterThan(2);
  });

  it('a text is found within a session, and lines are narrowed', async () => {
    const { page, misdeeds } = await opened('one that failed');
    const lines = () => page.locator('.row .title').allInnerTexts();
    const all = await lines();
    await press(page, '/');
    await page.keyboard.type('found one');
    await page.getByText('1 found').waitFor();
    await expect.poll(lines).toEqual(['session', 'turn 1', 'attempt 1', 'work']);
    await press(page, 'Enter');
    expect(await page.locator('.row.current').innerText()).toContain('work');
    await press(page, 'Escape');
    await expect.poll(lines).toEqual(all);
    await page.getByLabel('Lines').selectOption('failed');
    await expect.poll(async () => (await lines()).filter((title) => title.startsWith('attempt'))).toHaveLength(3);
    expect(await lines()).not.toContain('turn 1');
    await page.getByLabel('Lines').selectOption('all');
    await press(page, '/');
    await page.keyboard.type('not there');
    await page.getByText('0 found').waitFor();
    await expect.poll(lines).toEqual(['session']);
    expect(misdeeds).toEqual([]);
  });

  it('the address leads to a line, a tab and a step; a reload stays, and back and forward go along', async () => {
    const { page, misdeeds } = await opened('one that failed');
    const current = () => page.locator('.row.current').innerText();
    const hash = () => page.evaluate<string>('location.hash');
    const selected = (tab: string) => () => page.getByRole('tab', { name: tab }).getAttribute('aria-selected');
    await page.locator('.row', { hasText: 'attempt 2' }).last().click();
    await expect.poll(hash).toMatch(/^#\?line=\d+&tab=attempt$/);
    const [there, line] = [await hash(), await current()];
    await page.getByRole('tab', { name: 'facts' }).click();
    await expect.poll(hash).toContain('tab=facts');
    await press(page, 'Home');
    await expect.poll(hash).toContain('step=1');
    await page.reload();
    await page.waitForSelector('main[aria-busy="false"]');
    await page.getByText(/replay: step 1 of/).waitFor();
    await expect.poll(selected('facts')).toBe('true');
    while ((await hash()) !== there) {
      await page.goBack();
      if ((await hash()) === '') throw new Error('the line is not in the history');
    }
    await expect.poll(current).toBe(line);
    await expect.poll(selected('attempt')).toBe('true');
    await page.goForward();
    await expect.poll(selected('facts')).toBe('true');
    expect(misdeeds).toEqual([]);
  });

  it('an address that says nothing new, or nothing known, keeps the way back', async () => {
    const { page, misdeeds } = await opened('one that failed');
    const hash = () => page.evaluate<string>('location.hash');
    await page.evaluate("location.hash = '?tab=nonsense'");
    await page.evaluate("location.hash = '?tab=overview'");
    await page.locator('.row', { hasText: 'attempt 2' }).last().click();
    await expect.poll(hash).toContain('line=');
    for (const before of ['#?tab=overview', '#?tab=nonsense', '']) {
      await page.goBack();
      await expect.poll(hash).toBe(before);
    }
    expect(misdeeds).toEqual([]);
  });

  it('a narrow page has a bar for each line in view', async () => {
    const steps = Array.from({ length: 12 }, (_, turn) => ({ calls: [{ name: 'work', input: { q: `${turn}` } }] }));
    const html = await fileOf({ name: 'long', models: [paid([...steps, report()])], limits: { maxTurns: 20 } }, 'Go.');
    const { page } = await openFile(browser, html, { viewport: { width: 390, height: 844 } });
    await page.getByRole('button', { name: 'machines' }).first().click();
    const lines = Number.parseInt((await page.locator('.listhead span').textContent()) ?? '', 10);
    expect(lines).toBeGreaterThan(20);
    await expect.poll(() => page.locator('.barrow').count()).toBeGreaterThan(20);
  });

  it('a slug that is cut has its whole name in a tip', async () => {
    const { page } = await opened('one that failed');
    const tips = await page.locator('.row').evaluateAll((all) => all.map((one) => one.getAttribute('title')));
    expect(tips.join('\n')).toContain('retries_exhausted · text_only · response_truncated');
  });
});

describe.runIf(hasBrowser)('S-8: the sessions of a journal are seen at once', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it('what each was about, took and cost; sorted by a head, narrowed by what there is of it', async () => {
    await using shown = await inspector({ port: 0 });
    const agent = (name: string, replies: RehearsedReply[]) =>
      defineAgent({ name, ...priced, models: [paid(replies)], tools: { work }, limits: { maxRetries: 2 } });
    const quiet = { journal: shown.journal, logger: false } as const;
    const calls = [{ name: 'work', input: { q: 'one' } }];
    await runSession(agent('clerk', [{ calls }, { calls }, report()]), {
      prompt: 'Find the red book.',
      sessionId: 'a',
      ...quiet,
    });
    await runSession(agent('clerk', [{}, { text: 'hm' }]), { prompt: 'Find the blue book.', sessionId: 'b', ...quiet });
    await runSession(agent('other', [report()]), { prompt: 'Find the old book.', sessionId: 'c', ...quiet });
    const address = shown.address ?? '';
    const { page, misdeeds } = await watchedPage(browser, new URL(address).origin);
    await page.goto(address);
    await page.getByText('Find the red book.').waitFor();
    const rows = () => page.locator('.entry').allInnerTexts();
    expect((await rows()).map((text) => /the (\w+) book/.exec(text)?.[1])).toEqual(['old', 'blue', 'red']);
    const red = (await rows()).find((text) => text.includes('red')) ?? '';
    for (const told of ['clerk', '3', '3300', '$0.0060', 'just now']) expect(red).toContain(told);
    expect((await rows()).find((text) => text.includes('blue'))).toMatch(/retries_exhausted\s+text_only/);
    await page.getByRole('button', { name: 'cost' }).click();
    await expect.poll(async () => (await rows())[0]).toContain('red');
    await page.getByRole('button', { name: 'cost' }).click();
    await expect.poll(async () => (await rows())[0]).toContain('old');
    await page.getByLabel('slug').selectOption({ label: 'text_only (1)' });
    await expect.poll(rows).toHaveLength(1);
    expect(await page.getByLabel('agent').locator('option').allInnerTexts()).toEqual(['any', 'clerk (1)']);
    expect(await page.getByRole('img', { name: '1 failed in the last 24 hours' }).count()).toBe(1);
    expect(await page.title()).toBe('Pawl');
    // What is chosen stays chosen, and says that nothing is left of it.
    await page.getByLabel('status').selectOption('failed');
    await page.getByLabel('Search the sessions').fill('old');
    await expect.poll(() => page.getByLabel('status').locator('option:checked').innerText()).toBe('failed (0)');
    await page.getByLabel('Search the sessions').fill('');
    for (const name of ['slug', 'status']) await page.getByLabel(name).selectOption('');
    // What was called and asked, and which rules decided, is known once a session was read.
    await page.getByLabel('tool').selectOption('work');
    await expect.poll(rows).toHaveLength(1);
    expect(await page.getByLabel('target').locator('option').allInnerTexts()).toEqual(['any', 'rehearsal:script (1)']);
    await page.getByLabel('rule').selectOption('F-1');
    await expect.poll(() => page.getByLabel('tool').locator('option:checked').innerText()).toBe('work (1)');
    for (const name of ['tool', 'rule']) await page.getByLabel(name).selectOption('');
    // The sessions of a run are below it, unless one looks for some of all.
    const metadata = { run: 'nightly', role: 'run' };
    await runSession(agent('workflow', [report()]), { prompt: 'The run.', sessionId: 'd', ...quiet, metadata });
    const ofRun = { ...metadata, role: 'process' };
    await runSession(agent('clerk', [{}, {}]), { prompt: 'An item.', sessionId: 'e', ...quiet, metadata: ofRun });
    await expect.poll(rows).toHaveLength(4);
    await page.getByLabel('status').selectOption('failed');
    await expect.poll(async () => (await rows()).some((text) => text.includes('An item.'))).toBe(true);
    await page.getByLabel('status').selectOption('');
    await expect.poll(rows).toHaveLength(4);
    await page.getByLabel('Search the sessions').fill('blue');
    await expect.poll(rows).toHaveLength(1);
    expect(misdeeds).toEqual([]);
  });
});

function escaped(text: string): RegExp {
  return new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
}
