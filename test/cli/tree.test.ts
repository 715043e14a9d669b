import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { TerminalView } from '../../src/cli/terminal/view.ts';
import { defineAgent, type SessionEvent } from '../../src/index.ts';
import { rehearsalModel, startModelServer } from '../../src/testing/index.ts';
import { atPrompts, pawl, pawlOnTerminal } from '../support/pawl.ts';
import { screenOf } from '../support/screen.ts';
import { report } from '../support/session.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-tree-'));
afterAll(() => rmSync(folder, { recursive: true }));
const [agent, gate] = [join(folder, 'above.mjs'), join(folder, 'gate')];
// Two sub-agents run at once; their tool waits for a file. The first fails an attempt before its call.
writeFileSync(
  agent,
  `import { existsSync, watch } from 'node:fs';
  import { defineAgent } from '${resolve('dist/src/index.js')}';
  import { rehearsalModel } from '${resolve('dist/src/testing/index.js')}';
  const opened = () => new Promise((open) => {
    const watcher = watch('${folder}', () => existsSync('${gate}') && (watcher.close(), open('open')));
    if (existsSync('${gate}')) { watcher.close(); open('open'); }
  });
  const slow = { inputSchema: { type: 'object' }, execute: opened };
  const answered = (prompt) => prompt.some(({ role }) => role === 'tool');
  const report = { usage: { input: 1000, output: 0 }, calls: [{ name: 'final_report', input: { content: 'Done.' } }] };
  const child = (name) => defineAgent({
    name, tools: { slow }, pricing: { 'rehearsal:script': { input: 1, output: 1 } },
    models: [rehearsalModel(({ prompt, index }) => answered(prompt) ? report : index === 0 ? {} :
      { calls: [{ name: 'slow', input: { path: 'a/rather/long/path/to/something/of/' + name + '.md' } }] })],
  });
  const asked = (name) => ({ name, input: { prompt: 'Wait.', reason: 'It is slow.' } });
  export default {
    name: 'above', agents: { first: child('first'), second: child('second') },
    models: [rehearsalModel(({ prompt }) => answered(prompt) ? report : { calls: [asked('first'), asked('second')] })],
  };`,
);

describe('the tree of a session', () => {
  it.each([60, 80, 100, 200])(
    'at %i columns: what is in flight with its seconds, then sub-agents in blocks, each attempt closed',
    async (columns) => {
      rmSync(gate, { force: true });
      let inFlight: string[] = [];
      const { code, screen } = await pawlOnTerminal(
        ['run', '--agent', agent, 'Go.'],
        (_type, written) => {
          if (inFlight.length > 0 || !/ 1 s .*(first|second): slow/.test(stripVTControlCharacters(written))) return;
          inFlight = screenOf(written).filter((line) => line.startsWith('◌'));
          writeFileSync(gate, '');
        },
        columns,
      );
      expect(code).toBe(0);
      expect(inFlight.map((line) => line.replace(/ \d s/, ' n s').split(' {')[0])).toEqual([
        '◌   n s  first: slow',
        '◌   n s  second: slow',
      ]);
      const lines = screen.split('\n');
      expect(lines.filter((line) => [...line].length > columns)).toEqual([]);
      expect(screen).not.toContain('◌');
      const shape = lines
        .slice(0, lines.findIndex((line) => line.startsWith('└─')) + 1)
        .map((line) => /^[│├└─ ]*(?:● )?[^ ,:{]*(?: \d, attempt \d| first| second)?/.exec(line)?.[0].trimEnd());
      const block = (name: string) => [
        `│  ├─ session ${name}`,
        '│  │  ├─ turn 1, attempt 1',
        '│  │  │  └─ failed',
        '│  │  ├─ turn 1, attempt 2',
        '│  │  │  system',
        '│  │  │  ├─ slow',
        '│  │  │  └─ ok',
        '│  │  ├─ turn 2, attempt 1',
        '│  │  │  ├─ final_report',
        '│  │  │  └─ ok',
        '│  │  └─ ● succeeded',
        `│  ├─ ${name}`,
      ];
      expect(shape).toEqual([
        'session',
        '├─ turn 1, attempt 1',
        ...block('first'),
        ...block('second'),
        '│  └─ ok',
        '├─ turn 2, attempt 1',
        '│  ├─ final_report',
        '│  └─ ok',
        '└─ ● succeeded',
      ]);
      if (columns >= 100) expect(screen).toMatch(/slow \{"path":"a\/rather.*first\.md"\} {2}ok {2}4 bytes · [\d.]+ s/);
      expect(screen).toMatch(/└─ ok {2}\d+ ms · 1,000 tokens · \$0\.0010/);
    },
  );

  it('shows Markdown on a terminal, and the text itself in a pipe', async () => {
    const text =
      '# Sums\n\nIt is **so**, see [the page](https://example.org).\n\n| name | sum |\n| --- | --- |\n| first | 1 |\n| 第二 | 23 |\n\n1. one\n2. two\n   - inner\n\n> quoted\n\n```diff\n-a\n+b\n```';
    await using server = await startModelServer([report(text), report(text)]);
    const args = ['run', '--base-url', server.url, '--model', 'm', 'Go.'];
    const { written, screen } = await pawlOnTerminal(args, undefined, 80);
    expect(screen).toContain(
      [
        ...['Sums', '', 'It is so, see the page (https://example.org).', ''],
        ...['name   sum', '──────────', 'first  1', '第二   23', ''],
        ...['1. one', '2. two', '   • inner', '', '│ quoted', '', '    -a', '    +b'],
      ].join('\n'),
    );
    expect(written).toContain('\u001b[1mso\u001b[22m');
    expect(written).toContain('\u001b[31m-a\u001b[39m');
    expect((await pawl(args)).stdout).toContain(text);
  });

  it('a chat shows an answer once, block by block', async () => {
    const text = '## Yes\n\nIt is **so**.\n\n- one\n- two';
    await using server = await startModelServer([{ text }]);
    const { screen } = await pawlOnTerminal(
      ['chat', '--base-url', server.url, '--model', 'm'],
      atPrompts('you> ', 'Is it so?\r', '/exit\r'),
      80,
    );
    expect(screen.split('It is so.')).toHaveLength(2);
    expect(screen).toContain('Yes\n\nIt is so.\n\n• one\n• two\n');
  });

  it('what a tool or a log writes stays, and what is in flight stands below it', async () => {
    const loud = join(folder, 'loud.mjs');
    writeFileSync(
      loud,
      `import { defineAgent } from '${resolve('dist/src/index.js')}';
      import { rehearsalModel } from '${resolve('dist/src/testing/index.js')}';
      const work = { inputSchema: { type: 'object' }, execute: () => {
        console.log('one line\\nand another of the tool');
        console.error('an error of the tool');
        return 'ok';
      } };
      export default {
        name: 'loud', tools: { work },
        models: [rehearsalModel([{}, { calls: [{ name: 'work', input: {} }] },
          { calls: [{ name: 'final_report', input: { content: 'Done.' } }] }])],
      };`,
    );
    const args = ['run', '--agent', loud, '--log-level', 'warn', 'Go.'];
    const { code, screen } = await pawlOnTerminal(args, undefined, 100);
    expect(code).toBe(0);
    expect(screen).toContain('\none line\nand another of the tool\nan error of the tool\n│  ├─ work  ok');
    expect(screen).toMatch(/\nWARN +turn 1, attempt 1 failed: empty_response/);
    expect(screen).not.toContain('◌');
    expect(screen).toContain('├─ turn 1, attempt 2');
  });

  it('what happens after the end is not shown, and keeps no process alive', async () => {
    const late = join(folder, 'late.mjs');
    // Its tool ignores the abort, and ends after the session.
    writeFileSync(
      late,
      `import { defineAgent } from '${resolve('dist/src/index.js')}';
      import { rehearsalModel } from '${resolve('dist/src/testing/index.js')}';
      export default {
        name: 'late', limits: { toolTimeoutMs: 50 },
        tools: { deaf: { inputSchema: { type: 'object' }, execute: () => new Promise((end) => setTimeout(end, 1500, 'late')) } },
        models: [rehearsalModel([{ calls: [{ name: 'deaf', input: {} }] },
          { calls: [{ name: 'final_report', input: { content: 'Done.' } }] }])],
      };`,
    );
    const { code, screen } = await pawlOnTerminal(['run', '--agent', late, 'Go.'], undefined, 100);
    expect(code).toBe(0);
    expect(screen.trimEnd().split('\n').at(-1)).toMatch(/tokens in, \d+ out/);
    expect(screen).toContain('tool_timeout');
  });

  it('sub-agents that began before a crash stand where they belong, and claim no duration', () => {
    const written: string[] = [];
    const out = new Writable({
      write: (data, _encoding, done) => {
        written.push(String(data));
        done();
      },
    });
    const view = new TerminalView(
      out as unknown as NodeJS.WriteStream,
      defineAgent({ name: 'top', models: [rehearsalModel([])] }),
    );
    const tell = (sessionId: string, path: string[], event: object) =>
      view.show({
        sessionId,
        path,
        agent: path.at(-1) ?? 'top',
        at: 1_000,
        seq: 1,
        ...event,
      } as unknown as SessionEvent);
    const end = { type: 'attempt.progressed', turn: 1, attempt: 1, target: 'a' };
    // Two of the same name, whose parent tells nothing before them.
    for (const id of ['leaf-1', 'leaf-2']) {
      tell(id, ['middle', 'leaf'], end);
      tell(id, ['middle', 'leaf'], { type: 'session.succeeded', turns: 1 });
      tell('m', ['middle'], {
        type: 'subAgent.ended',
        childSessionId: id,
        callId: id,
        name: 'leaf',
        status: 'succeeded',
      });
    }
    tell('m', ['middle'], end);
    tell('top', [], { type: 'subAgent.ended', childSessionId: 'm', callId: 'm', name: 'middle', status: 'succeeded' });
    const leaf = ['│  │  │  ├─ session leaf resumed', '│  │  │  │  │  └─ ok', '│  │  │  │  └─ ● succeeded'];
    expect(stripVTControlCharacters(written.join('')).trimEnd().split('\n')).toEqual([
      ...['│  ├─ session middle resumed', ...leaf, ...leaf, '│  │  │  └─ ok'],
    ]);
  });
});
