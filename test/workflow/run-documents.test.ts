import { describe, expect, it } from 'vitest';
import type { CreatedItem, ItemFailure, RunState } from '../../machines/index.ts';
import { type RunFacts, retrospectiveText, sessionReportText } from '../../src/workflow/run/documents/report.ts';
import { diedIn } from '../graph/levels/workflow.ts';

/** The state of a run that worked on one item and succeeded. */
const state = (over: Partial<RunState> = {}): RunState =>
  diedIn('completed', { run: 'run-1', current_item: null, succeeded: ['BUG-001'], ...over });
const failure = (id: string, over: Partial<ItemFailure> = {}): ItemFailure => ({
  id,
  folder: `bugs/${id}`,
  component: null,
  phase: 'processing',
  slugs: [],
  message: 'It broke.',
  requests: 1,
  ...over,
});
const facts = (over: Partial<RunFacts> = {}): RunFacts => ({
  state: state(),
  created: [],
  priorities: [],
  problems: [],
  spending: { sessions: 1, requests: 2, inputTokens: 30, outputTokens: 4, costUsd: null },
  words: null,
  ...over,
});
const created: CreatedItem[] = [
  { id: 'BUG-003', title: 'It fails', folder: 'bugs/BUG-003', isNew: true, why: '3 failures' },
  { id: 'BUG-002', title: 'It hangs', folder: 'bugs/BUG-002', isNew: false, why: 'a crash' },
];
const createdLines =
  '- BUG-003 "It fails" (bugs/BUG-003): 3 failures\n- BUG-002 "It hangs" (bugs/BUG-002): already known, new evidence: a crash\n';
const priorities = [
  { id: 'BUG-001', from: 'P2', to: 'P0', reason: 'it blocks' },
  { id: 'BUG-002', from: 'P1', to: 'P3', reason: '' },
] as const;
const priorityLines = '- BUG-001: P0 instead of P2, it blocks\n- BUG-002: P3 instead of P1\n';

/** The sections of a document, by their headings. */
function partsOf(text: string): Record<string, string> {
  const [first = '', ...rest] = text.split(/^#{1,2} /m).slice(1);
  return Object.fromEntries(
    [first, ...rest].map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 2)]),
  );
}

describe('the retrospective of a run (W-3)', () => {
  it('of a successful run', () => {
    expect(retrospectiveText(facts())).toBe(
      '# Retrospective of run run-1\n\nThe run finished after 1 item.\n\n## In numbers\n\n- 1 item processed: 1 succeeded, 0 failed, 0 set aside\n- 1 session, 2 LLM requests, 30 tokens in, 4 out\n',
    );
  });

  it('says why a run exited early', () => {
    const early = state({ early_exit_triggered: true, early_exit_reason: 'a STOP', iteration_count: 2 });
    expect(retrospectiveText(facts({ state: early }))).toContain('\n\nThe run exited early: a STOP.\n');
  });

  it('counts slugs, and names what failed more than once', () => {
    const failures = [
      failure('BUG-001', { slugs: ['unknown_tool', 'max_turns_exhausted'], component: 'core' }),
      failure('BUG-002', { slugs: ['max_turns_exhausted'], component: 'core' }),
      failure('BUG-003', { component: 'page' }),
    ];
    const parts = partsOf(retrospectiveText(facts({ state: state({ failures, succeeded: [], iteration_count: 3 }) })));
    expect(parts['In numbers']).toContain('- failed with unknown_tool: 1\n- failed with max_turns_exhausted: 2\n');
    expect(parts['Recurring causes']).toBe(
      '- max_turns_exhausted: 2 failures, possibly a common cause\n- core: 2 failures, possibly a common cause\n\n',
    );
    expect(parts.Next).toBe(
      '- BUG-001 is still open; it failed with unknown_tool\n- BUG-002 is still open; it failed with max_turns_exhausted\n- BUG-003 is still open\n',
    );
  });

  it('has what was created, the words of its agent and the priorities that changed', () => {
    const parts = partsOf(retrospectiveText(facts({ created, priorities, words: 'All in all well.' })));
    expect(Object.keys(parts)).toEqual([
      'Retrospective of run run-1',
      'In numbers',
      'Created',
      'In words',
      'Priorities Changed',
      'Next',
    ]);
    expect(parts.Created).toBe(`${createdLines}\n`);
    expect(parts['In words']).toBe('All in all well.\n\n');
    expect(parts['Priorities Changed']).toBe(`${priorityLines}\n`);
    expect(parts.Next).toBe('- Look at BUG-003 first: It fails\n- Look at BUG-002 first: It hangs\n');
  });
});

describe('the report of a run (W-3)', () => {
  const nothing = { open: 0, blocked: 0, unreadable: [], notes: [] };
  const reportOf = (over: Partial<RunFacts> = {}, more: Partial<Parameters<typeof sessionReportText>[1]> = {}) =>
    partsOf(sessionReportText(facts(over), { backlog: nothing, warnings: new Set(), findings: null, ...more }));

  it('of a successful run', () => {
    expect(reportOf()).toEqual({
      'Session report: run-1': 'The run finished after 1 item.\n\n',
      Items: '| Item | Outcome | Why |\n| --- | --- | --- |\n| BUG-001 | succeeded | |\n\n',
      'Issues Created': 'None.\n\n',
      Spent: '- 1 session, 2 LLM requests\n- 30 tokens in, 4 out\n\n',
      Backlog: '- 0 items open, 0 of them blocked\n',
    });
  });

  it('has a line for each item, whatever became of it', () => {
    const over = {
      failures: [failure('BUG-002', { slugs: ['max_turns_exhausted'], message: 'a | b\n c' })],
      set_aside: ['BUG-003'],
      tried: ['BUG-001', 'BUG-002', 'BUG-003', 'BUG-004'],
    };
    expect(
      reportOf({ state: state(over) })
        .Items?.split('\n')
        .slice(2),
    ).toEqual([
      '| BUG-001 | succeeded | |',
      '| BUG-002 | failed in processing | max_turns_exhausted, a \\| b c |',
      '| BUG-003 | set aside | waits for a person |',
      '| BUG-004 | left open when the run ended | |',
      '',
      '',
    ]);
  });

  it.each([
    [['max_turns_exhausted'], 'max_turns_exhausted: 3 turns', 'max_turns_exhausted: 3 turns'],
    [['unknown_tool', 'max_turns_exhausted'], 'unknown_tool, max_turns_exhausted', 'unknown_tool, max_turns_exhausted'],
    [['unknown_tool'], '', 'unknown_tool'],
    [[], 'It broke.', 'It broke.'],
    [[], 'x'.repeat(200), 'x'.repeat(200)],
    [[], 'x'.repeat(201), `${'x'.repeat(199)}…`],
  ] as const)('a failure with %j and %j', (slugs, message, why) => {
    const failures = [failure('BUG-002', { slugs: [...slugs], message })];
    const { Items } = reportOf({ state: state({ failures, succeeded: [], tried: [] }) });
    expect(Items?.split('\n')[2]).toBe(`| BUG-002 | failed in processing | ${why} |`);
  });

  it('includes every section that has content', () => {
    const spending = { sessions: 2, requests: 1, inputTokens: 3, outputTokens: 4, costUsd: 0.123456 };
    const backlog = { open: 1, blocked: 1, unreadable: [{ folder: 'bugs/x', problem: 'no JSON' }], notes: ['a note'] };
    const parts = reportOf(
      { created, priorities, problems: ['One.', 'Two.'], spending, words: 'Short.' },
      { backlog, warnings: new Set(['careful']), findings: 'Found.' },
    );
    expect(parts).toMatchObject({
      Summary: 'Short.\n\n',
      'Issues Created': `${createdLines}\n`,
      'Priorities Changed': `${priorityLines}\n`,
      'What the Retrospective Found': 'Found.\n\n',
      Problems: 'One.\n\nTwo.\n\n',
      Warnings: '- careful\n\n',
      Spent: '- 2 sessions, 1 LLM request\n- 3 tokens in, 4 out\n- $0.1235\n\n',
      Backlog: '- 1 item open, 1 of them blocked\n- unreadable: bugs/x: no JSON\n- a note\n',
    });
  });

  it('tells each incident with its item and its message', () => {
    const incidents: RunState['incidents'] = [
      { kind: 'critical_error', phase: 'processing', item: 'BUG-002', message: 'git worktree failed.' },
      { kind: 'critical_error', phase: 'scanning', item: null, message: 'The disk is full.' },
      { kind: 'crash', phase: 'testing', item: 'BUG-003' },
      { kind: 'stop', stop: { item: null, component: null, file: 'comments.md', request: 'Wait.' } },
      { kind: 'consecutive_failures', count: 1, failures: [failure('BUG-004', { slugs: ['check_failed'] })] },
    ];
    const { Incidents } = reportOf({ state: state({ incidents }) });
    const parts = Incidents?.split(/^### /m).map((part) => part.split('\n').filter((line) => line !== ''));
    expect(parts?.slice(1)).toEqual([
      ['Critical error in processing (BUG-002)', '```', 'git worktree failed.', '```'],
      ['Critical error in scanning', '```', 'The disk is full.', '```'],
      ['Critical error in testing (BUG-003)', "`interrupted`: the run's process died; the next start detected it."],
      ['STOP in comments.md', 'It asks for:', '```', 'Wait.', '```'],
      ['1 consecutive item processing failures', '- BUG-004 in processing: `check_failed`', '```', 'It broke.', '```'],
    ]);
  });

  it('omits a cost of zero', () => {
    const spending = { sessions: 1, requests: 1, inputTokens: 1, outputTokens: 1, costUsd: 0 };
    expect(reportOf({ spending }).Spent).not.toContain('$');
  });

  const fences: [words: string, closed: string][] = [
    ['```\ncode', '```\ncode\n```'],
    ['a\n   ~~~~ js\ncode\n~~~', 'a\n   ~~~~ js\ncode\n~~~\n~~~~'],
    ['```\ncode\n````', '```\ncode\n````'],
    ['```\ncode\n``` not its end', '```\ncode\n``` not its end\n```'],
    ['```\n~~~\n```', '```\n~~~\n```'],
    ['\n    ```\nno fence', '    ```\nno fence'],
    ['```npm test``` passes.\n```\na\n```', '```npm test``` passes.\n```\na\n```'],
    ['text ``` text', 'text ``` text'],
    ['```\na\n```\n~~~\nb', '```\na\n```\n~~~\nb\n~~~'],
  ];
  it.each(fences)('closes a code block only if it is open: %j', (words, closed) => {
    expect(reportOf({ words }).Summary).toBe(`${closed}\n\n`);
  });
});
