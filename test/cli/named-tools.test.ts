import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAgentFile } from '../../src/cli/agent-file.ts';
import { namedTools, toolList } from '../../src/cli/named-tools.ts';
import type { LocalTool } from '../../src/tools/local.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'pawl-tools-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The tools of a list, and the names in it that were unknown. */
function toolsIn(list: string) {
  const unknown: string[] = [];
  const names = toolList(list).map(String);
  const tools = namedTools(names, { root: folder(), commands: [], except: [] }, (name) => void unknown.push(name));
  return { tools, unknown };
}

type Asking = { needsApproval(input: object): unknown };
const asks = (tool: LocalTool | undefined, input: object) => (tool as unknown as Asking).needsApproval(input);

describe('C-1: the tools that an agent file names', () => {
  it('may do what their own limits permit, and not what those of another tool do', async () => {
    const { tools } = toolsIn('Edit, Write(docs/**)');
    expect(await asks(tools.write_file, { path: 'src/a.ts' })).toBe(true);
    expect(await asks(tools.write_file, { path: 'docs/a.md' })).toBe(false);
    expect(await asks(tools.edit_file, { path: 'src/a.ts' })).toBe(false);
    expect(await asks(tools.edit_file, { path: '.husky/pre-commit' })).toBe(true);
  });

  it('have limits with commas, between them and in braces', async () => {
    const { tools, unknown } = toolsIn('Read, Edit(src/**/*.{ts,tsx}, docs/), Bash(git diff:*, git log)');
    for (const path of ['src/a.ts', 'src/b/c.tsx', 'docs/a.md']) {
      expect(await asks(tools.edit_file, { path })).toBe(false);
    }
    expect(await asks(tools.edit_file, { path: 'src/a.js' })).toBe(true);
    expect(asks(tools.run_command, { command: 'git diff x' })).toBe(false);
    expect(asks(tools.run_command, { command: 'git log x' })).toBe(true);
    expect([Object.keys(tools), unknown]).toEqual([['read_file', 'edit_file', 'run_command'], []]);
  });

  it('may do anything with the limit *, as in Bash(*)', async () => {
    const { tools, unknown } = toolsIn('Bash(*), Write(*), Read(*), Read(src/**)');
    expect(asks(tools.run_command, { command: 'rm -rf x | sh' })).toBe(false);
    expect(await asks(tools.write_file, { path: 'src/a.ts' })).toBe(false);
    expect(unknown).toEqual(['"Read(src/**)"']);
  });

  it("are read from front matter that is no YAML, as Claude Code's users write it", async () => {
    const project = folder();
    mkdirSync(join(project, '.claude/agents'), { recursive: true });
    const file = join(project, '.claude/agents/loose.md');
    const lines = [
      'name: loose',
      'description: Use it: always: so',
      'model: "sonnet"',
      'tools:',
      '  - Read',
      "  - 'Edit'",
    ];
    writeFileSync(file, `---\n${lines.join('\n')}\n---\n\nBe quick.\n`);
    const note = (text: string) => expect(text).toBe('no note');
    const place = { root: project, project, commands: [], except: [], models: {}, note };
    const { tools, models, description } = await readAgentFile(file, place);
    expect(Object.keys(tools ?? {})).toEqual(['read_file', 'edit_file']);
    expect([models, description]).toEqual([['anthropic:claude-sonnet-4-5'], 'Use it: always: so']);
  });

  it('are left out whole, with a note, if a part of them is disallowed', async () => {
    const project = folder();
    mkdirSync(join(project, '.claude/agents'), { recursive: true });
    const file = join(project, '.claude/agents/careful.md');
    writeFileSync(file, '---\nname: careful\ndisallowedTools: Read(.env), Bash, WebFetch\n---\n\nBe careful.\n');
    const notes: string[] = [];
    const note = (text: string) => void notes.push(text);
    const place = { root: project, project, commands: [], except: [], models: {}, note };
    const { tools } = await readAgentFile(file, place);
    const none = join(project, '.claude/agents/none.md');
    writeFileSync(none, '---\nname: none\ntools: Read, Bash\ndisallowedTools: "*"\n---\n\nDo nothing.\n');
    expect((await readAgentFile(none, place)).tools).toEqual({});
    expect(Object.keys(tools ?? {})).not.toContain('read_file');
    expect(Object.keys(tools ?? {})).not.toContain('run_command');
    expect(Object.keys(tools ?? {})).toContain('search_text');
    expect(notes).toEqual([
      `${file} disallows Read(.env). Parts of a tool cannot be disallowed: read_file is left out.`,
    ]);
  });
});
