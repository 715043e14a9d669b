import { describe, expect, it } from 'vitest';
import {
  bulletList,
  evidenceList,
  itemFiles,
  type NewItemFacts,
  quoted,
  sections,
} from '../../src/workflow/backlog/item-files.ts';
import { layouts } from '../../src/workflow/backlog/item-kinds.ts';
import type { WorkItem } from '../../src/workflow/backlog/work-item-input.ts';
import { checkedItem } from '../../src/workflow/backlog/work-items.ts';
import { debuggingContext } from '../../src/workflow/run/documents/debugging-context.ts';
import { diedIn } from '../graph/levels/workflow.ts';

const layoutOf = (prefix: string) => {
  const layout = layouts.find((one) => one.prefix === prefix);
  if (layout === undefined) throw new Error(`no layout ${prefix}`);
  return layout;
};
const [bugs, features, actions] = ['BUG', 'FEAT', 'ACTION'].map(layoutOf) as [
  ReturnType<typeof layoutOf>,
  ReturnType<typeof layoutOf>,
  ReturnType<typeof layoutOf>,
];

const facts = (over: Partial<NewItemFacts> = {}): NewItemFacts => ({
  id: 'BUG-007',
  createdAt: '2026-03-04T05:06:07.000Z',
  duplicates: [],
  files: new Map(),
  extra: {},
  prompt: null,
  ...over,
});
/** An item without the metadata that every bug has. */
const bug = (over: Record<string, unknown> = {}) => {
  const shared = { title: 'It breaks', component: 'core', priority: 'P1', description: 'When it starts.' };
  return { ...checkedItem({ item_type: 'bug', ...shared, ...over }), metadata: over.metadata ?? {} } as WorkItem;
};
const filesOf = (item = bug(), over: Partial<NewItemFacts> = {}, layout = bugs) => itemFiles(layout, item, facts(over));
const reportOf = (...args: Parameters<typeof filesOf>) => {
  const layout = args[2] ?? bugs;
  return JSON.parse(filesOf(...args).get(layout.reportFile) ?? '');
};

describe('the files of a new item', () => {
  it('a bug without anything special', () => {
    expect(Object.fromEntries(filesOf())).toEqual({
      'bug_report.json': `${JSON.stringify(
        {
          bug_id: 'BUG-007',
          title: 'It breaks',
          component: 'core',
          priority: 'P1',
          status: 'new',
          created_date: '2026-03-04',
          updated_date: '2026-03-04',
          reported_date: '2026-03-04',
          description: 'When it starts.',
          evidence: [],
        },
        null,
        2,
      )}\n`,
      'PROMPT.md':
        '# BUG-007: It breaks\n\n**Priority**: P1\n**Component**: core\n**Type**: bug\n\n## Description\n\nWhen it starts.\n\n## Acceptance Criteria\n\n- [ ] It no longer happens: It breaks\n- [ ] A test shows it\n',
      'PLAN.md': '# Plan for BUG-007\n\nNo plan yet.\n',
      'TASKS.md': '# Tasks of BUG-007\n\n- [ ] Read PROMPT.md\n',
      'comments.md': '# Comments on BUG-007\n',
    });
  });

  it('a feature is accepted by its title', () => {
    const feature = checkedItem({ ...bug(), item_type: 'feature', title: ' A  page for all' });
    const files = filesOf(feature, { id: 'FEAT-001' }, features);
    expect([...files.keys()]).toEqual(['feature_request.json', 'PROMPT.md', 'PLAN.md', 'TASKS.md', 'comments.md']);
    expect(files.get('PROMPT.md')).toContain('## Acceptance Criteria\n\n- [ ] A page for all\n- [ ] A test shows it\n');
    expect(reportOf(feature, { id: 'FEAT-001' }, features)).not.toHaveProperty('reported_date');
  });

  it('the criteria of its creator stand for the usual ones', () => {
    const prompt = filesOf(bug({ metadata: { acceptance_criteria: ['It starts', 'It  stops'] } })).get('PROMPT.md');
    expect(prompt?.split('\n## ').slice(2)).toEqual(['Acceptance criteria\n\n- It starts\n- It stops\n']);
  });

  it('what is expected of a bug is its criterion', () => {
    const prompt = filesOf(bug({ metadata: { expected_behavior: 'It starts' } })).get('PROMPT.md');
    expect(prompt).toContain('## Expected behavior\n\nIt starts\n');
    expect(prompt).toContain('- [ ] It starts\n- [ ] A test shows it\n');
  });

  it('only texts and lists of its metadata come into the prompt, and all of them into the report', () => {
    const item = bug({ metadata: { steps_to_reproduce: ['Start', 'Wait'], tries: 3, odd: { a: 1 } } });
    expect(filesOf(item).get('PROMPT.md')).toContain(
      '## Steps to reproduce\n\n- Start\n- Wait\n\n## Acceptance Criteria',
    );
    expect(reportOf(item)).toMatchObject({ steps_to_reproduce: ['Start', 'Wait'], tries: 3, odd: { a: 1 } });
  });

  it('metadata cannot change what the report says of the item itself', () => {
    const report = reportOf(bug({ metadata: { bug_id: 'BUG-001', status: 'fixed', evidence: 'none', title: 'x' } }), {
      extra: { run: 'r', priority: 'P0' },
    });
    expect(report).toMatchObject({ bug_id: 'BUG-007', status: 'new', evidence: [], title: 'It breaks' });
    expect(report).toMatchObject({ run: 'r', priority: 'P0' });
  });

  it('a given prompt and more files', () => {
    const files = filesOf(bug(), { prompt: 'Do it.', files: new Map([['log.txt', 'lines']]) });
    expect(files.get('PROMPT.md')).toBe('Do it.');
    expect(files.get('log.txt')).toBe('lines');
  });

  it('possible duplicates are named in the report and the comments', () => {
    const duplicates = [
      { id: 'BUG-001', title: 'One', folder: 'bugs/BUG-001-one', isOpen: true, similarity: 0.876 },
      { id: 'BUG-002', title: 'Two', folder: 'completed/BUG-002-two', isOpen: false, similarity: 0.75 },
    ];
    expect(reportOf(bug(), { duplicates }).possible_duplicates).toEqual(['BUG-001', 'BUG-002']);
    expect(filesOf(bug(), { duplicates }).get('comments.md')).toBe(
      '# Comments on BUG-007\n\n## Possible duplicates\n\n- BUG-001 "One", 88 % similar\n- BUG-002 "Two" (resolved), 75 % similar\n',
    );
  });
});

describe('the files of an action for a person', () => {
  const action = (over: object = {}) => checkedItem({ ...bug(), item_type: 'human_action', metadata: {}, ...over });

  it.each([
    ['P0', 'critical'],
    ['P1', 'high'],
    ['P2', 'medium'],
    ['P3', 'low'],
  ])('its urgency follows from its priority: %s is %s', (priority, urgency) => {
    const report = reportOf(action({ priority }), {}, actions);
    expect(report).toMatchObject({ status: 'pending', urgency, blocking_items: [] });
    expect(report).toMatchObject({ reason: 'When it starts.', required_action: 'When it starts.' });
    expect(report).not.toHaveProperty('reported_date');
  });

  it('the metadata of its creator overrides the defaults', () => {
    const said = { urgency: 'low', reason: 'No key', required_action: 'Buy one', blocking_items: ['BUG-001'] };
    expect(reportOf(action({ metadata: { ...said, blocks: ['BUG-002'] } }), {}, actions)).toMatchObject(said);
    expect(reportOf(action({ metadata: { blocks: ['BUG-002'] } }), {}, actions).blocking_items).toEqual(['BUG-002']);
  });

  it('has instructions without criteria', () => {
    const files = filesOf(action(), {}, actions);
    expect(files.get('INSTRUCTIONS.md')).not.toContain('Acceptance');
    expect(files.get('INSTRUCTIONS.md')).toContain('**Type**: human action\n');
    expect(files.get('TASKS.md')).toContain('Read INSTRUCTIONS.md');
  });
});

describe('the texts of an item', () => {
  it('evidence: a place is shown in its line, an output in a block of its own', () => {
    const evidence = [
      { type: 'file', location: 'a.ts:3', description: 'the line' },
      { type: 'output', location: ' failed\n', description: 'what it printed' },
      { type: 'link', location: 'https://example.com', description: 'the page' },
    ] as const;
    expect(evidenceList(evidence)).toBe(
      '- the line: `a.ts:3`\n- what it printed:\n\n```\nfailed\n```\n\n- the page: `https://example.com`',
    );
  });

  it.each([
    ['a', '```'],
    ['a `` b', '```'],
    ['a ``` b', '````'],
    ['``` a ````` b ````', '``````'],
  ])('%j is quoted by %s', (text, fence) => {
    expect(quoted(text)).toBe(`${fence}\n${text}\n${fence}\n`);
  });

  it('a list has one line for each entry', () => {
    expect(bulletList([' a\n  b ', 'c'])).toBe('- a b\n- c');
    expect(bulletList([])).toBe('');
  });

  it('empty sections are left out, but not the title, and indentation stays', () => {
    expect(
      sections([
        ['# One', ''],
        ['## Two', ' \n'],
        ['', 'lost'],
        ['## Three', '\n \n    a\n'],
      ]),
    ).toBe('# One\n\n## Three\n\n    a\n');
  });
});

describe('an incident that becomes an item says what was lost (W-2)', () => {
  const state = diedIn('processing', { run: 'run-1', iteration_count: 2, succeeded: ['BUG-002'] });
  const draft = { ...bug(), item_type: 'bug' as const, metadata: {} };
  const pageOf = (incident: Parameters<typeof debuggingContext>[1]) =>
    debuggingContext('BUG-007', incident, draft, { state, gitStatus: 'clean' });

  it('a crash', () => {
    const page = pageOf({ kind: 'crash', phase: 'processing', item: 'BUG-001' });
    expect(page).toContain('# BUG-007: It breaks\n\n## Description\n\nWhen it starts.\n\n## What was attempted\n\n');
    expect(page).toContain(
      'Run run-1 was on item 2; 1 item had succeeded. Its phase was processing, its item BUG-001.\n',
    );
    expect(page).toContain("## Why it failed\n\n`interrupted`: the run's process died; the next start detected it.\n");
    expect(page).toContain('## How many attempts\n\n1.\n');
    expect(page).toContain('Git:\n\n```\nclean\n```\n');
    expect(page).toContain('- Check the session logs for the last event');
    expect(page).not.toContain('"failures"');
    expect(page).toContain('"iteration_count": 2');
  });

  it('failures one after another', () => {
    const failure = { folder: 'bugs/BUG-001', component: null, phase: 'testing' as const, message: 'no ``` luck' };
    const page = pageOf({
      kind: 'consecutive_failures',
      count: 2,
      failures: [
        { ...failure, id: 'BUG-001', slugs: ['unknown_tool', 'max_turns_exhausted'], requests: 1 },
        { ...failure, id: 'BUG-002', slugs: [], requests: 2 },
      ],
    });
    expect(page).toContain('- BUG-001, up to testing\n- BUG-002, up to testing\n');
    expect(page).toContain('- BUG-001 in testing: `unknown_tool`, `max_turns_exhausted`\n\n````\nno ``` luck\n````\n');
    expect(page).toContain('- BUG-002 in testing: no slug\n');
    expect(page).toContain('- BUG-001: 1 session, 1 LLM request\n- BUG-002: 1 session, 2 LLM requests\n');
    expect(page).toContain('- Fix BUG-001 (bugs/BUG-001), or split it into smaller items.\n');
  });

  it.each([
    ['Do not touch it.', 'It asks for:\n\n```\nDo not touch it.\n```\n', '- Do what the STOP asks for'],
    ['', 'It contains no request.\n', '- Find out why the STOP was added.\n'],
  ])('a STOP that says %j', (request, why, next) => {
    const stop = { file: 'bugs/STOP', item: null, component: null, request };
    const page = pageOf({ kind: 'stop', stop });
    expect(page).toContain('There is a STOP in bugs/STOP.\n');
    expect(page).toContain(`## Why it failed\n\n${why}`);
    expect(page).toContain(next);
    expect(page).toContain('- Remove the STOP marker from bugs/STOP: no run works on an item until it is removed.\n');
  });

  it.each([
    ['BUG-001', 'helper was about to work on BUG-001.\n'],
    [null, 'helper was about to decide the order of the items.\n'],
  ])('an agent that cannot be invoked, for %s', (item, doing) => {
    const lost = { agent: 'helper', item, tries: 2, lookedFor: ['agents/helper.md'], errors: ['no key', 'no net'] };
    const page = pageOf({ kind: 'agent_unavailable', ...lost });
    expect(page).toContain(doing);
    expect(page).toContain('Try 1:\n\n```\nno key\n```\n\nTry 2:\n\n```\nno net\n```\n');
    expect(page).toContain('helper was invoked 2 times.\n');
    expect(page).toContain('- Pawl looked for it in agents/helper.md.\n');
  });

  it('a critical error without an item', () => {
    const page = pageOf({ kind: 'critical_error', phase: 'scanning', item: null, message: 'no space left' });
    expect(page).toContain('Its phase was scanning.\n');
    expect(page).toContain('## Why it failed\n\n```\nno space left\n```\n');
    expect(page).toContain('- Fix the cause of the error');
  });
});
