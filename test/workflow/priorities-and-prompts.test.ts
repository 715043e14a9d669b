import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBacklog } from '../../src/workflow/backlog/backlog.ts';
import { findingsIn, prioritize } from '../../src/workflow/run/ending/priorities.ts';
import { endingPrompt, scanPrompt, workPrompt } from '../../src/workflow/run/prompts.ts';
import { behind } from '../../src/workflow/run/queue.ts';
import { TestBacklog } from '../support/backlog.ts';

describe('what a retrospective found (W-3)', () => {
  const list = [{ id: 'BUG-001', priority: 'P0' }];
  it.each<[object | string, string, readonly unknown[]]>([
    ['All went well.', 'All went well.', []],
    ['The "priorities" are right.', 'The "priorities" are right.', []],
    ['So. {"priorities":[{"id":"a"}]}', 'So. {"priorities":[{"id":"a"}]}', []],
    [{ text: 'a' }, 'a', []],
    [{ text: 'a', priorities: list }, 'a', list],
    [' { "text": "a", "priorities": [1] }\n', 'a', [1]],
    [{ text: 'a', priorities: 'P0' }, 'a', ['P0']],
    [{ text: ' ', other: 'f' }, '```json\n{\n  "text": " ",\n  "other": "f"\n}\n```', []],
  ])('in %j', (report, words, priorities) => expect(findingsIn(report)).toEqual({ words, priorities }));
});

describe('the priorities of a retrospective are set (W-3)', () => {
  const setIn = async (wanted: readonly unknown[], over: Record<string, unknown> = {}) => {
    const backlog = new TestBacklog();
    const folder = backlog.bug(1, over);
    return { backlog, folder, ...(await prioritize(backlog.folder, wanted, 'run-1')) };
  };

  it('in the report and a comment', async () => {
    const wanted = [{ id: 'BUG-001', priority: 'p0', reason: 'It blocks\nall.' }];
    const { backlog, folder, priorities, problems } = await setIn(wanted);
    expect(priorities).toEqual([{ id: 'BUG-001', from: 'P2', to: 'P0', reason: 'It blocks\nall.' }]);
    expect(problems).toEqual([]);
    expect(backlog.json(`${folder}/bug_report.json`)).toMatchObject({ priority: 'P0', component: 'core' });
    expect(backlog.read(`${folder}/comments.md`)).toBe(
      '## P0 instead of P2\n\nBy the retrospective of run run-1.\n\n> It blocks\n> all.\n',
    );
  });

  it('without a reason', async () => {
    const { backlog, folder, priorities } = await setIn([{ id: 'BUG-1', priority: 'P1', reason: 3 }]);
    expect(priorities).toEqual([{ id: 'BUG-001', from: 'P2', to: 'P1', reason: '' }]);
    expect(backlog.read(`${folder}/comments.md`)).toBe('## P1 instead of P2\n\nBy the retrospective of run run-1.\n');
  });

  it('the same priority changes nothing', async () => {
    const { backlog, folder, priorities, problems } = await setIn([{ id: 'BUG-001', priority: 'P2' }]);
    expect([priorities, problems]).toEqual([[], []]);
    expect(backlog.has(`${folder}/comments.md`)).toBe(false);
  });

  it('in a prompt that names the priority', async () => {
    const backlog = new TestBacklog();
    const folder = backlog.bug(1);
    backlog.write(`${folder}/PROMPT.md`, '# BUG-001: One\n\n**Priority**: P2\n\nDo it.\n');
    await prioritize(backlog.folder, [{ id: 'BUG-001', priority: 'P3' }], 'run-1');
    expect(backlog.read(`${folder}/PROMPT.md`)).toBe('# BUG-001: One\n\n**Priority**: P3\n\nDo it.\n');
    expect(backlog.json(`${folder}/bug_report.json`)).toMatchObject({ priority: 'P3' });
  });

  it('an item that is only a prompt gets no report', async () => {
    const backlog = new TestBacklog();
    backlog.write('bugs/BUG-001-one/PROMPT.md', '# BUG-001: One\n\n**Priority**: P2\n\nDo it.\n');
    const { priorities } = await prioritize(backlog.folder, [{ id: 'BUG-001', priority: 'P3' }], 'run-1');
    expect(priorities.map(({ to }) => to)).toEqual(['P3']);
    expect(backlog.list('bugs/BUG-001-one')).toEqual(['PROMPT.md', 'comments.md']);
  });

  const shape = '`priorities` must be { id: the id of an item, priority: P0, P1, P2, P3 }; got';
  it.each([
    [{ id: 'BUG-001', priority: 'high' }, `The retrospective set no priority: ${shape}`],
    [{ id: 1, priority: 'P0' }, `The retrospective set no priority: ${shape}`],
    ['P0', `The retrospective set no priority: ${shape} "P0".`],
    [{ id: 'BUG-009', priority: 'P0' }, 'The retrospective set the priority of BUG-009, which is not an open item.'],
  ])('%j is a problem, and the others are set', async (wrong, problem) => {
    const { priorities, problems } = await setIn([wrong, { id: 'BUG-001', priority: 'P0' }]);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(priorities.map(({ to }) => to)).toEqual(['P0']);
  });

  it('what cannot be written is a problem', async () => {
    const backlog = new TestBacklog();
    backlog.bug(1);
    backlog.write('agent_runs', '');
    const { priorities, problems } = await prioritize(backlog.folder, [{ id: 'BUG-001', priority: 'P0' }], 'run-1');
    expect(priorities).toEqual([]);
    expect(problems).toEqual([
      expect.stringMatching(/^The priority of BUG-001 could not be set to P0: Cannot lock the backlog/),
    ]);
  });

  it('they are committed with auto_commit, and a commit that fails is a problem', async () => {
    const backlog = new TestBacklog();
    backlog.write('.agent-config.json', '{ "auto_commit": true }');
    backlog.bug(1);
    backlog.git('add', '.');
    backlog.git('commit', '--quiet', '--message=Items');
    const { problems } = await prioritize(backlog.folder, [{ id: 'BUG-001', priority: 'P0' }], 'run-1');
    expect(problems).toEqual([]);
    expect(backlog.git('log', '-1', '--format=%s')).toBe('BUG-001: P0 instead of P2');
    backlog.lockIndex();
    const failed = await prioritize(backlog.folder, [{ id: 'BUG-001', priority: 'P1' }], 'run-1');
    expect(failed.priorities.map(({ to }) => to)).toEqual(['P1']);
    expect(failed.problems).toEqual([
      expect.stringMatching(/^The priority of BUG-001 is not committed: .*index\.lock/s),
    ]);
  });
});

describe('the prompts of a run', () => {
  const backlogOfOne = () => {
    const backlog = new TestBacklog();
    const folder = backlog.bug(1, { title: 'It breaks' });
    const [item] = readBacklog(backlog.folder).items;
    if (item === undefined) throw new Error('no item');
    return { backlog, folder, item };
  };

  it('for the work on an item: the task, its plan and the comments of the backlog itself', () => {
    const { backlog, folder, item } = backlogOfOne();
    const place = new TestBacklog();
    place.write(`${folder}/PROMPT.md`, 'In the copy.');
    place.write(`${folder}/PLAN.md`, 'First this.');
    place.write(`${folder}/comments.md`, 'Not this one.');
    backlog.write(`${folder}/comments.md`, 'A comment.');
    const prompt = workPrompt(backlog.folder, place.folder, item, 'processing');
    expect(prompt).toContain('# BUG-001: It breaks\n\nDo the work of BUG-001. If a person has to do something first');
    expect(prompt).toContain(`\n\nIts folder is ${join(place.folder, folder)}.\n`);
    expect(prompt).toContain('## Task\n\nIn the copy.\n\n## Plan\n\nFirst this.\n\n## Comments\n\nA comment.\n');
  });

  it('for the test of an item', () => {
    const { backlog, item } = backlogOfOne();
    const prompt = workPrompt(backlog.folder, backlog.folder, item, 'testing');
    expect(prompt).toContain(
      '\n\nTest what was done for BUG-001. Report { "status": "succeeded", "message": what you tested } if all is well',
    );
  });

  it('for the order of the items', () => {
    const { item } = backlogOfOne();
    expect(scanPrompt([item, { ...item, id: 'BUG-002', createdAt: null }])).toMatch(
      /usual order\. Report .*\n\n- BUG-001 \(P2, bug, 2026-01-01.*\): It breaks\n- BUG-002 \(P2, bug, no date\): It breaks\n$/,
    );
  });

  it('for the end of a run: its task, the document, the open items and the state', () => {
    const { backlog, item } = backlogOfOne();
    const state = { run: 'run-1', iteration_count: 1, early_exit_triggered: false } as typeof backlog.state;
    const prompt = endingPrompt('summary', state, '# Report', [item]);
    expect(prompt).toBe(
      `Summarize this run in a few sentences for the top of its report. It worked on 1 item.\n\n# Report\n\nOpen now:\n\n- BUG-001 (P2): It breaks\n\nThe state of the run:\n\n${JSON.stringify(state, null, 2)}\n`,
    );
    const early = { ...state, early_exit_triggered: true, early_exit_reason: 'a STOP' };
    expect(endingPrompt('retrospective', early, '# Report', [])).toMatch(
      /^Look back at this run: .* It exited early: a STOP\. It worked on 1 item\.\n\n# Report\n\nThe state of the run:/,
    );
  });

  it('at most 200 open items are listed', () => {
    const { backlog, item } = backlogOfOne();
    const state = { run: 'run-1', iteration_count: 1 } as typeof backlog.state;
    const many = (count: number) => endingPrompt('summary', state, '', Array<typeof item>(count).fill(item));
    expect(many(200)).not.toContain('more');
    expect(many(201)).toContain('- BUG-001 (P2): It breaks\n- and 1 more\n\n');
    expect(many(201).match(/^- BUG/gm)?.length).toBe(200);
  });

  it('items that failed in an earlier run come last, each group in its order', () => {
    const { item } = backlogOfOne();
    const items = ['BUG-001', 'BUG-002', 'BUG-003'].map((id) => ({ ...item, id }));
    expect(behind(items, new Map([['BUG-001', 1]])).map(({ id }) => id)).toEqual(['BUG-002', 'BUG-003', 'BUG-001']);
  });
});
