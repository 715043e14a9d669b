import { describe, expect, it } from 'vitest';
import { createWorkItem, runWorkflow, type WorkFunction, type WorkItemInput } from '../../src/workflow/index.ts';
import { runOver, TestBacklog } from '../support/backlog.ts';

const succeeds: WorkFunction = () => ({ status: 'succeeded' });
const item = (over: object = {}) =>
  ({ item_type: 'bug', title: 'It breaks', component: 'core', description: 'Now.', ...over }) as WorkItemInput;

describe('W-2: a new row of a summary', () => {
  const rows = '| ID | Title | Status |\n|---|---|---|\n';

  it('stands among open items, not among those that are done', async () => {
    const backlog = new TestBacklog();
    const before = `# Bugs\n\n## Resolved\n\n${rows}| BUG-001 | One | fixed |\n\n## Open\n\n${rows}`;
    backlog.write('bugs/bugs.md', before);
    await createWorkItem(backlog.folder, item());
    expect(backlog.read('bugs/bugs.md')).toBe(`${before}| BUG-002 | It breaks | new |\n`);
  });

  it('stands in the section of its kind', async () => {
    const backlog = new TestBacklog();
    const before = `# Backlog\n\n## Reported bugs\n\n${rows}\n## Wanted features\n\n${rows}`;
    backlog.write('features/features.md', before);
    await createWorkItem(backlog.folder, item({ item_type: 'feature' }));
    expect(backlog.read('features/features.md')).toBe(`${before}| FEAT-001 | It breaks | new |\n`);
  });

  it.each([
    ['before them', '', '## Open\n\nTABLE\n'],
    ['in the section of open items', '## Open\n\nNone.\n\n', '## Open\n\nNone.\n\nTABLE\n'],
  ])('stands in a table of its own, %s, if all others are of items that are done', async (_, section, written) => {
    const backlog = new TestBacklog();
    const done = `## Completed\n\n${rows}| BUG-001 | One | fixed |\n`;
    backlog.write('bugs/bugs.md', `# Bugs\n\n${section}${done}`);
    await createWorkItem(backlog.folder, item());
    const table =
      '| ID | Title | Priority | Status | Component | Folder |\n| --- | --- | --- | --- | --- | --- |\n| BUG-002 | It breaks | P2 | new | core | bugs/BUG-002-it-breaks |';
    expect(backlog.read('bugs/bugs.md')).toBe(`# Bugs\n\n${written.replace('TABLE', table)}\n${done}`);
  });

  it.each([
    [
      '| ID | Title | Urgency | Status | Blocking Items |',
      '| ACTION-001 | It breaks | high | pending | BUG-007, BUG-009 |',
    ],
    ['| Action ID | Status | Blocks | Owner |', '| ACTION-001 | pending | BUG-007, BUG-009 |  |'],
  ])('of an action has what its columns ask for: %s', async (head, row) => {
    const backlog = new TestBacklog();
    const before = `# Actions\n\n${head}\n${head.replaceAll(/[^|]+/g, '---')}\n`;
    backlog.write('human-actions/actions.md', before);
    const metadata = { urgency: 'high', blocking_items: ['BUG-007', 'BUG-009'] };
    await createWorkItem(backlog.folder, item({ item_type: 'human_action', metadata }));
    expect(backlog.read('human-actions/actions.md')).toBe(`${before}${row}\n`);
  });
});

it('W-2: a row that stands below its table is marked too', async () => {
  const backlog = new TestBacklog();
  backlog.bug(1);
  backlog.bug(2);
  const rows = (one: string, two: string) =>
    `# Bugs\n\n| ID | Title | Status |\n|---|---|---|\n| BUG-001 | Bug 1 | ${one} |\n\n\nAnd one more:\n\n| BUG-002 | Bug 2 | ${two} |\nBUG-002 | is | prose\n`;
  backlog.write('bugs/bugs.md', rows('new', 'new'));
  await runOver(backlog, { process: succeeds });
  expect(backlog.read('bugs/bugs.md')).toBe(rows('completed', 'completed'));
});

it.each([
  ['bug', { reproducibility: 'sometimes' }],
  ['bug', { reproducibility: 'rarely' }],
  ['feature', { type: 'improvement', estimated_effort: 'xl' }],
  ['feature', { estimated_effort: 'xs' }],
])('W-2: a %s takes %j', async (item_type, metadata) => {
  const backlog = new TestBacklog();
  const { folder } = await createWorkItem(backlog.folder, item({ item_type, metadata }));
  const file = item_type === 'bug' ? 'bug_report.json' : 'feature_request.json';
  expect(backlog.json(`${folder}/${file}`)).toMatchObject(metadata);
});

it('W-2: a duplicate threshold of 1 means the same title', async () => {
  const backlog = new TestBacklog();
  backlog.write('.agent-config.json', '{"duplicate_similarity_threshold": 1}');
  await createWorkItem(backlog.folder, item({ title: 'The cart forgets the total' }));
  const duplicatesOf = async (title: string) =>
    (await createWorkItem(backlog.folder, item({ title, on_duplicate: 'refuse' }))).duplicates.map(({ id }) => id);
  expect(await duplicatesOf('The total forgets the cart')).toEqual([]);
  expect(await duplicatesOf('the cart  forgets the TOTAL')).toEqual(['BUG-001']);
  expect(await duplicatesOf('C++')).toEqual([]);
  expect(await duplicatesOf('C#')).toEqual([]);
});

it('W-1: an item that is marked done and lies among the open ones is told of, and compared with new ones', async () => {
  const backlog = new TestBacklog();
  backlog.bug(1, { status: 'fixed', title: 'The cart forgets the total' });
  backlog.bug(2);
  const { result } = await runOver(backlog, { process: succeeds });
  expect(result.succeeded).toEqual(['BUG-002']);
  expect(result.report).toContain('BUG-001 is marked done (fixed in bug_report.json), and is still in bugs/BUG-001');
  const again = await createWorkItem(backlog.folder, item({ title: 'The cart forgets the total' }));
  expect(again.duplicates).toMatchObject([{ id: 'BUG-001', isOpen: false, similarity: 1 }]);
});

describe('W-1: the backlog of a run', () => {
  it('is found below the project that is given', async () => {
    const backlog = new TestBacklog();
    const inner = 'work/items';
    backlog.write(`${inner}/bugs/BUG-001-x/PROMPT.md`, '# BUG-001: X\n\n**Status**: new\n');
    const result = await runWorkflow({ backlog: backlog.folder, agents: { process: succeeds }, logger: false });
    expect(result.succeeded).toEqual(['BUG-001']);
    expect(backlog.list(`${inner}/completed`)).toEqual(['BUG-001-x']);
    expect(backlog.list('')).not.toContain('agent_runs');
  });

  it('is the given one, if its folders are there and empty, whatever lies below', async () => {
    const backlog = new TestBacklog();
    for (const kind of ['bugs', 'features']) backlog.write(`${kind}/.gitkeep`, '');
    backlog.write('docs/example/bugs/BUG-001-sample/PROMPT.md', '# BUG-001: An example\n\n**Status**: new\n');
    const result = await runWorkflow({ backlog: backlog.folder, agents: { process: succeeds }, logger: false });
    expect([result.succeeded, backlog.has('docs/example/bugs/BUG-001-sample')]).toEqual([[], true]);
  });

  it('is refused if there is none, or several, before anything is written', async () => {
    const backlog = new TestBacklog();
    backlog.write('src/index.ts', '');
    const refused = (message: string) =>
      expect(
        runWorkflow({ backlog: backlog.folder, agents: { process: succeeds }, logger: false }),
      ).rejects.toMatchObject({
        code: 'invalid_workflow',
        message: expect.stringContaining(message),
      });
    await refused('holds no backlog: neither it nor a folder below has one of bugs, ');
    for (const name of ['one', 'two']) backlog.write(`${name}/bugs/BUG-001-x/PROMPT.md`, '# X\n');
    await refused('holds several backlogs: pass one of ');
    expect(backlog.list('').toSorted()).toEqual(expect.not.arrayContaining(['agent_runs', '.agent-state.json']));
  });
});

it('W-4: a state file of another framework, of any shape, is kept aside and named, and the run goes on', async () => {
  const backlog = new TestBacklog();
  backlog.bug(1);
  const theirs = '{"session_id": null, "phase": "idle", "items_completed": []}';
  backlog.write('.agent-state.json', theirs);
  const { result } = await runOver(backlog, { process: succeeds });
  expect([result.status, result.succeeded, result.created]).toEqual(['completed', ['BUG-001'], []]);
  const kept = backlog.list('').find((name) => name.startsWith('.agent-state.json.kept-'));
  expect(backlog.read(kept ?? '')).toBe(theirs);
  expect(result.problems).toEqual([
    expect.stringMatching(/^The state file belonged to another tool: it lacks fields of W-4/),
  ]);
  expect(result.problems[0]).toContain(`It is kept as ${kept}.`);
});
