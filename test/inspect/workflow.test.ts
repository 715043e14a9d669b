import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  approveSession,
  defineAgent,
  type Journal,
  replaySession,
  resumeSession,
  steerSession,
} from '../../src/index.ts';
import { inspector } from '../../src/inspect/index.ts';
import { SessionIndex } from '../../src/inspect/live/search.ts';
import { RunMicrostepReplay } from '../../src/inspect/recorded/run-microstep-replay.ts';
import { RunRows } from '../../src/inspect/recorded/run-rows.ts';
import { Redactor } from '../../src/inspect/tape/redacted.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { runWorkflow, type WorkFunction } from '../../src/workflow/index.ts';
import { done, runOver, TestBacklog } from '../support/backlog.ts';
import { complaints, hasBrowser, launch, openFile, watchedPage } from '../support/pages.ts';
import { keptLog, report } from '../support/session.ts';

it('S-7 S-8: the sessions of a run can be watched, and say which run, role and item they are of', async () => {
  const backlog = new TestBacklog();
  backlog.bug(1);
  backlog.bug(2);
  await using shown = await inspector();
  const agent = defineAgent({ name: 'worker', models: [rehearsalModel(() => done())] });
  const { status, run } = await runWorkflow({
    backlog: backlog.folder,
    agents: { process: agent },
    journal: shown.journal,
    logger: false,
  });
  expect(status).toBe('completed');
  const rows = await shown.journal.list({ metadata: { run, role: 'processing' } });
  expect(rows.map(({ metadata, status: ended }) => [metadata.item, ended]).sort()).toEqual([
    ['BUG-001', 'succeeded'],
    ['BUG-002', 'succeeded'],
  ]);
  expect(await shown.file(rows[0]?.sessionId ?? '')).toContain('id="tape"');
  const wrong = { backlog: backlog.folder, agents: { process: agent }, journal: 'pawl.db' };
  await expect(runWorkflow(wrong as never)).rejects.toThrow('`journal` must be a journal');
});

/** One item succeeds, one fails, and one waits for a person. */
const mixed: WorkFunction = ({ item }) =>
  item.id === 'BUG-001'
    ? { status: 'succeeded' }
    : item.id === 'BUG-002'
      ? { status: 'failed', message: 'the build <b>broke</b>', slugs: ['tool_exec_failed'] }
      : { status: 'blocked', needs: 'a licence' };

describe('S-8: the journal of a run', () => {
  const recorded = async (process: WorkFunction = mixed, concurrency = 1) => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3]) backlog.bug(number);
    const journal = new MemoryJournal();
    const { result } = await runOver(backlog, { process }, { journal, limits: { concurrency } });
    const [row] = await journal.list({ metadata: { role: 'run' } });
    const runId = row?.sessionId ?? '';
    return { journal, runId, result, entries: JSON.parse(JSON.stringify(await journal.read(runId))) };
  };

  it('shows several items at once, each with what was done on it', async () => {
    const { entries } = await recorded(mixed, 3);
    const { told, microsteps } = new RunMicrostepReplay().play(entries);
    const rows = new RunRows();
    for (const [index, one] of told.entries()) rows.takeObservation(one, index + 1);
    const items = rows.byId.filter(({ kind }) => kind === 'item');
    expect(
      items.map(({ title, state, children }) => [title, state, children.map((row) => [row.title, row.state])]),
    ).toEqual([
      [
        'BUG-001',
        'done',
        [
          ['works on it', 'done'],
          ['archives it', 'done'],
        ],
      ],
      ['BUG-002', 'failed', [['works on it', 'failed']]],
      [
        'BUG-003',
        'waiting',
        [
          ['works on it', 'done'],
          ['sets it aside', 'done'],
        ],
      ],
    ]);
    const actors = new Set(microsteps.filter(({ machine }) => machine === 'item').map(({ actor }) => actor));
    expect([...actors]).toEqual(['item.1', 'item.2', 'item.3']);
  });

  it('is told at its first wrong fact when it was changed', async () => {
    const { entries } = await recorded();
    const index = entries.findIndex(
      (entry: { delivery?: { key: string } }) => entry.delivery?.key === 'item-2/processing/try-1',
    );
    entries[index].delivery.outcome.verdict = 'succeeded';
    const { difference, told } = new RunMicrostepReplay().play(entries);
    expect(difference).toMatchObject({ entry: index + 2, scope: '' });
    expect(difference?.recorded).toContain('item.failed');
    expect(difference?.replayed).not.toContain('item.failed');
    expect(told.at(-1)?.entry).toBe(index + 2);
  });

  it('is shown without secrets, and decides the same', async () => {
    const { entries } = await recorded(() => ({ status: 'failed', message: 'the key is correct-horse-battery' }));
    const clean = new Redactor(() => ['correct-horse-battery']).takeEntries(entries);
    expect(JSON.stringify(entries)).toContain('correct-horse-battery');
    expect(JSON.stringify(clean)).not.toContain('correct-horse-battery');
    const types = (of: typeof entries) =>
      new RunMicrostepReplay().play(of).told.map((one) => 'runFact' in one && one.runFact.type);
    expect(types(clean)).toEqual(types(entries));
  });

  it('is no session: it is neither resumed nor replayed as one', async () => {
    const { journal, runId } = await recorded();
    const agent = defineAgent({ name: 'workflow', models: [rehearsalModel(() => report())] });
    for (const refused of [resumeSession(agent, { journal, sessionId: runId }), replaySession(journal, runId)])
      await expect(refused).rejects.toMatchObject({
        code: 'session_unknown',
        message: expect.stringContaining('runWorkflow'),
      });
    expect(await approveSession(journal, runId, 'call', { approved: true })).toBe(false);
  });

  it('is found by what was said, and by the rules that left a fact', async () => {
    const { journal, runId } = await recorded((task) => ({ ...mixed(task), status: 'failed' }) as never);
    const index = new SessionIndex(journal, () => []);
    await index.follow();
    for (const query of ['rule:W-2', 'broke', 'agent:workflow status:failed'])
      expect(index.search(query).hits.map(({ sessionId }) => sessionId)).toEqual([runId]);
    expect(index.search('rule:B-4').total).toBe(0);
    index.close();
  });

  it('may fail: the run continues and logs the failure', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const journal: Journal = new MemoryJournal();
    journal.create = () => Promise.reject(new Error('the disk is full'));
    const { lines, logger } = keptLog();
    const { status, problems } = await runWorkflow({
      backlog: backlog.folder,
      agents: { process: () => ({ status: 'succeeded' }) },
      journal,
      logger,
    });
    expect([status, problems, backlog.list('completed')]).toEqual(['completed', [], ['BUG-001-bug-1']]);
    expect(lines.filter(({ event }) => event === 'observer.failed')).toMatchObject([
      { event: 'observer.failed', name: 'journal', message: expect.stringContaining('the disk is full') },
    ]);
  });
});

describe.runIf(hasBrowser)('S-8: the page of a run', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it('shows the machine, the items with their sessions, and the incidents, and aborts the run', async () => {
    const backlog = new TestBacklog();
    for (const number of [1, 2, 3, 4]) backlog.bug(number);
    await using shown = await inspector({ port: 0 });
    let replies = 0;
    const answers = [done(), done('failed', 'the build <b>broke</b>'), done('blocked', 'a licence')];
    const model = rehearsalModel(() => answers[replies++] ?? { hangs: true });
    const agent = defineAgent({ name: 'worker', models: [model] });
    const { lines, logger } = keptLog();
    const run = runWorkflow({ backlog: backlog.folder, agents: { process: agent }, journal: shown.journal, logger });
    const { page, misdeeds } = await watchedPage(browser, new URL(shown.address ?? '').origin);
    await page.goto(shown.address ?? '');
    await page.getByRole('link', { name: 'workflow' }).click();
    await page.getByText('4 items: 1 succeeded, 1 failed, 1 set aside, 1 in progress').waitFor();
    await page.getByRole('tab', { name: 'items' }).click();
    const items = page.getByRole('tabpanel');
    await items.getByText('the build <b>broke</b>').waitFor();
    await items.getByText('waits for a person: a licence').waitFor();
    await items.getByRole('link', { name: 'processing: worker' }).nth(3).waitFor();
    await page.getByRole('button', { name: 'machines' }).click();
    await page.locator('#state-item\\.working.lit').waitFor();
    if (process.env.PAWL_SCREENSHOT !== undefined) await page.screenshot({ path: process.env.PAWL_SCREENSHOT });
    await items.getByRole('link', { name: 'processing: worker' }).first().click();
    await page.locator('.gaugetext', { hasText: 'requests 1 of' }).waitFor();
    await page.goBack();
    const [row] = await shown.journal.list({ metadata: { role: 'run' } });
    await steerSession(shown.journal, row?.sessionId ?? '', 'Hurry.');
    await page.getByRole('button', { name: 'Abort' }).click();
    await page.getByRole('button', { name: 'End it' }).click();
    expect(await run).toMatchObject({ status: 'exitedEarly', abortReason: expect.any(String), succeeded: ['BUG-001'] });
    await page.locator('.status.failed').waitFor();
    expect(lines.map(({ message }) => message)).toContain('A run can only be aborted, so session.steer had no effect.');
    await page.getByRole('button', { name: 'Abort' }).waitFor({ state: 'detached' });
    // Back to the beginning, item by item.
    await page.keyboard.press('Home');
    for (const number of [1, 2, 3]) {
      await page.keyboard.press('Shift+ArrowRight');
      await page.getByText(`${number} ${number === 1 ? 'item' : 'items'}: `).waitFor();
    }
    expect(misdeeds).toEqual([]);
    const file = await openFile(browser, await shown.file(row?.sessionId ?? ''));
    await file.page.getByText('4 items: ').waitFor();
    expect(file.misdeeds).toEqual([]);
    for (const colorScheme of ['light', 'dark'] as const) {
      const own = { bypassCSP: true, colorScheme };
      const other = await watchedPage(browser, new URL(shown.address ?? '').origin, own);
      await other.page.goto(shown.address ?? '');
      await other.page.getByRole('link', { name: 'workflow' }).click();
      await other.page.getByRole('tab', { name: 'items' }).click();
      await other.page.getByText('4 items: ').waitFor();
      expect(await complaints(other.page)).toEqual([]);
    }
  });
});
