import { tool } from 'ai';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, runSession } from '../../src/index.ts';
import { sessionFile } from '../../src/inspect/tape/session-file.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { complaints, hasBrowser, launch, openFile } from '../support/pages.ts';
import { report } from '../support/session.ts';

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const diff = `--- a/notes.md
+++ b/notes.md
@@ -1,2 +1,2 @@
 first
-second
+SECOND`;
const said = `# Plan

Read **two** files, then \`answer\`:

1. [the site](https://example.org/a), not [this](javascript:alert(1))
2. ![a picture](https://example.org/tracker.png)

- [x] done
- [ ] open

| file | lines |
| --- | --- |
| \`a.md\` | 12 |

> quoted

<img src=x onerror="alert(1)"><script>alert(2)</script>

\`\`\`diff
${diff}
\`\`\`
`;

async function file(): Promise<string> {
  const journal = new MemoryJournal();
  const edit = tool({
    inputSchema: z.looseObject({}),
    execute: () => ({ changed: diff, lines: [1, 2], deep: nested(6) }),
  });
  const models = [
    rehearsalModel([
      { text: said, calls: [{ name: 'edit', input: { path: 'notes.md', options: { force: true, mode: null } } }] },
      report('## Summary\n\nAll **three** are done.'),
    ]),
  ];
  const result = await runSession(defineAgent({ name: 'clerk', models, tools: { edit } }), {
    ...{ journal, sessionId: 's', logger: false },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look at *this*.' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: dot } },
        ],
      },
    ],
  });
  expect(result.slugs).toEqual([]);
  return sessionFile(await journal.read('s'));
}

function nested(depth: number): object {
  return depth === 0 ? { end: true } : { inner: nested(depth - 1) };
}

describe.skipIf(!hasBrowser)('S-8: contents are rendered', () => {
  let browser: Browser;
  let html = '';
  beforeAll(async () => {
    browser = await launch();
    html = await file();
  });
  afterAll(() => browser.close());

  it('S-8f: Markdown of a model as elements, its HTML as text; it loads nothing', async () => {
    const { page, misdeeds } = await openFile(browser, html);
    const reportView = page.locator('.overview .markdown');
    expect(await reportView.locator('.heading').innerText()).toBe('Summary');
    expect(await reportView.locator('strong').innerText()).toBe('three');
    await page.locator('.row', { hasText: 'attempt 1' }).first().click();
    const reply = page.getByLabel('Reply').locator('.markdown');
    expect(await reply.locator('.heading').innerText()).toBe('Plan');
    expect(await reply.locator('ol > li').count()).toBe(2);
    expect(await reply.locator('ul > li').allInnerTexts()).toEqual(['☑ done', '☐ open']);
    expect(await reply.locator('td').allInnerTexts()).toEqual(['a.md', '12']);
    expect(await reply.locator('blockquote').innerText()).toBe('quoted');
    expect(await reply.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual([
      'https://example.org/a',
      'https://example.org/tracker.png',
    ]);
    expect(await reply.locator('img, script').count()).toBe(0);
    expect(await reply.innerText()).toContain('<img src=x onerror="alert(1)"><script>alert(2)</script>');
    expect(await reply.locator('.diff .added').last().innerText()).toBe('+SECOND\n');
    // A person's text is not Markdown.
    expect(await page.getByRole('region', { name: 'Request' }).innerText()).toContain('Look at *this*.');
    expect(await page.getByRole('region', { name: 'Request' }).locator('img').count()).toBe(1);
    expect(misdeeds).toEqual([]);
  });

  it('Markdown of any depth and size is shown, as it was written if it is beyond all sense', async () => {
    for (const text of [
      '> '.repeat(600),
      '- '.repeat(600),
      '*'.repeat(3_000),
      `|${'a|'.repeat(500)}\n|${'-|'.repeat(500)}\n${`|${'b|'.repeat(500)}\n`.repeat(60)}`,
    ]) {
      const journal = new MemoryJournal();
      const models = [rehearsalModel([report(`It begins.\n\n${text}`)])];
      await runSession(defineAgent({ name: 'writer', models, tools: {} }), {
        prompt: 'Go.',
        journal,
        sessionId: 's',
        logger: false,
      });
      const { page, misdeeds } = await openFile(browser, sessionFile(await journal.read('s')));
      await page.locator('.overview', { hasText: 'It begins.' }).waitFor();
      expect(misdeeds).toEqual([]);
      await page.close();
    }
  });

  it.each(['light', 'dark'] as const)('axe finds nothing, %s', async (colorScheme) => {
    const { page } = await openFile(browser, html, { bypassCSP: true, colorScheme });
    expect(await complaints(page)).toEqual([]);
    await page.locator('.row', { hasText: 'edit' }).first().click();
    expect(await complaints(page)).toEqual([]);
  });

  it('JSON as a tree that opens, a diff in it line by line; both can be seen raw and be copied', async () => {
    const { page, misdeeds } = await openFile(browser, html);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('.row', { hasText: 'edit' }).first().click();
    const call = page.getByLabel('Call');
    expect(await call.innerText()).toContain('"path": "notes.md"');
    expect(await call.innerText()).toContain('"force": true');
    expect(await call.locator('.diff .gone').last().innerText()).toBe('-second\n');
    expect(await call.innerText()).not.toContain('"end"');
    for (let depth = 0; depth < 4; depth += 1) await call.locator('details:not([open]) > summary').last().click();
    await call.getByText('"end": true').waitFor();
    const input = call.locator('.block').first();
    await input.getByRole('button', { name: 'copy' }).click();
    await input.getByRole('button', { name: 'copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(JSON.parse(copied)).toEqual({ path: 'notes.md', options: { force: true, mode: null } });
    await input.getByRole('button', { name: 'raw' }).click();
    expect(await input.innerText()).toContain(copied);
    await page.getByRole('button', { name: 'copy as curl' }).click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^curl [\s\S]*"model": "script"/);
    expect(misdeeds).toEqual([]);
  });
});
