import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineAgent, runSession } from '../../src/index.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { createWorkItem, runWorkflow, type WorkItemInput, workItemTool } from '../../src/workflow/index.ts';
import { TestBacklog } from '../support/backlog.ts';
import { keptLog, report, wireModel } from '../support/session.ts';

const bug = (over: Partial<WorkItemInput> = {}): WorkItemInput =>
  ({
    item_type: 'bug',
    title: 'The export is empty',
    component: 'export',
    description: 'Nothing comes out.',
    ...over,
  }) as WorkItemInput;

describe('W-2: createWorkItem', () => {
  it.each([
    { description: 'Wrong rows.\n- Status: closed tickets are still listed\n' },
    { description: 'The page shows\n\n**Status**: done\n\neven after a reload.' },
    { title: 'The page says **Status**: done' },
  ])('W-1: no field is read out of the words of an item: %j', async (words) => {
    const backlog = new TestBacklog();
    const { id } = await createWorkItem(backlog.folder, bug(words));
    const worked: string[] = [];
    const process = async ({ item }: { item: { id: string } }) => {
      worked.push(item.id);
      return { status: 'succeeded' } as const;
    };
    await runWorkflow({ backlog: backlog.folder, agents: { process }, logger: false });
    expect(worked).toEqual([id]);
    const report = backlog.json(`completed/${backlog.list('completed')[0]}/bug_report.json`);
    expect(report).toMatchObject({ status: 'completed', description: bug(words).description });
  });

  it('writes all files of an item and its row in the summary', async () => {
    const backlog = new TestBacklog();
    const created = await createWorkItem(backlog.folder, {
      item_type: 'bug',
      title: 'The export is empty: Ä & Ö | "quoted"',
      component: 'export',
      priority: 'P0',
      description: 'Nothing comes out.',
      evidence: [{ type: 'file', location: 'src/export.ts', description: 'The code' }],
      metadata: { severity: 'high', steps_to_reproduce: ['Export'], of_my_own: 7 },
    });
    expect(created).toEqual({
      created: true,
      id: 'BUG-001',
      title: 'The export is empty: Ä & Ö | "quoted"',
      folder: 'bugs/BUG-001-the-export-is-empty-a-o-quoted',
      duplicates: [],
      commit: null,
    });
    const folder = created.folder ?? '';
    expect(backlog.list(folder)).toEqual(['PLAN.md', 'PROMPT.md', 'TASKS.md', 'bug_report.json', 'comments.md']);
    expect(backlog.json(`${folder}/bug_report.json`)).toMatchObject({
      bug_id: 'BUG-001',
      priority: 'P0',
      status: 'new',
      severity: 'high',
      reproducibility: 'unknown',
      of_my_own: 7,
      evidence: [{ location: 'src/export.ts' }],
    });
    expect(backlog.read(`${folder}/PROMPT.md`)).toMatch(
      /^# BUG-001: .*\n\n\*\*Priority\*\*: P0\n\*\*Component\*\*: export\n\*\*Type\*\*: bug\n\n## Description\n\nNothing comes out\.\n/,
    );
    expect(backlog.read(`${folder}/PROMPT.md`)).toContain(
      '## Acceptance Criteria\n\n- [ ] It no longer happens: The export is empty',
    );
    expect(backlog.read('bugs/bugs.md')).toContain(
      '| BUG-001 | The export is empty: Ä & Ö / "quoted" | P0 | new | export |',
    );
  });

  it('each type has its own folder, files and ids', async () => {
    const backlog = new TestBacklog();
    const feature = await createWorkItem(backlog.folder, {
      ...bug(),
      item_type: 'feature',
      metadata: { business_value: 'high' },
    } as WorkItemInput);
    const action = await createWorkItem(backlog.folder, {
      ...bug(),
      item_type: 'human_action',
      metadata: { required_action: 'Buy it' },
    } as WorkItemInput);
    expect([feature.folder, action.folder]).toEqual([
      'features/FEAT-001-the-export-is-empty',
      'human-actions/ACTION-001-the-export-is-empty',
    ]);
    expect(backlog.list(feature.folder ?? '')).toContain('feature_request.json');
    expect(backlog.list(action.folder ?? '')).toContain('INSTRUCTIONS.md');
    expect(backlog.json(`${action.folder}/action_report.json`)).toMatchObject({
      status: 'pending',
      urgency: 'medium',
      reason: 'Nothing comes out.',
      required_action: 'Buy it',
      blocking_items: [],
      created_date: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
    });
    expect(backlog.has('features/features.md') && backlog.has('human-actions/actions.md')).toBe(true);
  });

  it('ids continue across active, completed and deprecated items', async () => {
    const backlog = new TestBacklog();
    backlog.bug(3);
    backlog.write('completed/BUG-012-done/bug_report.json', '{}');
    backlog.write('deprecated/bug-040-old/bug_report.json', '{}');
    backlog.write('completed/FEAT-099-other/feature_request.json', '{}');
    expect((await createWorkItem(backlog.folder, bug())).id).toBe('BUG-041');
  });

  it('concurrent creators never get the same id, in one process or in two', async () => {
    const backlog = new TestBacklog();
    const script = `import { createWorkItem } from '${process.cwd()}/src/workflow/index.ts';
      for (let n = 0; n < 8; n += 1) await createWorkItem(process.argv[1], { item_type: 'bug', title: 'From ' + process.pid + ' ' + n, component: 'c', description: 'd' });`;
    const there = new Promise((resolve) => {
      setImmediate(() =>
        resolve(
          spawnSync(process.execPath, ['--input-type=module', '-e', script, backlog.folder], { encoding: 'utf8' }),
        ),
      );
    });
    const here = Array.from({ length: 8 }, (_, number) =>
      createWorkItem(backlog.folder, bug({ title: `Here ${number}` })),
    );
    const [child] = await Promise.all([there, ...here]);
    expect(child).toMatchObject({ status: 0, stderr: '' });
    const folders = backlog.list('bugs').filter((name) => name.startsWith('BUG-'));
    expect(folders.map((name) => name.slice(0, 7))).toEqual(
      Array.from({ length: 16 }, (_, index) => `BUG-${String(index + 1).padStart(3, '0')}`),
    );
    const rows = backlog
      .read('bugs/bugs.md')
      .split('\n')
      .filter((row) => row.startsWith('| BUG-'));
    expect(rows).toHaveLength(16);
  });

  it('an existing summary keeps its columns, order and text', async () => {
    const backlog = new TestBacklog();
    const before =
      '# Our bugs\n\nRead this first.\n\n| Status | Bug ID | Title | Who |\n|:---|---|---|---|\n| open | BUG-007 | Old one | Ann |\n\n## Notes\n\nMore words.\n';
    backlog.write('bugs/bugs.md', before);
    await createWorkItem(backlog.folder, bug());
    expect(backlog.read('bugs/bugs.md')).toBe(
      // The id of an item that only the summary knows is not used again.
      before.replace('| Ann |\n', '| Ann |\n| new | BUG-008 | The export is empty |  |\n'),
    );
  });

  it('similar items are listed in the result and in the new item, and nothing is dropped', async () => {
    const backlog = new TestBacklog();
    await createWorkItem(backlog.folder, bug());
    const again = await createWorkItem(backlog.folder, bug({ title: 'The export is empty again' }));
    expect(again).toMatchObject({ created: true, id: 'BUG-002', duplicates: [{ id: 'BUG-001' }] });
    expect(again.duplicates[0]?.similarity).toBeGreaterThan(0.75);
    expect(backlog.json(`${again.folder}/bug_report.json`)).toMatchObject({ possible_duplicates: ['BUG-001'] });
    expect(backlog.read(`${again.folder}/comments.md`)).toContain('BUG-001');
    const refused = await createWorkItem(backlog.folder, bug({ on_duplicate: 'refuse' }));
    expect(refused).toMatchObject({
      created: false,
      id: null,
      folder: null,
      duplicates: [{ id: 'BUG-001' }, { id: 'BUG-002' }],
    });
    // Each backlog can set its own threshold.
    backlog.write('.agent-config.json', '{"duplicate_threshold": 1, "of_others": true}');
    expect((await createWorkItem(backlog.folder, bug({ title: 'The export is quite empty' }))).duplicates).toEqual([]);
  });

  it.each([
    [undefined, '`item` is required: an object with `item_type` and `title`.'],
    ['task', '`item` must be an object with `item_type` and `title`; got "task".'],
  ])('what is no item is refused: %j', async (item, message) => {
    await expect(createWorkItem(new TestBacklog().folder, item as never)).rejects.toThrow(message);
  });

  it.each([
    [{ item_type: 'task' }, "`item_type` must be one of 'bug', 'feature', 'human_action'; got \"task\"."],
    [{ title: ' ' }, '`title` must be one line of 1 to 200 characters; got " ".'],
    [{ title: 'two\nlines' }, '`title` must be one line of 1 to 200 characters; got "two\\nlines".'],
    [{ priority: 'P9' }, "`priority` must be one of 'P0', 'P1', 'P2', 'P3'; got \"P9\"."],
    [{ description: undefined }, '`description` is required: a string that is not blank.'],
    [
      { metadata: { severity: 'huge' } },
      "`metadata.severity` must be one of 'critical', 'high', 'medium', 'low'; got \"huge\".",
    ],
    [
      { item_type: 'human_action', metadata: { urgency: 'now' } },
      "`metadata.urgency` must be one of 'critical', 'high', 'medium', 'low'; got \"now\".",
    ],
    [
      { evidence: [{ type: 'file', location: '', description: 'x' }] },
      '`evidence[0].location` must be a string that is not blank; got "".',
    ],
    [{ branch_name: 'b' }, 'branch_name requires auto_commit: true; got branch_name b.'],
    [{ colour: 'red' }, 'Unknown option `colour`.'],
  ])('invalid input is refused before anything is written: %o', async (over, message) => {
    const backlog = new TestBacklog();
    await expect(createWorkItem(backlog.folder, { ...bug(), ...over } as WorkItemInput)).rejects.toThrow(message);
    expect(backlog.list('.')).toEqual(['.git']);
  });
});

describe('W-2: work items in git', () => {
  it('a commit contains only the item, and other changes stay staged', async () => {
    const backlog = new TestBacklog();
    backlog.write('mine.txt', 'half done');
    backlog.git('add', 'mine.txt');
    const created = await createWorkItem(
      backlog.folder,
      bug({ auto_commit: true, title: '--help; rm -rf "$HOME" `x`' }),
    );
    expect(created.commit).toEqual({ ok: true, sha: backlog.git('rev-parse', 'HEAD'), branch: 'main' });
    expect(backlog.git('log', '-1', '--format=%s')).toBe('Add BUG-001: --help; rm -rf "$HOME" `x`');
    const files = backlog.git('show', '--name-only', '--format=', 'HEAD').split('\n');
    expect(files.every((name) => name.startsWith('bugs/'))).toBe(true);
    expect(files).toHaveLength(6);
    expect(backlog.git('status', '--short', '--', 'mine.txt')).toBe('A  mine.txt');
  });

  it('with branch_name, the item is also on disk and the working tree keeps its branch', async () => {
    const backlog = new TestBacklog();
    const created = await createWorkItem(backlog.folder, bug({ auto_commit: true, branch_name: 'triage/today' }));
    const more = await createWorkItem(
      backlog.folder,
      bug({ auto_commit: true, branch_name: 'triage/today', title: 'Another' }),
    );
    expect(backlog.git('rev-parse', '--abbrev-ref', 'HEAD')).toBe('main');
    expect(backlog.git('log', '--format=%s', 'triage/today').split('\n')).toEqual([
      'Add BUG-002: Another',
      'Add BUG-001: The export is empty',
      'Begin',
    ]);
    expect(backlog.has(created.folder ?? '') && backlog.has(more.folder ?? '')).toBe(true);
    expect(backlog.git('diff', '--cached', '--name-only')).toBe('');
  });

  it('a git failure is reported, and the item is still written', async () => {
    const backlog = new TestBacklog();
    backlog.write('.git/hooks/pre-commit', '#!/bin/sh\necho not today >&2\nexit 1\n');
    chmodSync(join(backlog.folder, '.git/hooks/pre-commit'), 0o755);
    const created = await createWorkItem(backlog.folder, bug({ auto_commit: true }));
    expect(created).toMatchObject({
      created: true,
      id: 'BUG-001',
      commit: { ok: false, message: 'git commit failed: not today' },
    });
    const branch = await createWorkItem(
      backlog.folder,
      bug({ auto_commit: true, branch_name: 'not a branch', title: 'B' }),
    );
    expect(branch.commit).toMatchObject({ ok: false, message: expect.stringContaining('not a valid branch name') });
  });
});

describe('workItemTool', () => {
  it('a model creates items over HTTP, and a similar item is refused with the id of the open one', async () => {
    const backlog = new TestBacklog();
    const input = {
      item_type: 'bug',
      title: 'The export is empty',
      component: 'export',
      description: 'Nothing.',
      metadata: { severity: 'low' },
    };
    await using server = await startModelServer([
      { calls: [{ name: 'create', input }] },
      { calls: [{ name: 'create', input }] },
      { calls: [{ name: 'create', input: { ...input, on_duplicate: 'create' } }] },
      { calls: [{ name: 'create', input: { ...input, item_type: 'human_action', metadata: { urgency: 'now' } } }] },
      report(),
    ]);
    const agent = defineAgent({
      name: 'triage',
      models: [wireModel('openai', server.url)],
      tools: { create: workItemTool(backlog.folder) },
    });
    const { result } = await runSession(agent, { prompt: 'Write it down.', logger: keptLog().logger }).then(
      (result) => ({ result }),
    );
    expect(result.success).toBe(true);
    const answers = result.turns.flatMap((turn) => turn.attempts.flatMap((attempt) => attempt.calls));
    expect(answers.map(({ slug }) => slug)).toEqual([null, 'tool_exec_failed', null, 'tool_exec_failed', null]);
    expect(answers[1]?.result.message).toContain('similar items are open: BUG-001 "The export is empty"');
    expect(answers[3]?.result.message).toContain('metadata.urgency');
    expect(backlog.list('bugs').filter((name) => name.startsWith('BUG'))).toHaveLength(2);
    // Providers reject a union at the top of a tool's schema.
    expect(server.requests[0]?.body.tools?.[0]).toMatchObject({
      function: { name: 'create', parameters: { type: 'object' } },
    });
  });
});
