import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { markdownLines } from '../../src/cli/terminal/markdown.ts';
import { Screen } from '../../src/cli/terminal/screen.ts';
import { TerminalView } from '../../src/cli/terminal/view.ts';
import { defineAgent, type SessionEvent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { screenOf } from '../support/screen.ts';
import { counters } from '../support/session.ts';

/** A terminal that keeps what is written. `child`: what another process writes there, past the stream. */
function terminal(columns = 80, rows = 24) {
  let written = '';
  const out = Object.assign(
    new Writable({
      write: (data, _encoding, done) => {
        written += data;
        done();
      },
    }),
    { isTTY: true, columns, rows },
  ) as unknown as NodeJS.WriteStream;
  const child = (text: string) => {
    written += text;
  };
  // A terminal begins a new line at its first column.
  return {
    out,
    child,
    lines: () => screenOf(written.replaceAll('\n', '\r\n')).map((line) => line.trimEnd()),
    written: () => written,
  };
}

describe('the screen of a view', () => {
  it('many views of a process replace the write of its terminal once, and bytes are text, too', () => {
    const { out, lines } = terminal();
    const first = new Screen(out);
    first.last('in flight');
    first.clear();
    const { write } = out;
    for (let view = 0; view < 20; view += 1) {
      const screen = new Screen(out);
      screen.last(`view ${view}`);
      screen.clear();
    }
    expect(out.write).toBe(write);
    const latest = new Screen(out);
    latest.last('in flight');
    out.write(new TextEncoder().encode('from a child\n'));
    latest.last('in flight again');
    expect(lines()).toEqual(['from a child', 'in flight again']);
  });

  it('shows its last lines below what stays, and takes them away', () => {
    const { out, lines } = terminal();
    const screen = new Screen(out);
    screen.line('stays');
    screen.last('one', 'two');
    expect(lines()).toEqual(['stays', 'one', 'two']);
    screen.line('stays, too');
    screen.last('three');
    expect(lines()).toEqual(['stays', 'stays, too', 'three']);
    screen.clear();
    expect(lines()).toEqual(['stays', 'stays, too', '']);
  });

  it('is written through by a tool that replaces the write of the stream, and restores it', () => {
    const { out, lines } = terminal();
    const screen = new Screen(out);
    screen.last('one', 'two');
    const before = out.write;
    const captured: unknown[] = [];
    out.write = ((data: unknown) => captured.push(data)) as never;
    screen.last('three');
    screen.clear();
    out.write('of the tool');
    out.write = before;
    screen.last('four', 'five');
    out.write('restored\n');
    screen.last('six');
    expect([lines(), captured]).toEqual([['restored', 'six'], ['of the tool']]);
  });

  it('erases nothing of another process', () => {
    const { out, child, lines } = terminal();
    const screen = new Screen(out);
    screen.last('one', 'two', 'three');
    child('child 1\nchild 2\nchild 3\n');
    screen.last('four', 'five');
    expect(lines()).toEqual(['child 1', 'child 2', 'child 3', 'four', 'five']);
  });

  it('shows nothing below a question until it is answered', () => {
    const { out, lines } = terminal();
    const screen = new Screen(out);
    screen.last('one', 'two');
    out.write('Password: ');
    screen.last('three');
    expect(lines()).toEqual(['Password:']);
    screen.line('meanwhile');
    screen.last('four');
    expect(lines()).toEqual(['Password:', 'meanwhile', 'four']);
  });

  it('shows no more last lines than there are rows', () => {
    const { out, lines } = terminal(80, 4);
    new Screen(out).last('one', 'two', 'three', 'four', 'five');
    expect(lines()).toEqual(['three', 'four', 'five']);
  });
});

describe('Markdown of a model on a terminal', () => {
  it.each<[string, string]>([
    ['quotes within quotes', `${'> '.repeat(40)}hello world`],
    ['as many as are read', `${'> '.repeat(15)}hello world of many words`],
    ['thousands of them', `${'>'.repeat(3_000)} deep`],
    ['lists within lists', Array.from({ length: 200 }, (_, depth) => `${'  '.repeat(depth)}- x`).join('\n')],
    ['a table of many columns', `${'a|'.repeat(500)}\n${'-|'.repeat(500)}\n${'x\n'.repeat(48_500)}`],
    ['brackets', '['.repeat(50_000) + ']'.repeat(50_000)],
  ])('%s: is shown, in lines that fit or as it is', (_what, text) => {
    for (const columns of [20, 80]) {
      const lines = markdownLines(text, new Screen(terminal(columns).out));
      expect(lines.length).toBeGreaterThan(0);
    }
  });
});

/** A view on a terminal, and what tells it events of its session. */
function viewed() {
  const shown = terminal(40);
  const view = new TerminalView(shown.out, defineAgent({ name: 'top', models: [rehearsalModel([])] }));
  const tell = (event: object) =>
    view.show({ sessionId: 's', path: [], agent: 'top', at: Date.now(), seq: 1, ...event } as unknown as SessionEvent);
  const report = { source: 'synthetic', content: 'Aborted.' };
  const result = { status: 'aborted', success: false, slugs: ['aborted'], turns: [], report, counters: counters({}) };
  return { ...shown, tell, end: () => view.end(result as never) };
}

it('text is shown as it comes, block by block, with the end of the one that grows', async () => {
  const { tell, lines, end } = viewed();
  const say = (delta: string) => tell({ type: 'model.delta', kind: 'text', turn: 1, attempt: 1, part: 0, delta });
  tell({ type: 'attempt.started', turn: 1, attempt: 1, target: 'a', notice: null, offer: 'all' });
  say('The quick brown fox jumps over the lazy dog, and');
  await expect.poll(() => lines().slice(-2)).toEqual(['│  The quick brown fox jumps over the', '│  lazy dog, and']);
  say(' again.\n\nThen');
  await expect.poll(() => lines().at(-1)).toBe('│  Then');
  expect(lines().filter((line) => line.startsWith('│'))).toEqual([
    ...['│  The quick brown fox jumps over the', '│  lazy dog, and again.', '│  Then'],
  ]);
  end();
});

it('a resumed session shows the calls that run, which nothing requested in this process', async () => {
  const { tell, lines, written, end } = viewed();
  const call = { callId: 'c', name: 'send', turn: 1, attempt: 1, index: 0 };
  tell({ type: 'session.resumed', interrupted: [] });
  tell({ type: 'tool.approvalRequested', ...call, input: { to: 'Ada' } });
  tell({ type: 'tool.approved', ...call, reason: null });
  tell({ type: 'tool.started', ...call });
  await expect.poll(written).toContain('send {"to":"Ada"}');
  expect(lines().at(-1)).toMatch(/◌ +0 s +send/);
  end();
  expect(lines().join('\n')).not.toContain('◌');
  expect(lines()).toContain('Aborted.');
});
