import { describe, expect, it } from 'vitest';
import { defineAgent, runSession } from '../../src/index.ts';
import { sessionFile } from '../../src/inspect/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { policyHash } from '../../src/platform/node-only/html.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';
import { blockIn } from '../support/pages.ts';
import { report } from '../support/session.ts';

async function sessionEntries() {
  const journal = new MemoryJournal();
  const agent = defineAgent({ name: 'plain', models: [rehearsalModel([report('Done.')])] });
  await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
  return journal.read('s');
}

const titleOf = (html: string) => /<title>(.*)<\/title>/.exec(html)?.[1];

describe('S-5 S-8: a session as a file', () => {
  it('runs the scripts that it holds, and reaches nothing outside', async () => {
    const html = sessionFile(await sessionEntries());
    const policy = /http-equiv="content-security-policy" content="([^"]*)"/.exec(html)?.[1]?.split('; ');
    const starting = /<script>(.*?)<\/script>/s.exec(html)?.[1] ?? '';
    const style = /<style>(.*?)<\/style>/s.exec(html)?.[1] ?? '';
    expect(policy).toEqual([
      "default-src 'none'",
      `script-src '${policyHash(starting)}' '${policyHash(blockIn(html, 'packed'))}'`,
      `style-src '${policyHash(style)}'`,
      'worker-src blob:',
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types pawl-start pawl',
    ]);
    expect(html).toContain('<link rel="icon" href="data:image/svg+xml,');
    expect(html).not.toMatch(/ (?:src|href)="(?!data:)/);
  });

  it('is named after its agent, or after its run', async () => {
    const journal = new MemoryJournal();
    const backlog = new TestBacklog();
    backlog.bug(1);
    await runOver(backlog, { process: () => ({ status: 'failed', message: 'no' }) }, { journal });
    const [row] = await journal.list({ metadata: { role: 'run' } });
    const run = await journal.read(row?.sessionId ?? '');
    const [first] = run;
    expect(titleOf(sessionFile(await sessionEntries()))).toBe('plain · Pawl');
    expect(titleOf(sessionFile([]))).toBe('session · Pawl');
    expect(titleOf(sessionFile(run))).toBe(`${first?.type === 'run' && first.head.input.run} · Pawl`);
  });

  it('opens at the step that was asked for', async () => {
    const entries = await sessionEntries();
    expect(sessionFile(entries, { step: 0 })).toContain('id="tape" data-step="0" data-redacted="0">');
    expect(sessionFile(entries)).toContain('id="tape" data-redacted="0">');
  });

  it.each([
    [
      'a text in place of the entries',
      'none',
      {},
      '`entries` must be the entries of a session, as `exportSession` returns them',
    ],
    ['an unknown option', [], { secret: ['x'] }, 'Unknown option `options.secret`'],
    ['a step before the first', [], { step: -1 }, '`options.step` must be an integer of at least 0; got -1.'],
  ])('%s: refused by name', (_, entries, options, message) => {
    const refusal = { code: 'invalid_options', message: expect.stringContaining(message) };
    expect(() => sessionFile(entries as never, options as never)).toThrow(expect.objectContaining(refusal));
  });
});
