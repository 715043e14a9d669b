import { tool } from 'ai';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type Journal, sqliteJournal, startSession } from '../../src/index.ts';
import { inspector } from '../../src/inspect/index.ts';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';
import { freshFile, until } from '../support/journaled.ts';
import { complaints, hasBrowser, launch, openFile, press, watchedPage } from '../support/pages.ts';
import { report } from '../support/session.ts';

const guarded = tool({
  inputSchema: z.object({ to: z.string() }),
  needsApproval: true,
  execute: ({ to }) => `sent to ${to}`,
});

const asking = (name: string, replies: RehearsedReply[] = []) =>
  defineAgent({
    name,
    models: [rehearsalModel([...replies, { calls: [{ name: 'send', input: { to: 'Ada' } }] }, report()])],
    tools: { send: guarded },
  });

const plain = (name: string, replies: RehearsedReply[] = []) =>
  defineAgent({ name, models: [rehearsalModel([...replies, report()])] });

const start = (agent: ReturnType<typeof plain>, journal: Journal, sessionId: string) =>
  startSession(agent, { prompt: 'Go.', journal, sessionId, logger: false });

describe.runIf(hasBrowser)('S-8: the live page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it('a waiting session is approved in the page and continues without a reload', async () => {
    await using shown = await inspector({ port: 0 });
    const address = shown.address ?? '';
    const { page, misdeeds } = await watchedPage(browser, new URL(address).origin);
    await page.goto(address);
    await page.getByText('No session yet').waitFor();
    const session = start(asking('asking'), shown.journal, 's');
    await page.getByText('1 waiting for a person', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'asking' }).click();
    expect(await page.locator('.waiting article').innerText()).toContain('"to": "Ada"');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    const result = await session.result;
    expect([result.status, result.counters.toolCalls.executed]).toEqual(['succeeded', 1]);
    await page.locator('.status.done').waitFor();
    expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    expect(await page.locator('.gaugetext').innerText()).toBe('requests 2 of 50');
    await page.getByRole('link', { name: 'All sessions' }).click();
    const field = page.getByLabel('Search the sessions');
    await field.fill('tool:send status:succeeded "sent to ada"');
    await page.getByText('[sent to Ada]').waitFor();
    await field.fill('rule:B-4');
    await page.getByText('0 of 1 · ').waitFor();
    await field.fill('colour:red');
    await page.getByText('`search` must be agent:').waitFor();
    await field.fill('');
    await page.getByText('1 of 1 · 0 running · 0 waiting for a person').waitFor();
    expect(misdeeds).toEqual([]);
  });

  it('two waiting sub-agents have separate buttons, and a repeated decision counts once', async () => {
    const helper = (name: string) => asking(name);
    const input = { prompt: 'Send it.', reason: 'It can.' };
    const agent = defineAgent({
      name: 'parent',
      models: [
        rehearsalModel([
          {
            calls: [
              { name: 'left', input },
              { name: 'right', input },
            ],
          },
          report(),
        ]),
      ],
      agents: { left: helper('left'), right: helper('right') },
    });
    await using shown = await inspector({ port: 0 });
    const session = start(agent, shown.journal, 's');
    const address = shown.address ?? '';
    const { page, misdeeds } = await watchedPage(browser, new URL(address).origin);
    await page.goto(address);
    await page.getByRole('link', { name: 'parent' }).click();
    await page.getByRole('button', { name: 'Deny', exact: true }).nth(1).waitFor();
    await page.getByRole('button', { name: 'Deny', exact: true }).nth(1).dblclick();
    await page.getByText('Denied', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Approve', exact: true }).first().click();
    const { status, counters } = await session.result;
    expect([status, counters.subAgents.left?.toolCalls.executed, counters.subAgents.right?.toolCalls.executed]).toEqual(
      ['succeeded', 1, 0],
    );
    expect(counters.subAgents.right?.toolCalls.rejected).toEqual({ tool_denied: 1 });
    await page.locator('.status.done').waitFor();
    expect(await page.locator('.gauge').innerText()).toContain(`${counters.tree.requests} in the tree`);
    expect(misdeeds).toEqual([]);
  });

  it('a client-side tool is answered in the page, with JSON or a text', async () => {
    const agent = defineAgent({
      name: 'handing',
      models: [
        rehearsalModel([
          { calls: [{ name: 'locate', input: {} }] },
          { calls: [{ name: 'locate', input: {} }] },
          report(),
        ]),
      ],
      tools: { locate: tool({ inputSchema: z.object({}) }) },
    });
    await using shown = await inspector({ port: 0 });
    const session = start(agent, shown.journal, 's');
    const { page, misdeeds } = await watchedPage(browser, new URL(shown.address ?? '').origin);
    await page.goto(shown.address ?? '');
    await page.getByRole('link', { name: 'handing' }).click();
    await page.getByText('waits for an answer').first().waitFor();
    await press(page, '9');
    await page.getByLabel('Watch an expression').fill('counters.requests');
    await page.getByRole('button', { name: 'Watch', exact: true }).click();
    await page.getByText('counters.requests = 1').waitFor();
    await page.getByLabel('Answer locate').fill('{"city": "Oslo"}');
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    // A watched number follows the session.
    await page.getByText('counters.requests = 2').waitFor();
    await page.getByLabel('Answer locate').fill('at home');
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    const { status, turns } = await session.result;
    const outputs = turns.flatMap(({ attempts }) => attempts.flatMap(({ calls }) => calls.map(({ output }) => output)));
    expect(status).toBe('succeeded');
    expect(outputs.slice(0, 2)).toEqual([
      { type: 'text', value: '{"city":"Oslo"}' },
      { type: 'text', value: 'at home' },
    ]);
    expect(misdeeds).toEqual([]);
  });

  it('a suspended session is not shown as running, live or in a file', async () => {
    await using shown = await inspector({ port: 0 });
    const session = start(asking('paused'), shown.journal, 's');
    await until(() => session.counters.toolCalls.requested === 1);
    await session.suspend();
    const { page } = await watchedPage(browser, new URL(shown.address ?? '').origin);
    await page.goto(shown.address ?? '');
    await page.getByRole('link', { name: 'paused' }).click();
    await page.locator('.status', { hasText: 'suspended' }).waitFor();
    const file = await openFile(browser, await shown.file('s'));
    expect(await file.page.locator('.status').innerText()).toContain('not ended');
    await press(file.page, 'Home');
    expect(await file.page.locator('.status').innerText()).toContain('not ended');
  });

  it('steers, stops and aborts; and shows a journal that another process writes', async () => {
    const file = freshFile();
    const own = sqliteJournal(file);
    const others = sqliteJournal(file);
    await using shown = await inspector({ port: 0, journal: own });
    const address = shown.address ?? '';
    const { page, misdeeds } = await watchedPage(browser, new URL(address).origin);
    const session = start(asking('elsewhere'), others, 'other');
    await page.goto(address);
    await page.getByRole('link', { name: 'elsewhere' }).click();
    await page.getByRole('button', { name: 'Deny', exact: true }).waitFor();
    await page.getByLabel('Steer the session').fill('Be kind.');
    await page.getByRole('button', { name: 'Steer' }).click();
    await page.locator('.row', { hasText: 'steered' }).waitFor();
    await page.getByRole('button', { name: 'Abort' }).click();
    // It asks once, and letting it run is at hand.
    await press(page, 'Enter');
    await page.getByRole('button', { name: 'Abort' }).click();
    await page.getByRole('button', { name: 'End it' }).click();
    const result = await session.result;
    expect([result.status, result.slugs]).toEqual(['aborted', ['aborted']]);
    await page.locator('.status.failed').waitFor();
    await press(page, '9');
    expect(await page.locator('#pane').innerText()).toContain('requests');
    expect(misdeeds).toEqual([]);
    await own.close();
    await others.close();
  });

  it('a what-if is compared with the recording and forked into a session that continues', async () => {
    const agent = defineAgent({
      name: 'forked',
      models: [
        rehearsalModel(({ prompt }) =>
          JSON.stringify(prompt).includes('what if it failed')
            ? report('It failed.')
            : JSON.stringify(prompt).includes('sent to')
              ? report('Sent.')
              : { calls: [{ name: 'send', input: { to: 'Ada' } }] },
        ),
      ],
      tools: { send: tool({ inputSchema: z.object({ to: z.string() }), execute: ({ to }) => `sent to ${to}` }) },
    });
    await using shown = await inspector({ port: 0, agents: [agent] });
    await start(agent, shown.journal, 's').result;
    const before = await shown.journal.read('s');
    const address = shown.address ?? '';
    const { page, misdeeds } = await watchedPage(browser, new URL(address).origin);
    await page.goto(address);
    await page.getByRole('link', { name: 'forked' }).click();
    await page.locator('.status.done').waitFor();
    await press(page, '0');
    await page.locator('.row.call', { hasText: 'send' }).click();
    for (let step = 0; step < 2; step += 1) await press(page, 'ArrowRight');
    await press(page, '0');
    await page.getByText('Replace turn-1/attempt-1/tool-0 with').waitFor();
    await page.getByRole('button', { name: 'the tool fails' }).click();
    await page.getByText('What if: turn-1/attempt-1/tool-0: the tool fails').waitFor();
    await page.locator('main[aria-busy="false"]').waitFor();
    expect(await page.locator('.list').innerText()).toContain('tool_exec_failed');
    await page.getByRole('button', { name: 'Compare' }).click();
    expect(await page.locator('.compared p').first().innerText()).toMatch(
      /^The first \d+ facts are the same \(of \d+ and \d+\)\. First difference, in turn-1\/attempt-1: tool\.answered has different contents\.$/,
    );
    await page.getByRole('button', { name: 'Continue from here' }).click();
    await page.locator('.departure').waitFor({ state: 'detached' });
    await page.locator('.status.done').waitFor();
    const [fork] = (await shown.journal.list({})).filter(({ sessionId }) => sessionId !== 's');
    expect(fork).toMatchObject({ status: 'succeeded' });
    const entries = await shown.journal.read(fork?.sessionId ?? '');
    expect(entries[0]).toMatchObject({ head: { fork: { of: 's' } } });
    expect(JSON.stringify(entries)).toContain('It failed.');
    expect(await shown.journal.read('s')).toEqual(before);
    await page.getByRole('link', { name: 'All sessions' }).click();
    await page.getByRole('checkbox').nth(1).waitFor();
    for (const box of await page.getByRole('checkbox').all()) await box.check();
    await page.getByRole('link', { name: 'Compare the two' }).click();
    await page.locator('main.comparison[aria-busy="false"]').waitFor();
    await page.getByText('First difference, in turn-1/attempt-1').waitFor();
    expect(misdeeds).toEqual([]);
  });

  it.each(['light', 'dark'] as const)(
    'axe finds nothing on the list, a live session and a comparison, %s',
    async (colorScheme) => {
      await using shown = await inspector({ port: 0 });
      await start(plain('one', [{}]), shown.journal, 'a').result;
      await start(plain('two'), shown.journal, 'b').result;
      const waiting = start(asking('waiting'), shown.journal, 'c');
      const address = shown.address ?? '';
      // The content security policy would block axe.
      const { page } = await watchedPage(browser, new URL(address).origin, { colorScheme, bypassCSP: true });
      await page.goto(address);
      await page.getByText('1 waiting for a person', { exact: true }).waitFor();
      expect(await complaints(page)).toEqual([]);
      await page.getByRole('link', { name: 'waiting' }).click();
      await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
      expect(await complaints(page)).toEqual([]);
      await page.getByRole('link', { name: 'All sessions' }).click();
      for (const id of ['a', 'b']) await page.getByLabel(new RegExp(` ${id} to compare`)).check();
      await page.getByRole('link', { name: 'Compare the two' }).click();
      await page.locator('main.comparison[aria-busy="false"]').waitFor();
      expect(await complaints(page)).toEqual([]);
      waiting.abort();
      await waiting.result;
    },
  );

  it('a page that is opened late has everything from the first state', async () => {
    await using shown = await inspector({ port: 0 });
    await start(plain('early', [{}, {}]), shown.journal, 's').result;
    const address = shown.address ?? '';
    const { page, misdeeds } = await watchedPage(browser, new URL(address).origin);
    await page.goto(address);
    await page.getByRole('link', { name: 'early' }).click();
    await page.locator('.status.done').waitFor();
    expect(await page.locator('.list').innerText()).toContain('empty_response');
    await page.getByRole('button', { name: 'machines' }).click();
    await press(page, 'Home');
    expect(await page.locator('.when').innerText()).toContain('step 1 of');
    expect(await page.locator('.thumb.moved').innerText()).toContain('preparing');
    expect(misdeeds).toEqual([]);
  });
});
