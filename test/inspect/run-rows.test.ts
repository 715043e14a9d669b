import { describe, expect, it } from 'vitest';
import type { Incident, ItemFailure, ItemRef, Phase, WorkflowFact } from '../../machines/index.ts';
import { RunRows } from '../../src/inspect/recorded/run-rows.ts';
import { linesOf } from '../support/row-tree.ts';

const told = (...facts: WorkflowFact[]) => facts.map((runFact) => ({ scope: '', runFact }));
const started: WorkflowFact = { type: 'workflow.started', run: 'run_1' };
const phase = (name: Phase, item: string | null = null): WorkflowFact => ({ type: 'phase.started', phase: name, item });
const ref = (id: string): ItemRef => ({
  id,
  kind: 'bug',
  title: 'Mend it',
  priority: 'P1',
  component: null,
  createdAt: null,
  blocked: false,
  folder: `bugs/${id}`,
});
const taken = (id = 'BUG-001'): WorkflowFact => ({ type: 'item.started', item: ref(id), iteration: 1 });
const failure: ItemFailure = {
  id: 'BUG-001',
  folder: 'bugs/BUG-001',
  component: null,
  phase: 'testing',
  slugs: ['tool_exec_failed'],
  message: 'no luck',
  requests: 3,
};

/** The lines below the run's own. */
const below = (...facts: WorkflowFact[]) =>
  linesOf(new RunRows(), told(started, ...facts))
    .slice(1)
    .map((line) => line.slice(2));

describe('S-8: the list of what happened in a workflow run', () => {
  it('items hold their phases, and the run has its own', () => {
    const facts: WorkflowFact[] = [
      started,
      phase('restoring'),
      phase('scanning'),
      { type: 'backlog.scanned', open: 2, blocked: 1, stops: 0 },
      taken(),
      phase('processing', 'BUG-001'),
      { type: 'work.ended', item: 'BUG-001', verdict: 'succeeded' },
      phase('testing', 'BUG-001'),
      { type: 'work.ended', item: 'BUG-001', verdict: 'succeeded' },
      phase('archiving', 'BUG-001'),
      { type: 'item.succeeded', id: 'BUG-001' },
      phase('summarising'),
      { type: 'workflow.completed', iterations: 1 },
    ];
    expect(linesOf(new RunRows(), told(...facts))).toEqual([
      'run run (run_1) 1-13 done',
      '  phase looks for a run that died 2-3 done',
      '  phase reads the backlog (2 open, 1 blocked, 0 STOP markers) 3-5 done',
      '  item BUG-001 (P1 Mend it) 5-11 done',
      '    phase works on it 6-7 done',
      '    phase tests it 8-9 done',
      '    phase archives it 10-11 done',
      '  phase report 12-13 done',
      '  end completed 13-13 done',
    ]);
  });

  it.each<[Phase, string]>([
    ['settingAside', 'sets it aside'],
    ['capturing', 'files the incidents'],
    ['reviewing', 'retrospective'],
  ])('a phase has a title of its own: %s', (name, title) => {
    expect(below(phase(name))).toEqual([`phase ${title} 2- running`]);
  });

  it.each(['failed', 'critical', 'unavailable'] as const)('work that ends as %s is a failed phase', (verdict) => {
    expect(below(taken(), phase('processing', 'BUG-001'), { type: 'work.ended', item: 'BUG-001', verdict })).toEqual([
      'item BUG-001 (P1 Mend it) 2- running',
      '  phase works on it 3-4 failed',
    ]);
  });

  it.each(['blocked', 'aborted', 'unstarted'] as const)('work that ends as %s is a phase that is done', (verdict) => {
    expect(below(taken(), phase('processing', 'BUG-001'), { type: 'work.ended', item: 'BUG-001', verdict })[1]).toBe(
      '  phase works on it 3-4 done',
    );
  });

  it('items in progress at once each have their own phases', () => {
    const ended: WorkflowFact = { type: 'work.ended', item: 'BUG-002', verdict: 'failed' };
    expect(
      below(taken(), taken('BUG-002'), phase('processing', 'BUG-001'), phase('processing', 'BUG-002'), ended),
    ).toEqual([
      'item BUG-001 (P1 Mend it) 2- running',
      '  phase works on it 4- running',
      'item BUG-002 (P1 Mend it) 3- running',
      '  phase works on it 5-6 failed',
    ]);
  });

  it('a failed item names its phase, message and slugs, and its open phase failed', () => {
    const facts: WorkflowFact[] = [taken(), phase('testing', 'BUG-001')];
    expect(below(...facts, { type: 'item.failed', failure, failureCount: 1 })).toEqual([
      'item BUG-001 (testing: no luck · P1 Mend it) !tool_exec_failed 2-4 failed',
      '  phase tests it 3-4 failed',
    ]);
  });

  it('an item that is set aside says what it waits for', () => {
    const facts: WorkflowFact[] = [taken(), phase('settingAside', 'BUG-001')];
    expect(below(...facts, { type: 'item.setAside', id: 'BUG-001', needs: 'A key.' })).toEqual([
      'item BUG-001 (waits for a person: A key. · P1 Mend it) 2-4 waiting',
      '  phase sets it aside 3-4 done',
    ]);
  });

  it('a settled item is not settled again', () => {
    const succeeded: WorkflowFact = { type: 'item.succeeded', id: 'BUG-001' };
    expect(below(taken(), succeeded, succeeded, { type: 'item.failed', failure, failureCount: 1 })).toEqual([
      'item BUG-001 (P1 Mend it) 2-3 done',
    ]);
  });

  it('a wait for an agent ends its phase, and the next phase ends the wait', () => {
    const wait: WorkflowFact = { type: 'wait.started', item: 'BUG-001', agent: 'tester', dueAt: 9_000 };
    const rows = new RunRows();
    const facts = [
      taken(),
      phase('processing', 'BUG-001'),
      wait,
      phase('testing', 'BUG-001'),
      phase('archiving', 'BUG-001'),
    ];
    expect(linesOf(rows, told(started, ...facts)).slice(2)).toEqual([
      '    phase works on it 3-4 done',
      '    wait waits for tester 4-5 done',
      '    phase tests it 5-6 done',
      '    phase archives it 6- running',
    ]);
    expect(rows.byId.find(({ kind }) => kind === 'wait')?.dueAt).toBe(9_000);
  });

  it('a wait of the run itself stands in the run', () => {
    expect(below(phase('scanning'), { type: 'wait.started', item: null, agent: 'scanner', dueAt: 9_000 })).toEqual([
      'phase reads the backlog 2-3 done',
      'wait waits for scanner 3- running',
    ]);
  });

  it('an agent that is unavailable is noted with its item, or with the phase of the run', () => {
    const lost = (item: string | null): WorkflowFact => ({
      type: 'agent.unavailable',
      item,
      agent: 'tester',
      tries: 2,
      message: 'no such file',
    });
    expect(below(taken(), lost('BUG-001'))).toEqual([
      'item BUG-001 (P1 Mend it) 2- running',
      '  note agent tester unavailable (try 2: no such file) 3-3 done',
    ]);
    expect(below(phase('scanning'), lost(null))).toEqual([
      'phase reads the backlog 2- running',
      '  note agent tester unavailable (try 2: no such file) 3-3 done',
    ]);
  });

  it.each<[Incident, string]>([
    [
      { kind: 'consecutive_failures', count: 2, failures: [failure, { ...failure, id: 'BUG-002' }] },
      'consecutive failures (BUG-001, BUG-002)',
    ],
    [
      { kind: 'stop', stop: { file: 'comments.md', item: null, request: 'Wait.', component: null } },
      'stop (comments.md Wait.)',
    ],
    [
      { kind: 'critical_error', phase: 'archiving', item: 'BUG-001', message: 'disk full' },
      'critical error (in archiving: disk full)',
    ],
    [
      {
        kind: 'agent_unavailable',
        agent: 'tester',
        item: 'BUG-001',
        tries: 2,
        lookedFor: [],
        errors: ['first', 'last'],
      },
      'agent unavailable (tester, for BUG-001: last)',
    ],
    [
      { kind: 'agent_unavailable', agent: 'scanner', item: null, tries: 0, lookedFor: [], errors: [] },
      'agent unavailable (scanner, for the order: )',
    ],
    [{ kind: 'crash', phase: 'testing', item: 'BUG-001' }, 'crash (in testing BUG-001)'],
    [{ kind: 'crash', phase: 'scanning', item: null }, 'crash (in scanning)'],
  ])('an incident stands in the phase of the run, as failed: %j', (incident, line) => {
    expect(below(phase('capturing'), { type: 'incident.noted', incident })).toEqual([
      'phase files the incidents 2- running',
      `  note ${line} 3-3 failed`,
    ]);
  });

  it.each<[WorkflowFact, string]>([
    [
      { type: 'workflow.continued', run: 'run_1', phase: 'testing', item: 'BUG-001' },
      'continues a run that died (run_1, in testing BUG-001) 2-2 done',
    ],
    [
      { type: 'workItem.created', item: { id: 'BUG-009', title: 'New', folder: 'bugs/x', isNew: true, why: '' } },
      'filed BUG-009 (New) 2-2 done',
    ],
    [
      { type: 'workItem.created', item: { id: 'BUG-009', title: 'Old', folder: 'bugs/x', isNew: false, why: '' } },
      'added to BUG-009 (Old) 2-2 done',
    ],
    [{ type: 'budget.spent', limit: '2 hours' }, 'budget spent (2 hours) 2-2 done'],
    [
      { type: 'priority.changed', change: { id: 'BUG-001', from: 'P2', to: 'P0', reason: 'because' } },
      'BUG-001: P0 (instead of P2 because) 2-2 done',
    ],
    [{ type: 'problem.noted', phase: 'reviewing', message: 'lost' }, 'problem (lost) 2-2 failed'],
    [{ type: 'workflow.aborting', reason: 'by a person' }, 'abort requested (by a person) 2-2 done'],
  ])('a note: %j', (fact, line) => {
    expect(below(fact)).toEqual([`note ${line}`]);
  });

  it('an early exit fails the run, and what was open with it', () => {
    const exit: WorkflowFact = { type: 'workflow.exitedEarly', iterations: 1, reason: 'two failures' };
    expect(linesOf(new RunRows(), told(started, taken(), taken('BUG-002'), phase('reviewing'), exit))).toEqual([
      'run run (run_1) 1-5 failed',
      '  item BUG-001 (P1 Mend it) 2-5 failed',
      '  item BUG-002 (P1 Mend it) 3-5 failed',
      '  phase retrospective 4-5 done',
      '  end exited early (two failures) 5-5 failed',
    ]);
  });

  it('work on an item that is settled ends no phase of another', () => {
    expect(below(taken(), { type: 'work.ended', item: 'BUG-001', verdict: 'failed' })).toEqual([
      'item BUG-001 (P1 Mend it) 2- running',
    ]);
  });

  it('only facts of a run have lines', () => {
    const fact = { type: 'turn.started', turn: 1, isLastTurn: false } as const;
    expect(linesOf(new RunRows(), [...told(started), { scope: '', fact }])).toEqual(['run run (run_1) 1- running']);
  });
});
