import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { commands, commandTable, commandUsage, generalUsage } from '../../src/cli/command-line.ts';
import { summary } from '../../src/cli/terminal/counters.ts';
import { StreamedBlocks } from '../../src/cli/terminal/streamed-blocks.ts';
import { clip, clipMiddle, wrapped, wrappedPainted } from '../../src/cli/terminal/text.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { pawl, pawlOnTerminal } from '../support/pawl.ts';
import { counters, report } from '../support/session.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-terminal-'));
afterAll(() => rmSync(folder, { recursive: true }));
const on = (url: string) => ['--base-url', url, '--model', 'm'];

describe('the help', () => {
  it.each([...commands])('of pawl %s fits a screen', async (command) => {
    const lines = commandUsage(command).trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines[0]).toBe(`Usage: pawl ${command} ${commandTable[command].args}`);
  });

  it('of pawl itself fits one too, and names every command', async () => {
    const lines = generalUsage().trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    for (const command of commands) expect(generalUsage()).toContain(`  ${command} `);
    const [asked, named] = await Promise.all([pawl(['run', '--help']), pawl(['help', 'run'])]);
    expect([asked.code, asked.stdout, named.stdout]).toEqual([0, commandUsage('run'), commandUsage('run')]);
  });
});

describe('pawl run', () => {
  it('reads the prompt from stdin, after what is typed', async () => {
    await using server = await startModelServer([report(), report()]);
    await pawl(['run', ...on(server.url), '-'], undefined, { input: 'Sum up this.\n' });
    await pawl(['run', ...on(server.url), 'Sum', 'up:', '-'], undefined, { input: 'one\ntwo\n' });
    expect(server.requests.map(({ body }) => body.messages.at(-1)?.content)).toEqual([
      'Sum up this.',
      'Sum up: \n\none\ntwo',
    ]);
    const { code, stderr } = await pawl(['run', ...on(server.url), '-'], undefined, { input: ' ' });
    expect([code, stderr]).toEqual([2, expect.stringContaining('Missing prompt')]);
  });

  it('-o writes the accepted report, and nothing else', async () => {
    await using server = await startModelServer([report('# Done'), report({ sum: 3 } as never), {}]);
    const agent = join(folder, 'json.md');
    writeFileSync(agent, '---\nname: adder\nreport:\n  format: json\n  schema:\n    type: object\n---\n');
    const [text, json, none] = ['report.md', 'report.json', 'none.md'].map((name) => join(folder, name));
    await pawl(['run', ...on(server.url), '-o', text ?? '', 'Go.']);
    await pawl(['run', ...on(server.url), '--agent', agent, '--output', json ?? '', 'Go.']);
    expect(readFileSync(text ?? '', 'utf8')).toBe('# Done\n');
    expect(JSON.parse(readFileSync(json ?? '', 'utf8'))).toEqual({ sum: 3 });
    const failed = await pawl(['run', ...on(server.url), '--max-retries', '1', '-o', none ?? '', 'Go.']);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('is not written, since no report')]);
    expect(() => readFileSync(none ?? '')).toThrow('ENOENT');
  });

  it('shows the text of a reply, and breaks no word at the edge', async () => {
    const long = 'The quick brown fox jumps over the lazy dog, and then it does so again and again and again.';
    await using server = await startModelServer([
      { text: long, calls: [{ name: 'list_directory', input: { path: 'docs' } }] },
      report(`# Report\n\n- ${long}`),
    ]);
    const { code, screen } = await pawlOnTerminal(['run', ...on(server.url), 'Go.'], undefined, 60);
    expect(code).toBe(0);
    for (const part of [
      '│  The quick brown fox jumps over the lazy dog, and then\n',
      '│  it does so again and again and again.\n',
      '\nReport\n\n• The quick brown fox jumps over the lazy dog, and then it\n  does so again and again and again.\n',
      '2 of at most 50 requests · 1 tool call run · 20 tokens in,\n10 out',
    ])
      expect(screen).toContain(part);
  });

  it('NO_COLOR: without colours, also on a terminal', async () => {
    const dim = '\u001b[2m';
    await using server = await startModelServer([report(), report(), report()]);
    const written = async (env?: Record<string, string>) =>
      (await pawlOnTerminal(['run', ...on(server.url), 'Go.'], undefined, 100, env)).written;
    expect(await written()).toContain(dim);
    expect(await written({ NO_COLOR: '1' })).not.toContain(dim);
    expect(await written({ TERM: 'dumb' })).not.toContain(dim);
  });
});

describe('texts for a terminal', () => {
  it('are cut between words, and wrapped at them', () => {
    expect(clip('one two three', 9)).toBe('one two…');
    expect(clip('one two three', 13)).toBe('one two three');
    expect(clip('abcdefghijkl', 5)).toBe('abcd…');
    expect(wrapped('one two three four', 9)).toEqual(['one two', 'three', 'four']);
    expect(wrapped('1. one two three', 10)).toEqual(['1. one two', '   three']);
    expect(wrapped('abcdefghijkl m', 5)).toEqual(['abcde', 'fghij', 'kl m']);
    expect(wrapped('```\na very long line of code\n```\nand a text', 8)).toEqual([
      '```',
      'a very long line of code',
      '```',
      'and a',
      'text',
    ]);
    expect(wrapped('a\u001bb', 80)).toEqual(['a\\u{1b}b']);
  });

  it('are cut in their middle, since both ends say something', () => {
    expect(clipMiddle('{"path":"docs/guides/inspector.md"}', 20)).toBe('{"path":"doc…or.md"}');
    for (const width of [5, 9, 20, 33])
      expect([...clipMiddle('{"path":"docs/guides/inspector.md"}', width)]).toHaveLength(width);
    expect(clipMiddle('short', 20)).toBe('short');
    expect(clipMiddle('这是一个很长的中文句子', 9)).toBe('这是…句子');
  });

  it('that are painted are wrapped by what is seen of them', () => {
    const bold = (text: string) => `\u001b[1m${text}\u001b[22m`;
    expect(wrappedPainted(`one ${bold('two')} three`, 9)).toEqual([`one ${bold('two')}`, 'three']);
    expect(wrappedPainted('abcdefghijkl m', 5)).toEqual(['abcde', 'fghij', 'kl m']);
    expect(wrappedPainted('', 5)).toEqual(['']);
  });

  it('that stream as Markdown are whole blocks, however they come', () => {
    const text = '# Head\n\none\ntwo\n\n```js\na\n\nb\n```\n\n- x\n- y\n\n\nend';
    for (const size of [1, 2, 7, 1_000]) {
      const streamed = new StreamedBlocks();
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
        text.slice(index * size, (index + 1) * size),
      );
      const blocks = pieces.flatMap((piece) => streamed.takeDelta(piece));
      expect([...blocks, streamed.end()]).toEqual(['# Head', 'one\ntwo', '```js\na\n\nb\n```', '- x\n- y', 'end']);
      expect(streamed.end()).toBeNull();
    }
  });

  it('are as wide as they are on the screen, and no character is cut', () => {
    expect(wrapped('这是一个很长的中文句子', 10)).toEqual(['这是一个很', '长的中文句', '子']);
    expect(wrapped('😀😀😀😀', 5)).toEqual(['😀😀', '😀😀']);
    expect(clip('这是一个很长的中文句子', 9)).toBe('这是一个…');
    expect(wrapped('a\tb', 80)).toEqual(['a    b']);
    for (const text of [
      '这是一个很长的中文句子',
      '😀😀😀😀',
      'a\tb c\u0007d e\u0007f g',
      '```\na very long line of code\n```\nand text',
    ]) {
      const streamed = new StreamedBlocks();
      const units = Array.from({ length: text.length }, (_, index) => text.charAt(index));
      const blocks = units.flatMap((unit) => streamed.takeDelta(unit));
      for (const line of streamed.growing(10)) expect(line.isWellFormed()).toBe(true);
      expect([...blocks, streamed.end()]).toEqual([text]);
    }
  });

  it('the line of counters says what happened, and nothing about what did not', () => {
    const plain = summary({ counters: counters({ attempts: 1, tokens: { input: 1_234, output: 5 } }), turns: [] }, 30);
    expect(plain).toBe('1 of at most 30 requests · 1,234 tokens in, 5 out');
    const failed = { status: 'failed' as const, slugs: ['empty_response' as const] };
    const busy = counters({
      attempts: 4,
      failedAttempts: 2,
      collapses: 1,
      waits: 2,
      reports: { rejected: 1 },
      toolCalls: { executed: 3, failed: 1, rejected: { unknown_tool: 2, tool_denied: 1 } },
      tokens: { cacheRead: 7 },
      tree: { sessions: 3, requests: 9, costUsd: 0.5 },
    });
    expect(summary({ counters: busy, turns: [{ attempts: [failed, failed] }] as never }, 30)).toBe(
      '4 of at most 30 requests · 2 attempts failed (empty_response 2) · 3 tool calls run, 1 failed, 3 refused (unknown_tool 2, tool_denied) · 1 report rejected · turns cut short · waited 2 times · 2 sub-agent sessions, 9 requests in all · 0 tokens in, 0 out · 7 from the cache · $0.5000',
    );
  });
});
