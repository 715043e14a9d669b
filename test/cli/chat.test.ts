import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startModelServer } from '../../src/testing/index.ts';
import { atPrompts, pawl, pawlOnTerminal } from '../support/pawl.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-chat-'));
afterAll(() => rmSync(folder, { recursive: true }));
const agent = join(folder, 'chatty.mjs');
writeFileSync(
  agent,
  `const inputSchema = { type: 'object' };
  const wipe = { inputSchema, needsApproval: true, execute: () => 'wiped' };
  const look = { inputSchema, execute: () => new Promise((resolve) => setTimeout(resolve, 300, 'seen')) };
  export default { name: 'chatty', models: [], tools: { look, wipe }, report: { format: 'markdown' } };`,
);
const chat = (url: string) => ['chat', '--agent', agent, '--base-url', url, '--model', 'm'];
const call = (name: string) => ({ calls: [{ name, input: {} }] });
/** What the user said in the last request. */
const saidTo = ({ requests }: Awaited<ReturnType<typeof startModelServer>>) =>
  requests.at(-1)?.body.messages.flatMap(({ role, content }) => (role === 'user' ? [content] : []));

describe('pawl chat', () => {
  it('keeps the conversation over messages from a pipe, of one line or several', async () => {
    await using server = await startModelServer([{ text: 'Hi Ada.' }, { text: 'You are Ada.' }, { text: 'Who?' }]);
    const input = 'I am \\\nAda.\n"""\nWho\n\nam I?\n"""\n/new\nAnd now?\n';
    const { code, stdout } = await pawl(chat(server.url), undefined, { input });
    expect(code).toBe(0);
    expect(stdout).toMatch(/Hi Ada\.[\s\S]*You are Ada\.[\s\S]*A new conversation begins[\s\S]*Who\?/);
    expect(server.requests[1]?.body.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'I am \nAda.'],
      ['assistant', 'Hi Ada.'],
      ['user', 'Who\n\nam I?'],
    ]);
    expect(saidTo(server)).toEqual(['And now?']);
  });

  it('C-1: asks for approval, and only yes runs the call', async () => {
    await using server = await startModelServer([call('wipe'), { text: 'Wiped.' }, call('wipe'), { text: 'Kept.' }]);
    const { code, screen } = await pawlOnTerminal(chat(server.url), [
      atPrompts('you> ', 'Wipe it.\r', 'Wipe it.\r', '/exit\r'),
      atPrompts('[y/N] ', 'y\r', '\r'),
    ]);
    expect(code).toBe(0);
    expect(screen).toContain('· wipe: ok');
    expect(screen).toMatch(/Wiped\.[\s\S]*· wipe: tool_denied[\s\S]*Kept\./);
  });

  it('--tui: in the SDK’s full screen, with its question and its picture; it needs a terminal', async () => {
    await using server = await startModelServer([call('wipe'), { text: 'It is **gone**.' }]);
    const { code, written } = await pawlOnTerminal(
      [...chat(server.url), '--tui'],
      [
        atPrompts('┌ Input', 'Wipe it.', '\u0003'),
        atPrompts('> Wipe it.█', '\r'),
        atPrompts('Approve tool wipe?', 'y'),
      ],
    );
    expect(code).toBe(0);
    expect(written).toMatch(/Tool · wipe[\s\S]*approval requested[\s\S]*wiped[\s\S]*gone/);
    expect(server.requests).toHaveLength(2);
    const piped = await pawl([...chat(server.url), '--tui'], undefined, { input: 'Hi.\n' });
    expect([piped.code, piped.stderr]).toEqual([2, expect.stringContaining('pawl chat --tui needs a terminal.')]);
  });

  it('C-1: Ctrl-D at the question denies the call, and the chat ends after the answer', async () => {
    await using server = await startModelServer([call('wipe'), { text: 'Kept.' }]);
    const { code, screen } = await pawlOnTerminal(chat(server.url), [
      atPrompts('you> ', 'Wipe it.\r'),
      atPrompts('[y/N] ', '\u0004'),
    ]);
    expect(code).toBe(0);
    expect(screen).toMatch(/wipe: tool_denied.*no terminal is available[\s\S]*Kept\./);
  });

  it('C-1: without a terminal a call is denied at once, and no line is taken for an answer', async () => {
    await using server = await startModelServer([call('wipe'), { text: 'Denied.' }, { text: 'Yes?' }]);
    const { code, stdout } = await pawl(chat(server.url), undefined, { input: 'Wipe it.\ny\n' });
    expect(code).toBe(0);
    expect(stdout).toMatch(/wipe: tool_denied.*no terminal is available[\s\S]*Denied\.[\s\S]*Yes\?/);
    expect(saidTo(server)?.at(-1)).toBe('y');
  });

  it('C-1: the question of a call that timed out is withdrawn, and the next one is asked', async () => {
    const hasty = join(folder, 'hasty.mjs');
    writeFileSync(
      hasty,
      `${readFileSync(agent, 'utf8').replace("name: 'chatty'", "name: 'hasty', limits: { approvalTimeoutMs: 1500 }")}`,
    );
    await using server = await startModelServer([call('wipe'), { text: 'Late.' }, call('wipe'), { text: 'Wiped.' }]);
    const args = chat(server.url).map((arg) => (arg === agent ? hasty : arg));
    const { screen } = await pawlOnTerminal(args, [
      atPrompts('you> ', 'Wipe it.\r', 'Wipe it.\r', '/exit\r'),
      atPrompts('[y/N] ', null, 'y\r'),
    ]);
    expect(screen).toMatch(/approval_timeout[\s\S]*Late\.[\s\S]*wipe: ok[\s\S]*Wiped\./);
  });

  it('/steer and /stop reach the agent while it works; what is typed else waits for its turn', async () => {
    await using server = await startModelServer([call('look'), { text: 'In short.' }, { text: 'Next.' }]);
    const typed = new Set<string>();
    const once = (text: string, type: (keys: string) => void) => {
      if (!typed.has(text)) type(`${text}\r`);
      typed.add(text);
    };
    const { code, screen } = await pawlOnTerminal(chat(server.url), (type, written) => {
      if (written.includes('you> ')) once('Look around.', type);
      if (written.includes('look …')) {
        once('/steer Be short.', type);
        once('Go on.', type);
        once('/stop', type);
      }
      if (written.includes('Next.') && written.endsWith('you> \u001b[6G')) once('/exit', type);
    });
    expect(code).toBe(0);
    expect(screen).toContain('noted for the next request');
    expect(JSON.stringify(server.requests[1]?.body.messages)).toContain('Be short.');
    expect(JSON.stringify(server.requests[1]?.body.messages.at(-1))).toContain('(stopped)');
    expect(saidTo(server)?.at(-1)).toBe('Go on.');
  });

  it('Ctrl-C stops an answer, and then ends the chat; a failed answer says why', async () => {
    await using server = await startModelServer([call('look')]);
    let pressed = 0;
    const { screen } = await pawlOnTerminal(chat(server.url), (type, written) => {
      if (pressed === 0 && written.endsWith('you> \u001b[6G')) {
        pressed = 1;
        type('Look.\r');
      } else if (pressed === 1 && written.includes('look …')) {
        pressed = 2;
        type('\u0003');
      } else if (pressed === 2 && written.split('you> ').length === 3) {
        pressed = 3;
        type('\u0003');
      }
    });
    expect(screen).toContain('aborted (aborted): interrupted at the keyboard');
    await using quiet = await startModelServer([{}]);
    const silent = await pawl([...chat(quiet.url), '--max-retries', '1'], undefined, {
      input: '/help\n/x\n/stop\nHi.\n',
    });
    expect(silent.code).toBe(1);
    expect(silent.stdout).toMatch(/\/steer TEXT[\s\S]*There is no \/x; see \/help\.[\s\S]*The agent is not working\./);
    expect(silent.stdout).toContain('failed (retries_exhausted');
  });
});

it('pawl init writes an agent, a tool and a test that pass, and overwrites nothing', async () => {
  const project = join(folder, 'My Library');
  const { code, stdout } = await pawl(['init', project]);
  expect(code).toBe(0);
  expect(stdout).toContain('Wrote package.json, catalogue.js, agent.js, agent.test.js.');
  const written = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  expect(written).toMatchObject({ name: 'my-library', type: 'module', dependencies: { pawl: '^0.1.0' } });
  const own = JSON.parse(readFileSync('package.json', 'utf8'));
  for (const name of ['ai', 'zod']) expect(written.dependencies[name]).toBe(own.peerDependencies[name]);
  const modules = join(project, 'node_modules');
  mkdirSync(modules);
  for (const name of ['ai', 'zod', '@ai-sdk']) symlinkSync(resolve('node_modules', name), join(modules, name));
  symlinkSync(resolve('.'), join(modules, 'pawl'));
  const said = execFileSync(process.execPath, ['--test'], { cwd: project, encoding: 'utf8' });
  expect(said).toMatch(/pass 2/);
  await using server = await startModelServer([
    { calls: [{ name: 'findBook', input: { title: 'Ulysses' } }] },
    { calls: [{ name: 'final_report', input: { content: 'On B4.' } }] },
  ]);
  const run = await pawl([
    'run',
    '--agent',
    join(project, 'agent.js'),
    '--base-url',
    server.url,
    '--model',
    'm',
    'Where?',
  ]);
  expect([run.code, run.stdout]).toEqual([0, expect.stringContaining('On B4.')]);
  const again = await pawl(['init', project]);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('already has package.json, catalogue.js')]);
});
