import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EndingOutcome, RunState, WorkflowFact } from '../../machines/index.ts';
import type { SessionEvent } from '../../src/observe/events.ts';
import type { SessionResult } from '../../src/session/session.ts';
import { RunSessionLog } from '../../src/workflow/run/documents/session-log.ts';
import { RunFolder } from '../../src/workflow/run/run-folder.ts';
import { logFact } from '../../src/workflow/run/run-log.ts';
import { diedIn } from '../graph/levels/workflow.ts';
import { TestBacklog } from '../support/backlog.ts';
import { keptLog } from '../support/session.ts';
import { temporaryFolder } from '../support/temporary.ts';

const inProgress = (...items: [string, 'processing' | 'testing' | 'archiving'][]) =>
  items.map(([id, phase]) => ({ id, phase }));

describe('W-4: the files that a run writes about itself', () => {
  let backlog: TestBacklog;
  let folder: RunFolder;
  const nothing = (): EndingOutcome => ({ created: [], priorities: [], problems: [] });
  const state = (over: Partial<RunState> = {}) => diedIn('processing', { run: 'r1', ...over });
  beforeEach(() => {
    backlog = new TestBacklog();
    folder = new RunFolder(backlog.folder);
  });
  const written = () => [
    backlog.state.current_phase,
    ...backlog.state.in_progress.map(({ id, phase }) => `${id} ${phase}`),
  ];

  it('its state is on disk before an effect begins, and its folder with the items that were there', () => {
    backlog.bug(1);
    folder.begin(state());
    expect(backlog.state).toMatchObject({ run: 'r1', current_phase: 'processing' });
    expect(folder.of({ run: 'r1' })).toBe(join(backlog.folder, 'agent_runs/r1'));
    expect(backlog.read('agent_runs/r1/before.json')).toBe('["BUG-001"]\n');
    backlog.bug(2);
    folder.begin(state({ iteration_count: 2 }));
    expect(backlog.read('agent_runs/r1/before.json')).toBe('["BUG-001"]\n');
    expect(backlog.state.iteration_count).toBe(2);
  });

  it('the phase of an item in progress is written as it begins, and that of the first is that of the run', () => {
    expect(() => folder.beginPhase('BUG-001', 'testing')).toThrow('writes its state before it works on an item');
    const both = state({ in_progress: inProgress(['BUG-001', 'processing'], ['BUG-002', 'processing']) });
    folder.begin(both);
    folder.beginPhase('BUG-002', 'testing');
    expect(written()).toEqual(['processing', 'BUG-001 processing', 'BUG-002 testing']);
    folder.beginPhase('BUG-001', 'testing');
    expect(written()).toEqual(['testing', 'BUG-001 testing', 'BUG-002 testing']);
    folder.begin(both);
    expect(written()).toEqual(['testing', 'BUG-001 testing', 'BUG-002 testing']);
  });

  it('a phase that the run itself has set stays, and one of an item that is settled is forgotten', () => {
    folder.begin(state({ in_progress: inProgress(['BUG-001', 'processing']) }));
    folder.beginPhase('BUG-001', 'testing');
    folder.begin(state({ current_phase: 'archiving', in_progress: inProgress(['BUG-001', 'archiving']) }));
    expect(written()).toEqual(['archiving', 'BUG-001 archiving']);
    folder.begin(state({ current_phase: 'scanning', in_progress: [] }));
    expect(written()).toEqual(['scanning']);
    folder.begin(state({ in_progress: inProgress(['BUG-001', 'processing']) }));
    expect(written()).toEqual(['processing', 'BUG-001 processing']);
    folder.begin(state({ in_progress: [] }));
    expect(written()).toEqual(['processing']);
  });

  it('a phase that changes nothing is not written again', () => {
    folder.begin(state({ in_progress: inProgress(['BUG-001', 'processing']) }));
    backlog.write('.agent-state.json', '{}');
    folder.beginPhase('BUG-001', 'processing');
    folder.beginPhase('BUG-009', 'testing');
    expect(backlog.read('.agent-state.json')).toBe('{}');
  });

  it('in the ending, a state that cannot be written is a problem', () => {
    expect(folder.beginEnding(state({ current_phase: 'reviewing' }))).toEqual([]);
    const broken = new RunFolder(join(backlog.folder, 'agent_runs/r1/before.json'));
    expect(broken.beginEnding(state({ current_phase: 'reviewing' }))).toEqual([
      expect.stringMatching(/^The state file could not be written in reviewing: ENOTDIR/),
    ]);
  });

  it('items that appeared during it are listed once', () => {
    backlog.bug(1);
    folder.begin(state());
    backlog.bug(2);
    backlog.feature(3);
    expect(folder.appeared(state()).map(({ id, isNew, why }) => [id, isNew, why])).toEqual([
      ['BUG-002', true, 'created during the run'],
      ['FEAT-003', true, 'created during the run'],
    ]);
    const [own, other] = folder.appeared(state());
    if (own === undefined || other === undefined) throw new Error('nothing appeared');
    const outcome = { ...nothing(), created: [other] };
    folder.nameAppeared(state({ created: [own] }), outcome);
    expect(outcome).toEqual({ ...nothing(), created: [other] });
    folder.nameAppeared(state(), outcome);
    expect(outcome.created).toEqual([other, own]);
    expect(folder.appeared(state({ run: 'unknown' }))).toEqual([]);
  });

  it('what appeared cannot be told from a broken file, which is a problem', () => {
    folder.begin(state());
    backlog.write('agent_runs/r1/before.json', '{');
    const outcome = nothing();
    folder.nameAppeared(state(), outcome);
    expect(outcome.problems).toEqual([
      expect.stringMatching(/^The items created during the run could not be listed: /),
    ]);
  });

  it('the evidence of an incident is the state, and the ends of the session logs of its items', () => {
    folder.begin(state());
    const long = `${'x'.repeat(70_000)}\n${'y'.repeat(60_000)}\nlast\n`;
    backlog.write('agent_runs/r1/BUG-001-processing.jsonl', 'short\n');
    backlog.write('agent_runs/r1/BUG-002-processing.jsonl', long);
    backlog.write('agent_runs/r1/BUG-0011-processing.jsonl', 'of another');
    backlog.write('agent_runs/r1/BUG-001-notes.txt', 'no log');
    const outcome = nothing();
    const files = folder.evidence(state(), ['BUG-001', 'BUG-002'], outcome);
    expect([...files.keys()]).toEqual([
      'evidence-r1-agent-state.json',
      'evidence-r1-BUG-001-processing.jsonl',
      'evidence-r1-BUG-002-processing.jsonl',
    ]);
    expect(JSON.parse(files.get('evidence-r1-agent-state.json') ?? '')).toEqual(state());
    expect(files.get('evidence-r1-BUG-001-processing.jsonl')).toBe('short\n');
    expect(files.get('evidence-r1-BUG-002-processing.jsonl')).toBe(`${'y'.repeat(60_000)}\nlast\n`);
    expect([...folder.evidence(state({ run: 'r2' }), ['BUG-001'], outcome).keys()]).toEqual([
      'evidence-r2-agent-state.json',
    ]);
    expect(outcome.problems).toEqual([]);
    mkdirSync(join(backlog.folder, 'agent_runs/r1/BUG-003-x.jsonl'));
    folder.evidence(state(), ['BUG-003'], outcome);
    expect(outcome.problems).toEqual([
      expect.stringMatching(/^The session logs of BUG-003 could not be read: .*EISDIR/),
    ]);
  });

  it('a document that cannot be written is a problem that holds its text', () => {
    folder.begin(state());
    const outcome = nothing();
    folder.write(state(), 'report.md', 'The text.', outcome);
    expect(backlog.read('agent_runs/r1/report.md')).toBe('The text.');
    folder.write(state({ run: 'nowhere' }), 'report.md', 'The text.', outcome);
    expect(outcome.problems).toEqual([expect.stringMatching(/report\.md[\s\S]*ENOENT[\s\S]*The text\./)]);
  });
});

describe('S-7: the log of a session of a run', () => {
  const event = { type: 'turn.started', turn: 1, isLastTurn: false } as SessionEvent;
  const result = { sessionId: 's', agent: 'a', status: 'failed', slugs: ['text_only'], report: { content: 'x' } };
  const lines = (folder: string, name: string) =>
    readFileSync(join(folder, name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('has a line for each event but the deltas, and one for the result', () => {
    const folder = temporaryFolder();
    const log = new RunSessionLog(folder, 'processing', 'BUG-001');
    log.write(event);
    log.write({ type: 'model.delta', delta: 'x' } as SessionEvent);
    log.end({ ...result, counters: { turns: 1 }, more: 1 } as unknown as SessionResult);
    log.close();
    log.write(event);
    expect(lines(folder, 'BUG-001-processing.jsonl')).toEqual([
      event,
      { type: 'session.result', ...result, counters: { turns: 1 } },
    ]);
    expect(log.problem).toBeNull();
  });

  it('does not write over that of an earlier session', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'scan.jsonl'), 'kept');
    for (let at = 0; at < 2; at += 1) new RunSessionLog(folder, 'scan', null).close();
    new RunSessionLog(folder, 'testing', 'BUG-001').close();
    expect(readdirSync(folder).sort()).toEqual(['BUG-001-testing.jsonl', 'scan-2.jsonl', 'scan-3.jsonl', 'scan.jsonl']);
    expect(readFileSync(join(folder, 'scan.jsonl'), 'utf8')).toBe('kept');
  });

  it('a line that cannot be written is reported once, and ends the log', () => {
    const folder = temporaryFolder();
    const log = new RunSessionLog(folder, 'scan', null);
    const ring: Record<string, unknown> = { type: 'turn.started' };
    ring.itself = ring;
    log.write(ring as unknown as SessionEvent);
    expect(log.problem).toMatch(/^the session log could not be written: Converting circular structure/);
    log.write(event);
    log.close();
    expect(readFileSync(join(folder, 'scan.jsonl'), 'utf8')).toBe('');
  });
});

describe('S-7: what an operator reads of a run', () => {
  const failure = {
    id: 'BUG-001',
    folder: 'f',
    component: null,
    phase: 'testing' as const,
    message: 'no',
    requests: 1,
  };
  it.each<[WorkflowFact, number, string, object]>([
    [
      { type: 'item.failed', failure: { ...failure, slugs: ['text_only', 'timeout' as never] }, failureCount: 2 },
      40,
      'BUG-001 failed in testing: text_only, timeout',
      { item: 'BUG-001', phase: 'testing', slugs: ['text_only', 'timeout'], message: 'no', failureCount: 2 },
    ],
    [{ type: 'item.failed', failure: { ...failure, slugs: [] }, failureCount: 1 }, 40, 'BUG-001 failed in testing', {}],
    [
      { type: 'agent.unavailable', item: null, agent: 'scanner', tries: 2, message: 'gone' },
      40,
      'scanner could not be invoked: gone',
      { item: null, agent: 'scanner', tries: 2, message: 'gone' },
    ],
    [
      { type: 'problem.noted', phase: 'reviewing', message: 'First line.\nMore.' },
      40,
      'First line.',
      { phase: 'reviewing', message: 'First line.\nMore.' },
    ],
    [
      { type: 'workItem.created', item: { id: 'BUG-009', title: 'New', folder: 'f', isNew: true, why: 'w' } },
      30,
      'BUG-009: New',
      { id: 'BUG-009', title: 'New', folder: 'f', isNew: true, why: 'w' },
    ],
    [{ type: 'budget.spent', limit: '2 hours' }, 40, 'the budget of the run is spent: 2 hours', { limit: '2 hours' }],
    [
      { type: 'priority.changed', change: { id: 'BUG-001', from: 'P2', to: 'P0', reason: 'r' } },
      30,
      'BUG-001: P0 instead of P2',
      { id: 'BUG-001', from: 'P2', to: 'P0', reason: 'r' },
    ],
    [
      { type: 'workflow.exitedEarly', iterations: 1, reason: 'two failures' },
      50,
      'the run exited early: two failures',
      { reason: 'two failures' },
    ],
  ])('logs %j', (fact, level, msg, fields) => {
    const { lines, logger } = keptLog();
    logFact(logger, 'r1', fact);
    expect(lines).toEqual([expect.objectContaining({ level, msg, event: fact.type, run: 'r1', ...fields })]);
  });

  it('logs nothing for items and runs that succeed', () => {
    const { lines, logger } = keptLog();
    logFact(logger, 'r1', { type: 'item.succeeded', id: 'BUG-001' });
    logFact(logger, 'r1', { type: 'workflow.completed', iterations: 1 });
    expect(lines).toEqual([]);
  });
});
