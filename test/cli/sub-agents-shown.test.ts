import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { clipPainted } from '../../src/cli/terminal/text.ts';
import { atPrompts, command, pawl, pawlOnTerminal } from '../support/pawl.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-sub-agents-'));
afterAll(() => rmSync(folder, { recursive: true }));
const agent = join(folder, 'above.mjs');
// Both sub-agents make a call with the id call-1-0, each with an input of its own.
writeFileSync(
  agent,
  `import { defineAgent } from '${resolve('dist/src/index.js')}';
  import { rehearsalModel } from '${resolve('dist/src/testing/index.js')}';
  const inputSchema = { type: 'object' };
  const wipe = { inputSchema, needsApproval: true, execute: () => 'wiped' };
  const answered = (prompt) => prompt.some(({ role }) => role === 'tool');
  const report = { calls: [{ name: 'final_report', input: { content: 'Done.' } }] };
  const child = (name) => defineAgent({
    name,
    tools: { wipe },
    models: [rehearsalModel(({ prompt, index }) =>
      index === 0 ? {} : answered(prompt) ? report : { calls: [{ name: 'wipe', input: { disk: 'the disk of ' + name } }] })],
  });
  const asked = (name) => ({ name, input: { prompt: 'Wipe it.', reason: 'It is full of things that nobody needs.' } });
  export default {
    name: 'above',
    agents: { first: child('first'), second: child('second') },
    models: [rehearsalModel(({ prompt, tools }) =>
      !answered(prompt) ? { calls: [asked('first'), asked('second')] } : tools.includes('final_report') ? report : { text: 'Wiped.' })],
  };`,
);

describe('two sub-agents with a call of the same id', () => {
  it('C-1: in a chat, each is asked for, and decided by itself', async () => {
    const { code, screen } = await pawlOnTerminal(
      ['chat', '--agent', agent],
      [atPrompts('you> ', 'Wipe.\r', '/exit\r'), atPrompts('[y/N] ', 'y\r', 'y\r')],
      200,
    );
    expect(code).toBe(0);
    expect(screen).toMatch(/Run wipe.*the disk of first.*\? \[y\/N\]/);
    expect(screen).toMatch(/Run wipe.*the disk of second.*\? \[y\/N\]/);
    expect(screen).toContain('· first: ok');
    expect(screen).toContain('· second: ok');
  });

  it.each([60, 80, 100])('the tree shows the input of each, in lines of at most %i columns', async (columns) => {
    const args = ['run', '--agent', agent, 'Wipe.'];
    const { code, screen } = await pawlOnTerminal(args, atPrompts('[y/N] ', 'y\r', 'y\r'), columns);
    const lines = stripVTControlCharacters(screen).split('\n');
    expect(code).toBe(0);
    const asked = (line: string) => line.includes('Run wipe');
    expect(lines.filter((line) => line.length > columns && !asked(line))).toEqual([]);
    expect(lines.filter((line) => /wipe \{.*ok/.test(line))).toHaveLength(2);
    if (columns === 100)
      for (const name of ['first', 'second'])
        expect(lines.some((line) => line.includes(`wipe {"disk":"the disk of ${name}"}  ok`))).toBe(true);
    expect(screen).not.toContain('WARN');
  });

  it('S-2: a failed attempt is said once in a file or pipe that gets the tree and the log', async () => {
    const { stdout, stderr } = await pawl(['run', '--agent', agent, 'Wipe.']);
    expect(stdout).toContain('failed: empty_response');
    expect(stderr).toContain('WARN  first: turn 1, attempt 1 failed: empty_response');
    const both = execFileSync('sh', ['-c', `"$0" ${command} run --agent "$1" Wipe. 2>&1`, process.execPath, agent]);
    expect(both.toString()).toContain('failed: empty_response');
    expect(both.toString()).not.toContain('WARN');
  });
});

it('a painted line is cut by what is seen of it, and its colours end', () => {
  const red = (text: string) => `\u001b[31m${text}\u001b[39m`;
  expect(clipPainted(`ab ${red('cdef')} gh`, 10)).toBe(`ab ${red('cdef')} gh`);
  expect(clipPainted(`ab ${red('cdef')} gh`, 8)).toBe(`ab ${red('cdef')}…`);
  expect(clipPainted(`ab ${red('cdef')} gh`, 6)).toBe(`ab ${red('cd…')}`);
  expect(clipPainted(`ab${red('cdef')}`, 3)).toBe(`ab${red('…')}`);
  expect(clipPainted(`ab ${red('这是一个')}`, 7)).toBe(`ab ${red('这…')}`);
  expect(clipPainted('abc', 3)).toBe('abc');
});
