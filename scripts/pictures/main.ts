/** `npm run pictures`: takes the pictures in docs/pictures: pages in headless Chromium, and a terminal. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tool } from 'ai';
import { chromium, type Page } from 'playwright-core';
import { z } from 'zod';
import { defineAgent, startSession } from '../../src/index.ts';
import { inspector, sessionFile } from '../../src/inspect/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { assertInvariants, recorded, rehearsalModel } from '../../src/testing/index.ts';
import { runWorkflow } from '../../src/workflow/index.ts';
import { terminalPicture } from './terminal.ts';

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const folder = mkdtempSync(join(tmpdir(), 'pawl-pictures-'));
const report = { calls: [{ name: 'final_report', input: { content: 'Sent.' } }] };

async function take(name: string, url: string, act: (page: Page) => Promise<unknown> = async () => {}): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(url);
  await page.waitForSelector('main:not([aria-busy="true"])');
  await act(page);
  await page.screenshot({ path: `docs/pictures/${name}.png` });
  await page.close();
}

/** A session that failed twice in its first turn, and a fault in place of a reply. */
async function demo(): Promise<void> {
  const file = join(folder, 'demo.html');
  execFileSync(process.execPath, ['src/cli/main.ts', 'demo', '--rehearsal', '--export', file], { stdio: 'ignore' });
  const url = pathToFileURL(file).href;
  await take('session', url, async (page) => {
    await page.getByRole('option', { name: 'attempt 3' }).click();
    await page.getByRole('tab', { name: 'request' }).click();
  });
  await take('compare', url, async (page) => {
    await page.keyboard.press('p');
    await page.getByRole('tab', { name: 'what if' }).click();
    await page.getByRole('button', { name: 'a fault: auth' }).click();
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByText('First difference').waitFor();
  });
}

/** A failed session, as an engineer on call opens it. */
async function failure(): Promise<void> {
  const journal = new MemoryJournal();
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const search = tool({
    description: 'Searches the catalogue.',
    inputSchema: z.object({ title: z.string() }),
    execute: async ({ title }) => {
      await pause(350);
      return `${title} stands on shelf J-12.`;
    },
  });
  const usage = { input: 4_200, output: 310 };
  const replies = [
    { usage, calls: [{ name: 'search', input: { title: 'Ulysses' } }] },
    { usage, text: '' },
    { usage, calls: [{ name: 'find_book', input: {} }] },
    { usage, text: 'The book stands on', finishReason: 'length' as const },
  ];
  let sent = 0;
  const model = rehearsalModel(async () => {
    await pause([420, 260, 310, 240][sent] ?? 0);
    sent += 1;
    return replies[sent - 1] ?? {};
  });
  const agent = defineAgent({
    name: 'librarian',
    models: [model],
    tools: { search },
    limits: { maxRetries: 3 },
    pricing: { 'rehearsal:script': { input: 1.25, output: 10 } },
  });
  await startSession(agent, { prompt: 'Where is Ulysses?', journal, sessionId: 's', logger: false }).result;
  const file = join(folder, 'failure.html');
  writeFileSync(file, sessionFile(await journal.read('s')));
  await take('failure', pathToFileURL(file).href);
}

/** A call that waits for a person. */
async function approval(): Promise<void> {
  await using shown = await inspector({ port: 0 });
  const send = tool({
    description: 'Sends a letter.',
    inputSchema: z.object({ to: z.string(), text: z.string() }),
    needsApproval: true,
    execute: ({ to }) => `sent to ${to}`,
  });
  const call = { id: 'letter', name: 'send', input: { to: 'Ada', text: 'The engine is ready.' } };
  const model = rehearsalModel([{}, { text: 'I will write to her.', calls: [call] }, report]);
  const agent = defineAgent({ name: 'secretary', models: [model], tools: { send } });
  const session = startSession(agent, { prompt: 'Tell Ada.', journal: shown.journal, sessionId: 's', logger: false });
  await take('approval', shown.address ?? '', async (page) => {
    await page.getByRole('link', { name: 'secretary' }).click();
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await page.getByRole('tab', { name: 'reply' }).click();
  });
  session.abort();
  await session.result;
}

/** A test that failed, at the step where its promise is first broken. */
async function counterexample(): Promise<void> {
  const limits = { maxTurns: 1, maxRetries: 2 };
  const file = join(folder, 'counterexample.html');
  const failing = recorded(
    async (journal) => {
      const agent = defineAgent({ name: 'stumbling', models: [rehearsalModel([{}, {}, report])] });
      assertInvariants(await startSession(agent, { prompt: 'Go.', journal, logger: false }).result, { limits });
    },
    { file, limits },
  );
  await failing().catch(() => readFileSync(file));
  await take('counterexample', pathToFileURL(file).href);
}

/** A run that failed at one item and set another aside. */
async function run(): Promise<void> {
  const backlog = join(folder, 'backlog');
  const titles = ['The index is rebuilt at each start', 'Dates are off by one', 'Exports need a licence'];
  for (const [index, title] of titles.entries()) {
    const item = join(backlog, `bugs/BUG-00${index + 1}-item`);
    mkdirSync(item, { recursive: true });
    const json = { title, component: 'core', priority: `P${index}`, status: 'new', created_date: '2026-01-01' };
    writeFileSync(join(item, 'bug_report.json'), JSON.stringify(json));
    writeFileSync(join(item, 'PROMPT.md'), `# ${title}\n`);
  }
  await using shown = await inspector({ port: 0 });
  const outcomes = [
    { status: 'succeeded' },
    { status: 'failed', message: 'a test of the calendar failed' },
    { status: 'blocked', reason: 'a licence' },
  ];
  const worker = defineAgent({
    name: 'worker',
    models: [rehearsalModel(outcomes.map((content) => ({ calls: [{ name: 'final_report', input: { content } }] })))],
    report: { format: 'json' },
  });
  await runWorkflow({ backlog, agents: { process: worker }, journal: shown.journal, logger: false });
  await take('run', shown.address ?? '', async (page) => {
    await page.getByRole('link', { name: 'workflow' }).click();
    await page.getByRole('option', { name: 'BUG-003' }).first().click();
    await page.getByRole('tab', { name: 'items' }).click();
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('ArrowLeft');
  });
}

/** The demo, as a terminal shows it line by line. */
async function terminal(): Promise<void> {
  const command = [process.execPath, 'src/cli/main.ts', 'demo', '--rehearsal', 'docs'];
  writeFileSync('docs/pictures/terminal.svg', await terminalPicture('pawl demo', command));
}

/** The chat page of the examples, with a change to approve. */
async function chat(): Promise<void> {
  const { MODEL: _, ...env } = process.env;
  const server = spawn(process.execPath, ['examples/chat-page/server.ts', join(folder, 'chat.db')], { env });
  const url = String(await server.stdout.take(1).toArray()).trim();
  const page = await browser.newPage({ viewport: { width: 1000, height: 620 } });
  await page.goto(url);
  await page.getByLabel('Message').fill('Mark the bill of May as paid.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('needs your approval').waitFor();
  await page.screenshot({ path: 'docs/pictures/chat-page.png' });
  server.kill();
}

await terminal();
await chat();
await demo();
await failure();
await approval();
await counterexample();
await run();
await browser.close();
