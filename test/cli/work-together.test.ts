import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startModelServer } from '../../src/testing/index.ts';
import { done, TestBacklog } from '../support/backlog.ts';
import { pawl, pawlOnTerminal } from '../support/pawl.ts';

const quietly = ({ url }: { url: string }) => ['--base-url', url, '--model', 'm', '--log-level', 'silent'];

type Body = { messages: { role: string; content?: unknown }[] };

const answersIn = ({ messages }: Body) =>
  messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));
const itemIn = (body: Body) => /BUG-\d+/.exec(JSON.stringify(body.messages))?.[0] ?? '';

/** Creates a project whose backlog is a folder of it, with so many bugs. */
function projectWith(bugs: number): TestBacklog {
  const project = new TestBacklog();
  for (let number = 1; number <= bugs; number += 1)
    project.write(
      `backlog/bugs/BUG-00${number}-x/PROMPT.md`,
      `# BUG-00${number}: Problem ${number}\n\n**Status**: new\n`,
    );
  project.write('backlog/.agent-config.json', JSON.stringify({ auto_commit: true, allow: ['pwd', 'cat src/*'] }));
  project.write('.gitignore', 'agent_runs\n.agent-state.json*\n');
  project.write('src/shared.ts', 'one\n');
  return project;
}

function commit(project: TestBacklog): void {
  project.git('add', '--all');
  project.git('commit', '--quiet', '--message=As found');
}

describe('pawl work --concurrency', () => {
  it("the tools of each item's agent work in its own work tree, and what they did is merged", async () => {
    await using server = await startModelServer(({ body }) => {
      const own = body as Body;
      const item = itemIn(own);
      if (answersIn(own).length > 0) return done();
      return {
        calls: [
          { name: 'write_file', input: { path: `src/${item}.ts`, content: `export {};\n` } },
          { name: 'run_command', input: { command: 'pwd' } },
          { name: 'edit_file', input: { path: 'src/shared.ts', old_text: 'one', new_text: item } },
          { name: 'read_file', input: { path: '../../../../src/shared.ts' } },
        ].slice(0, item === 'BUG-001' ? 4 : 2),
      };
    });
    const project = projectWith(3);
    project.write('.claude/agents/process.md', '---\nname: worker\ntools: Read, Write, Edit, Bash\n---\nYou work.\n');
    commit(project);
    const { code, stdout } = await pawl(['work', project.folder, '--concurrency', '3', ...quietly(server)]);
    expect([code, stdout.includes('● completed')]).toEqual([0, true]);
    const answers = server.requests.flatMap(({ body }) => [answersIn(body as Body)]).filter((all) => all.length > 0);
    const folders = answers.map(([, folder = '']) => /worktrees\/(BUG-\d+)/.exec(folder)?.[1]);
    expect(folders.toSorted()).toEqual(['BUG-001', 'BUG-002', 'BUG-003']);
    expect(answers.find((all) => all.length === 4)?.[3]).toContain('outside the directory');
    expect(project.list('src')).toEqual(['BUG-001.ts', 'BUG-002.ts', 'BUG-003.ts', 'shared.ts']);
    expect(project.read('src/shared.ts')).toBe('BUG-001\n');
    expect(project.git('log', '--reverse', '--format=%s').split('\n').slice(-3)).toEqual([
      'Complete BUG-001',
      'Complete BUG-002',
      'Complete BUG-003',
    ]);
    expect(project.git('show', '--name-only', '--format=', 'HEAD').split('\n')).toContain('src/BUG-003.ts');
    expect(project.git('status', '--short')).toBe('');
    const lines = ['├─ processing BUG-001', '├─ processing BUG-003', '● BUG-001 succeeded', '● BUG-003 succeeded'];
    const at = lines.map((line) => stdout.indexOf(line));
    expect(at).toEqual(at.toSorted((one, other) => one - other));
    expect(at[0]).toBeGreaterThan(0);
  });

  it('the status line shows each item in progress, and the tool that is running', async () => {
    await using server = await startModelServer(({ body }) =>
      answersIn(body as Body).length > 0 ? done() : { calls: [{ name: 'run_command', input: { command: 'pwd' } }] },
    );
    const project = projectWith(2);
    project.write('.claude/agents/process.md', '---\nname: worker\ntools: Bash\n---\nYou work.\n');
    commit(project);
    const { written } = await pawlOnTerminal(['work', project.folder, '--concurrency', '2', ...quietly(server)]);
    expect(written).toContain('processing BUG-001, processing BUG-002 |');
    expect(written).toContain('processing BUG-001, processing BUG-002: run_command |');
    expect(written).toMatch(/settling BUG-00[12]/);
  });

  it('an agent module exports a function of { root }; one agent for all work trees is refused', async () => {
    await using server = await startModelServer(({ body }) =>
      answersIn(body as Body).length > 0 ? done() : { calls: [{ name: 'where', input: {} }] },
    );
    const project = projectWith(2);
    const definition = (root: string) =>
      `{ name: 'worker', tools: { where: { description: 'Where am I?', inputSchema: z.object({}), execute: () => ${root} } } }`;
    const imports = `import { z } from '${process.cwd()}/node_modules/zod/index.js';\n`;
    project.write('backlog/agents/process.mjs', `${imports}export default ({ root }) => (${definition('root')});\n`);
    commit(project);
    const { code } = await pawl(['work', project.folder, '--concurrency', '2', ...quietly(server)]);
    expect(code).toBe(0);
    const places = server.requests.flatMap(({ body }) => answersIn(body as Body));
    expect(places.map((place) => /worktrees\/(BUG-\d+)/.exec(place)?.[1]).toSorted()).toEqual(['BUG-001', 'BUG-002']);
    const other = projectWith(2);
    other.write('backlog/agents/process.mjs', `${imports}export default ${definition("'here'")};\n`);
    commit(other);
    const refused = await pawl(['work', other.folder, '--concurrency', '2', ...quietly(server)]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('must export a function of { root }')]);
    other.write('backlog/agents/process.md', '---\nname: worker\ntools: [./process.mjs]\n---\nYou work.\n');
    const plan = await pawl(['work', other.folder, '--concurrency', '2', '--dry-run']);
    expect(plan.stdout).toContain('2 queued, in this order, 2 at once:');
    const module = await pawl(['work', other.folder, '--concurrency', '2', ...quietly(server)]);
    expect([module.code, module.stderr]).toEqual([2, expect.stringContaining('process.md must export')]);
    expect(other.has('backlog/.agent-state.json')).toBe(false);
  });

  it('a folder without a repository and an invalid number are refused before anything runs', async () => {
    const project = projectWith(1);
    project.write('backlog/agents/process.md', '---\nname: worker\n---\nYou work.\n');
    const none = await pawl(['work', project.folder, '--concurrency', 'many']);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('--concurrency')]);
    rmSync(join(project.folder, '.git'), { recursive: true });
    const model = ['--base-url', 'http://127.0.0.1:9/v1', '--model', 'm'];
    const bare = await pawl(['work', project.folder, '--concurrency', '2', ...model]);
    expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining('needs a git repository')]);
  });
});
