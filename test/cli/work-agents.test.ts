import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAgentFile } from '../../src/cli/agent-file.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { backlogIn } from '../../src/workflow/backlog/find-backlog.ts';
import { done, TestBacklog } from '../support/backlog.ts';
import { pawl } from '../support/pawl.ts';

const quietly = ({ url }: { url: string }) => ['--base-url', url, '--model', 'm', '--log-level', 'silent'];

/** An agent as Claude Code's users write it. */
const claude = `---
name: bug-processor
description: Fixes bugs. Use PROACTIVELY.
tools: Read, Edit, Write, Bash(echo:*, git status), WebSearch
model: sonnet
color: red
---

You fix bugs.
`;

type Body = { messages: { role: string; content?: unknown }[]; tools: { function: { name: string } }[] };
const bodyOf = (request: { body: unknown } | undefined) => request?.body as Body;
const hasAnswers = ({ messages }: { messages: readonly { role: string }[] }) =>
  messages.some(({ role }) => role === 'tool');
const answersIn = (request: { body: unknown } | undefined) =>
  bodyOf(request).messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));

describe('agents of a project', () => {
  it("Claude Code's agent files load: their tools work in the project, and only what is allowed runs unattended", async () => {
    await using server = await startModelServer(({ body }) =>
      hasAnswers(body)
        ? done()
        : {
            calls: [
              { name: 'write_file', input: { path: 'src/new.ts', content: 'export {};\n' } },
              { name: 'edit_file', input: { path: 'src/old.ts', old_text: 'one', new_text: 'two' } },
              { name: 'run_command', input: { command: 'echo hello' } },
              { name: 'run_command', input: { command: 'npm run check' } },
              { name: 'run_command', input: { command: 'touch stolen' } },
              { name: 'read_file', input: { path: '../'.repeat(20).concat('etc/passwd') } },
            ],
          },
    );
    const project = new TestBacklog();
    project.write('feature-management/bugs/BUG-001-x/PROMPT.md', '# BUG-001: X\n\n**Status**: new\n');
    project.write('feature-management/.agent-config.json', JSON.stringify({ agents: { process: 'bug-processor' } }));
    project.write('.claude/agents/bug-processor.md', claude);
    project.write('src/old.ts', 'one\n');
    const { code, stderr, stdout } = await pawl(['work', project.folder, ...quietly(server)]);
    expect([code, stdout.includes('BUG-001 succeeded')]).toEqual([0, true]);
    expect(stderr).toContain('names the tool "WebSearch", which has no counterpart');
    const [first, second] = server.requests;
    expect(bodyOf(first).tools.map((one) => one.function.name)).toEqual(
      expect.arrayContaining(['read_file', 'edit_file', 'write_file', 'run_command']),
    );
    expect(JSON.stringify(bodyOf(first).messages)).toContain('You fix bugs.');
    const answers = answersIn(second);
    expect(answers).toHaveLength(6);
    expect(answers[2]).toContain('hello');
    for (const denied of [answers[3], answers[4]]) expect(denied).toContain('this run is unattended');
    expect(answers[5]).toContain('outside the directory');
    expect(project.read('src/new.ts')).toBe('export {};\n');
    expect(project.read('src/old.ts')).toBe('two\n');
    expect(project.has('stolen')).toBe(false);
  });

  it('the configuration allows commands', async () => {
    await using server = await startModelServer(({ body }) =>
      hasAnswers(body) ? done() : { calls: [{ name: 'run_command', input: { command: 'touch made by hand' } }] },
    );
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('.agent-config.json', JSON.stringify({ allow: ['touch *'] }));
    backlog.write('agents/process.md', claude.replace(/tools: .*/, 'tools: [Bash]'));
    const { code } = await pawl(['work', backlog.folder, ...quietly(server)]);
    expect(code).toBe(0);
    expect(['made', 'by', 'hand'].map((name) => backlog.has(name))).toEqual([true, true, true]);
  });

  it.each([
    ['model: gpt', 'must name its model as provider:id, or sonnet, opus, haiku; got "gpt"'],
    ['model: sonnet\nmodels: [openai:gpt-5]', 'must have `model` or `models`, not both'],
    ['tools: [5]', 'must list its tools as module paths; got 5'],
  ])('a file with %j is refused with its problem', async (line, problem) => {
    const backlog = new TestBacklog();
    backlog.write('one.md', `---\nname: worker\n${line}\n---\nYou work.\n`);
    await expect(readAgentFile(join(backlog.folder, 'one.md'))).rejects.toThrow(problem);
  });

  it.each([
    ['sonnet', ['anthropic:claude-sonnet-4-5']],
    ['fast', ['openai:gpt-5-mini']],
    ['claude-opus-9', ['anthropic:claude-opus-9']],
    ['google:gemini-2.5-pro', ['google:gemini-2.5-pro']],
    ['inherit', []],
  ])('the model %s is %j', async (model, models) => {
    const backlog = new TestBacklog();
    backlog.write('one.md', `---\nname: worker\nmodel: ${model}\nmaxTurns: 7\n---\nYou work.\n`);
    const own = {
      root: '.',
      project: '.',
      commands: [],
      except: [],
      models: { fast: 'openai:gpt-5-mini' },
      note: () => {},
    };
    const definition = await readAgentFile(join(backlog.folder, 'one.md'), own);
    expect(definition).toMatchObject({ name: 'worker', models, limits: { maxTurns: 7 }, instructions: 'You work.' });
  });

  it('a file in .claude/agents without a list has every tool; disallowedTools takes some away', async () => {
    await using server = await startModelServer(() => done());
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('.claude/agents/process.md', '---\nname: worker\ndisallowedTools: Bash, Write\n---\nYou work.\n');
    await pawl(['work', backlog.folder, ...quietly(server)]);
    const names = bodyOf(server.requests[0]).tools.map((one) => one.function.name);
    expect(names).toEqual(expect.arrayContaining(['read_file', 'find_files', 'search_text', 'edit_file']));
    expect(names).not.toContain('run_command');
    expect(names).not.toContain('write_file');
  });

  it('what generated files of Claude Code hold is read, noted or refused, and never more than they allow', async () => {
    const backlog = new TestBacklog();
    const notes: string[] = [];
    const own = {
      root: backlog.folder,
      project: backlog.folder,
      commands: [],
      except: [],
      models: {},
      note: (text: string) => notes.push(text),
    };
    const read = async (matter: string) => {
      backlog.write('.claude/agents/one.md', `---\r\nname: one\r\n${matter}\r\n---\r\nYou work.\r\n`);
      const { tools = {}, ...rest } = await readAgentFile(join(backlog.folder, '.claude/agents/one.md'), own);
      return { ...rest, tools: Object.keys(tools).toSorted() };
    };
    const all = ['edit_file', 'find_files', 'list_directory', 'read_file', 'run_command', 'search_text', 'write_file'];
    expect(await read('description: Use it: <example>Context: "x": y</example>\r\ntools: *')).toMatchObject({
      description: 'Use it: <example>Context: "x": y</example>',
      tools: all,
    });
    expect(await read('tools: "*"\r\nmodel:')).toMatchObject({ models: [], tools: all });
    expect(await read('model: opus[1m]\r\ntools: [Read, constructor]')).toMatchObject({
      models: ['anthropic:claude-opus-4-1'],
      tools: ['read_file'],
    });
    expect(await read('permissionMode: plan')).toMatchObject({
      tools: ['find_files', 'list_directory', 'read_file', 'search_text'],
    });
    expect((await read('tools: Read(docs/**), Grep')).tools).toEqual(['search_text']);
    await read('mcpServers: [slack]\r\nversion: 2\r\nhooks: {}');
    expect(notes.map((note) => note.replace(/^.*one\.md /, ''))).toEqual([
      'names the tool "constructor", which has no counterpart; ignored.',
      'names the tool "Read(docs/**)", which has no counterpart; ignored.',
      'has mcpServers, version, hooks, which Pawl does not support; ignored.',
    ]);
    await expect(read('model: constructor')).rejects.toThrow('must name its model');
  });

  it('an agent that may write everywhere cannot make itself or others agents, nor change what they may do', async () => {
    const written = [
      ...['agents/process.mjs', '.claude/agents/x.md', '.agent-config.json', '.git/hooks/pre-commit'],
      ...['prompts/tester.md', 'agent_runs/in-progress.json', '.agent-state.json'],
    ];
    await using server = await startModelServer(({ body }) =>
      hasAnswers(body)
        ? done()
        : {
            calls: written.map((path) => ({ name: 'write_file', input: { path, content: 'throw new Error("mine")' } })),
          },
    );
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.bug(2);
    backlog.write('.claude/agents/process.md', '---\nname: worker\ntools: Write\n---\nYou work.\n');
    backlog.write('prompts/tester.md', '---\nname: tester\n---\nYou test.\n');
    backlog.write('.agent-config.json', JSON.stringify({ agents: { test: 'prompts/tester.md' } }));
    // Many folders are reached through a link, such as `/tmp` on some machines.
    const linked = join(backlog.folder, '../', `${basename(backlog.folder)}-linked`);
    symlinkSync(backlog.folder, linked);
    onTestFinished(() => rmSync(linked));
    const { code } = await pawl(['work', linked, ...quietly(server)]);
    expect([code, backlog.list('completed').length]).toEqual([0, 2]);
    expect(written.filter((path) => backlog.has(path) && backlog.read(path).includes('mine'))).toEqual([]);
    for (const answer of answersIn(server.requests[1])) expect(answer).toContain('unattended');
  });

  it('a tool module is read before the run, so that no agent can change the tools of another', async () => {
    await using server = await startModelServer(({ body }) => {
      if (hasAnswers(body)) return done();
      const isTest = JSON.stringify(body).includes('You test.');
      return isTest
        ? { calls: [{ name: 'check', input: {} }] }
        : { calls: [{ name: 'run_command', input: { command: 'cp prompts/mine.mjs prompts/check.mjs' } }] };
    });
    const backlog = new TestBacklog();
    backlog.bug(1);
    const module = (said: string) =>
      `import { z } from '${process.cwd()}/node_modules/zod/index.js';\nexport const check = { description: 'Checks.', inputSchema: z.object({}), execute: () => '${said}' };\n`;
    backlog.write('prompts/check.mjs', module('as it was'));
    backlog.write('prompts/mine.mjs', module('changed'));
    backlog.write('prompts/tester.md', '---\nname: tester\ntools: [./check.mjs]\n---\nYou test.\n');
    backlog.write('agents/process.md', '---\nname: worker\ntools: Bash\n---\nYou work.\n');
    backlog.write('.agent-config.json', JSON.stringify({ agents: { test: 'prompts/tester.md' }, allow: ['cp *'] }));
    const { code } = await pawl(['work', backlog.folder, ...quietly(server)]);
    expect([code, backlog.read('prompts/check.mjs').includes('changed')]).toEqual([0, true]);
    expect(server.requests.flatMap(answersIn).filter((answer) => /as it was|changed/.test(answer))).toEqual([
      'as it was',
    ]);
  });

  it('agents in the home directory are used only if the configuration names them', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    const home = new TestBacklog();
    home.write('.claude/agents/process.md', '---\nname: worker\n---\nYou work.\n');
    const plan = await pawl(['work', backlog.folder, '--dry-run'], undefined, { env: { HOME: home.folder } });
    expect(plan.stdout).toContain('process not found');
    backlog.write('.agent-config.json', JSON.stringify({ agents: { process: '~/.claude/agents/process.md' } }));
    const named = await pawl(['work', backlog.folder, '--dry-run'], undefined, { env: { HOME: home.folder } });
    expect(named.stdout).toContain(`${home.folder}/.claude/agents/process.md`);
  });
});

describe('the backlog of a project', () => {
  it('is found below it; of several, one must be named; none, and a folder that is not there, are exit 2', async () => {
    const project = new TestBacklog();
    const empty = await pawl(['work', project.folder, '--dry-run']);
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('holds no backlog')]);
    project.write('docs/plans/features/FEAT-001-x/PROMPT.md', '# FEAT-001: X\n');
    project.write('node_modules/other/bugs/BUG-009-x/PROMPT.md', '# BUG-009: X\n');
    const found = await pawl(['work', project.folder, '--dry-run']);
    expect([found.code, found.stdout]).toEqual([0, expect.stringContaining('FEAT-001')]);
    // Code may be in a folder of that name.
    mkdirSync(join(project.folder, 'src/features'), { recursive: true });
    expect(backlogIn(project.folder)).toBe(join(project.folder, 'docs/plans'));
    mkdirSync(join(project.folder, 'more/bugs/BUG-001-x'), { recursive: true });
    mkdirSync(join(project.folder, 'other/bugs/BUG-001-x'), { recursive: true });
    expect(() => backlogIn(project.folder)).toThrow(/several backlogs: .*more.*other/s);
    const mistyped = await pawl(['work', join(project.folder, 'mroe')]);
    expect([mistyped.code, mistyped.stderr]).toEqual([2, expect.stringContaining('it does not exist')]);
  });

  it('--init writes agents that work on it, once', async () => {
    await using server = await startModelServer(({ body }) =>
      hasAnswers(body) ? done() : { calls: [{ name: 'run_command', input: { command: 'git status' } }] },
    );
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('package.json', '{ "scripts": { "test": "true" } }');
    const first = await pawl(['work', backlog.folder, '--init']);
    expect([first.code, first.stdout]).toEqual([0, expect.stringContaining('agents/process.md, agents/test.md')]);
    expect(backlog.json('.agent-config.json')).toEqual({
      auto_commit: false,
      allow: ['npm test', 'git status', 'git diff'],
    });
    const again = await pawl(['work', backlog.folder, '--init']);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('already has agents/process.md')]);
    const run = await pawl(['work', backlog.folder, ...quietly(server)]);
    expect([run.code, run.stderr]).toEqual([0, '']);
    expect(answersIn(server.requests[1])[0]).toContain('On branch main');
    expect(backlog.list('completed')).toHaveLength(1);
  });
});
