import { beforeEach, describe, expect, it } from 'vitest';
import type { WorkItemDraft } from '../../machines/index.ts';
import { type Capture, capture, finishWrites, unwrittenText } from '../../src/workflow/run/ending/capture.ts';
import { TestBacklog } from '../support/backlog.ts';

const draft: WorkItemDraft = {
  item_type: 'bug',
  title: 'Session failure',
  component: 'runs',
  priority: 'P1',
  evidence: [{ type: 'log', location: 'a.jsonl', description: 'The log.' }],
  description: 'What happened.',
  metadata: {},
};

describe('W-2: an incident becomes a work item', () => {
  let backlog: TestBacklog;
  beforeEach(() => {
    backlog = new TestBacklog();
  });
  const captured = (own: Partial<Capture> = {}) =>
    capture(backlog.folder, {
      draft,
      fingerprint: 'critical_error archiving',
      run: 'r1',
      why: 'Critical error in archiving',
      prompt: null,
      files: new Map([['evidence-r1.json', '{}\n']]),
      again: '## Seen again\n\nIn another run.',
      ...own,
    });
  const folder = 'bugs/BUG-001-session-failure';
  const report = () => backlog.json(`${folder}/bug_report.json`);
  const log = () => backlog.git('log', '--format=%s').split('\n');
  const autoCommit = () => backlog.write('.agent-config.json', JSON.stringify({ auto_commit: true }));

  it('a new one, with its files, its row in the summary and its commit', async () => {
    autoCommit();
    const { item, problem } = await captured({ prompt: (id) => `# ${id}\n\nOwn text.\n` });
    expect([item, problem]).toEqual([
      { id: 'BUG-001', title: 'Session failure', folder, isNew: true, why: 'Critical error in archiving' },
      null,
    ]);
    expect(report()).toMatchObject({ fingerprint: 'critical_error archiving', runs: ['r1'], evidence: draft.evidence });
    expect(backlog.read(`${folder}/PROMPT.md`)).toBe('# BUG-001\n\nOwn text.\n');
    expect(backlog.read(`${folder}/evidence-r1.json`)).toBe('{}\n');
    expect(backlog.read('bugs/bugs.md')).toContain('BUG-001');
    expect(log()[0]).toBe('Add BUG-001: Session failure');
  });

  it('the same one in another run adds its evidence and a comment to that item', async () => {
    autoCommit();
    await captured();
    const evidence = [{ type: 'log' as const, location: 'b.jsonl', description: 'Another.' }];
    const again = {
      run: 'r2',
      draft: { ...draft, title: 'Other', evidence },
      files: new Map([['evidence-r2.json', '2\n']]),
    };
    const { item } = await captured(again);
    expect(item).toMatchObject({ id: 'BUG-001', title: 'Session failure', isNew: false, folder });
    expect(report()).toMatchObject({ runs: ['r1', 'r2'], evidence: [...draft.evidence, ...evidence] });
    expect(backlog.read(`${folder}/comments.md`)).toContain('## Seen again');
    expect(backlog.read(`${folder}/evidence-r2.json`)).toBe('2\n');
    expect([log()[0], backlog.list('bugs')]).toEqual([
      'BUG-001: seen again in r2',
      ['BUG-001-session-failure', 'bugs.md'],
    ]);
  });

  it('capturing it twice in one run changes nothing, and finishes what was interrupted', async () => {
    autoCommit();
    await captured();
    const before = [report(), log()];
    expect((await captured()).item).toMatchObject({ id: 'BUG-001', isNew: true });
    expect([report(), log()]).toEqual(before);
    backlog.write('bugs/bugs.md', '# Bugs\n');
    await captured();
    expect(backlog.read('bugs/bugs.md')).toContain('BUG-001');
    await captured({ run: 'r2' });
    expect((await captured({ run: 'r2' })).item).toMatchObject({ isNew: false });
    expect(report()).toMatchObject({ runs: ['r1', 'r2'] });
    expect(backlog.read(`${folder}/comments.md`).match(/Seen again/g)).toHaveLength(1);
  });

  it.each<[string, string, string, boolean]>([
    ['another kind', 'critical_error a', 'critical_error b', false],
    ['the same failures', 'consecutive_failures BUG-7/x BUG-8/y', 'consecutive_failures BUG-7/x BUG-8/y', true],
    ['the same with one more', 'consecutive_failures BUG-7/x', 'consecutive_failures BUG-7/x BUG-8/y', true],
    ['the same with one less', 'consecutive_failures BUG-7/x BUG-8/y', 'consecutive_failures BUG-8/y', true],
    ['only some of them', 'consecutive_failures BUG-7/x BUG-8/y', 'consecutive_failures BUG-8/y BUG-9/z', false],
    ['none of them', 'consecutive_failures BUG-7/x', 'consecutive_failures BUG-8/y', false],
    ['a failure and an error', 'consecutive_failures BUG-7/x', 'critical_error BUG-7/x', false],
    ['what a run filed itself aside', 'consecutive_failures BUG-7/x', 'consecutive_failures BUG-001/z BUG-7/x', true],
    ['only what runs filed', 'consecutive_failures BUG-001/z', 'consecutive_failures BUG-001/y', false],
  ])('whether two incidents are one: %s', async (_, first, second, isSame) => {
    await captured({ fingerprint: first });
    const { item } = await captured({ fingerprint: second, run: 'r2' });
    expect(item).toMatchObject({ id: isSame ? 'BUG-001' : 'BUG-002', isNew: !isSame });
  });

  it('an item that a person wrote, or that is done, is not taken for it', async () => {
    backlog.bug(1, { fingerprint: 7 });
    backlog.bug(2, { fingerprint: 'critical_error archiving', status: 'fixed' });
    expect((await captured()).item).toMatchObject({ id: 'BUG-003', isNew: true });
  });

  it('what cannot be committed is written, and the problem is reported', async () => {
    autoCommit();
    backlog.lockIndex();
    const { item, problem } = await captured();
    expect(item.id).toBe('BUG-001');
    expect(problem).toMatch(/^BUG-001 was written but not committed: .*index\.lock/s);
    expect(backlog.has(`${folder}/PROMPT.md`)).toBe(true);
  });

  it('what died between two writes is brought to its end before the next run', async () => {
    autoCommit();
    await captured();
    backlog.write('bugs/bugs.md', '# Bugs\n');
    backlog.write(`${folder}/.0123456789ab.tmp`, 'half');
    expect(await finishWrites(backlog.folder)).toEqual([]);
    expect(backlog.read('bugs/bugs.md')).toContain('BUG-001');
    const commits = log().length;
    backlog.write(`${folder}/comments.md`, 'Of a person.\n');
    expect(await finishWrites(backlog.folder)).toEqual([]);
    expect(log()).toHaveLength(commits);
    backlog.git('rm', '--cached', '-r', '--quiet', folder);
    backlog.git('commit', '--quiet', '--message=Gone');
    expect(await finishWrites(backlog.folder)).toEqual([]);
    expect(log()[0]).toBe('Add BUG-001: Session failure');
    backlog.write('bugs/bugs.md', '# Bugs\n');
    backlog.lockIndex();
    expect(await finishWrites(backlog.folder)).toEqual([
      expect.stringContaining('BUG-001 was written but not committed'),
    ]);
  });

  it('without commits, only the summary is brought to its end, and what people wrote is left alone', async () => {
    backlog.bug(5);
    await captured();
    backlog.write('bugs/bugs.md', '# Bugs\n');
    expect(await finishWrites(backlog.folder)).toEqual([]);
    expect(backlog.read('bugs/bugs.md')).toContain('BUG-006');
    expect(backlog.read('bugs/bugs.md')).not.toContain('BUG-005');
    expect(log()).toEqual(['Begin']);
  });

  it('W-3: a text that could not be written is in its problem', () => {
    expect(unwrittenText('report.md', new Error('disk full'), 'The text.')).toBe(
      'report.md could not be written: disk full. Its text:\n\nThe text.',
    );
  });
});
