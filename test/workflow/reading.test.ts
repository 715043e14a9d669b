import { describe, expect, it } from 'vitest';
import { withoutCode } from '../../src/workflow/backlog/reading/fences.ts';
import { namedIds } from '../../src/workflow/backlog/reading/item-sources.ts';
import { promptFacts, statusInHead, withPriority, withStatus } from '../../src/workflow/backlog/reading/prompt-file.ts';
import { meaningOf } from '../../src/workflow/backlog/reading/statuses.ts';

describe('W-1: what a status means', () => {
  it.each<[string, 'open' | 'waiting' | 'done' | null]>([
    ['new', 'open'],
    ['To do', 'open'],
    ['IN_PROGRESS', 'open'],
    ['in-progress', 'open'],
    ['In progress (since Monday)', 'open'],
    ['tests failing', 'open'],
    ['Blocked by BUG-1', 'waiting'],
    ['on hold', 'waiting'],
    ['needs review', 'waiting'],
    ['Done', 'done'],
    ['✅ Completed', 'done'],
    ['**fixed**', 'done'],
    ["won't fix", 'done'],
    ['won’t do', 'done'],
    ['`closed`', 'done'],
    ['resolved: see FEAT-2, which is open', 'done'],
    ['done; open again later', 'done'],
    ['done, not new', 'done'],
    ['done. New ones follow', 'done'],
    ['done - blocked before', 'done'],
    ['done – blocked', 'done'],
    ['done — blocked', 'done'],
    ['done [new]', 'done'],
    ['not started', 'open'],
    ['not planned', 'done'],
    ['not', null],
    ['not - started', null],
    ['not — planned', null],
    ['not-started', 'open'],
    ['fertig', null],
    ['', null],
    ['(done)', null],
    ['🚧', null],
  ])('%j: %j', (status, meaning) => expect(meaningOf(status)).toBe(meaning));
});

describe('W-1: ids of other items', () => {
  it.each<[unknown, string[]]>([
    ['BUG-1, feat-02 and x-3', ['BUG-1', 'FEAT-02']],
    ['abcdefghijklm-1', []],
    ['BUG-1a', []],
    [
      ['BUG-1', { id: 'bug-2' }, { item_id: 'BUG-3', id: 'BUG-4' }],
      ['BUG-1', 'BUG-2', 'BUG-3'],
    ],
    [{ id: ['BUG-1'] }, ['BUG-1']],
    [{ name: 'BUG-1' }, []],
    [null, []],
    [7, []],
    [false, []],
  ])('%j: %j', (value, ids) => expect(namedIds(value)).toEqual(ids));
});

describe('W-1: code blocks say nothing of an item', () => {
  it.each<[string, string[], string[]]>([
    ['none', ['a', 'b'], ['a', 'b']],
    ['one', ['a', '```', 'b', '```', 'c'], ['a', '', '', '', 'c']],
    ['with a language', ['```js', 'b', '```', 'c'], ['', '', '', 'c']],
    ['of tildes', ['~~~', '```', '~~~', 'c'], ['', '', '', 'c']],
    ['of tildes with backticks in its words', ['~~~ `a`', 'b', '~~~', 'c'], ['', '', '', 'c']],
    ['longer than a fence inside', ['````', '```', 'b', '````', 'c'], ['', '', '', '', 'c']],
    ['that ends with a longer fence', ['```', 'b', '`````', 'c'], ['', '', '', 'c']],
    ['that does not end with words after the fence', ['```', '``` js', 'b', '```', 'c'], ['', '', '', '', 'c']],
    ['that ends with spaces after the fence', ['```', 'b', '```  ', 'c'], ['', '', '', 'c']],
    ['that never ends', ['a', '```', 'b'], ['a', '', '']],
    ['in a list', ['- ```', '  b', '  ```', 'c'], ['', '', '', 'c']],
    ['in a list of lists', ['1. * ```', 'b', '```', 'c'], ['', '', '', 'c']],
    ['in a list with brackets', ['2) ```', 'b', '```', 'c'], ['', '', '', 'c']],
    ['that a sign of a list does not end', ['```', '- ```', 'b', '```', 'c'], ['', '', '', '', 'c']],
    ['in one line', ['```a```', 'b'], ['```a```', 'b']],
    ['of two backticks', ['``', 'b'], ['``', 'b']],
    ['after words', ['a ```', 'b'], ['a ```', 'b']],
  ])('%s', (_, lines, left) => expect(withoutCode(lines)).toEqual(left));
});

describe('W-1: the head of a PROMPT.md', () => {
  const fields = (text: string) => Object.fromEntries(promptFacts(text).fields);

  it.each<[string, string | null]>([
    ['# FEAT-004: Early exits', 'Early exits'],
    ['# feat-4 – Early exits', 'Early exits'],
    ['# BUG-1 - Early exits', 'Early exits'],
    ['# BUG-1 Early exits', 'Early exits'],
    ['# Early exits', 'Early exits'],
    ['Before.\r\n\r\n#   Early exits \r\n', 'Early exits'],
    ['# BUG-1:Early exits', 'Early exits'],
    ['# The BUG-1 case', 'The BUG-1 case'],
    ['# BUG-1', null],
    ['# ', null],
    ['## Early exits', null],
    ['#Early exits', null],
    ['```\n# Early exits\n```', null],
    ['', null],
    ['---\n# keep in sync\nstatus: done\n---\n# BUG-001: Its title', 'Its title'],
    ['---\n# BUG-001: Its title\n**Priority**: P1\n---', 'Its title'],
    ['---\n# BUG-001: Its title\nstatus: done', 'Its title'],
  ])('title of %j: %j', (text, title) => expect(promptFacts(text).title).toBe(title));

  it.each<[string, Record<string, string>]>([
    ['**Status**: new', { status: 'new' }],
    ['**Status:** new', { status: 'new' }],
    ['**Status:**: new', { status: 'new' }],
    ['** Status **: new', { status: 'new' }],
    ['**Priority**: P1 | **Status**: new;', { priority: 'P1', status: 'new' }],
    ['**Priority**: P1 · **Blocked_by**: BUG-1, ', { priority: 'P1', 'blocked by': 'BUG-1' }],
    ['**Priority**: **Status**: new', { status: 'new' }],
    ['status: new', { status: 'new' }],
    ['- Depends_on: BUG-1', { 'depends on': 'BUG-1' }],
    ['* Blocked by: BUG-1', { 'blocked by': 'BUG-1' }],
    [
      'depends: BUG-1\ndependencies: BUG-2\nblocks: BUG-3\ncreated: today',
      { depends: 'BUG-1', dependencies: 'BUG-2', blocks: 'BUG-3', created: 'today' },
    ],
    ['component: core\ntype: bug\npriority:', { component: 'core', type: 'bug' }],
    ['**Depends on**:\n- BUG-2\n* BUG-3\n\n- Do it.', { 'depends on': 'BUG-2, BUG-3' }],
    ['**Blocked by:**\n\n  + BUG-2\nText.', { 'blocked by': 'BUG-2' }],
    ['**Blocks**:\n- BUG-2', { blocks: 'BUG-2' }],
    ['**Status**:\n- Do it.', {}],
    ['- **Depends on**:\n- **Blocks**: BUG-2\n- **Priority**: P1', { blocks: 'BUG-2', priority: 'P1' }],
    ['- Depends on:\n- BUG-9 is like it', {}],
    ['- Depends on:\n  - BUG-9\n  - [x] `BUG-8`\n- BUG-7', { 'depends on': 'BUG-9, `BUG-8`' }],
    ['**Dependencies:**\n\n- Follow-up of BUG-003, which is closed', {}],
    ['--- \n# keep\nstatus: done\n---  \n# BUG-001: x', { status: 'done' }],
    ['---\n# BUG-001: x\n**Priority**: P1\n---\nMore.\n## History\n**Priority**: P0', { priority: 'P1' }],
    ['**Depends on**:\nNo list.\n- BUG-2', {}],
    ['**Depends on**:', {}],
    ['**Depends on**:\n\n\n- BUG-2', {}],
    ['---\nstatus: new\ndepends_on:\n  - BUG-2\n---\n# BUG-001: x', { status: 'new', 'depends on': 'BUG-2' }],
    ['---\n# keep\n# in sync\nstatus: done\n---\n# BUG-001: x', { status: 'done' }],
    ['# BUG-001: x\n\nstatus: done\n---\n# Other\n---', { status: 'done' }],
    ['Status: new\n**Status**: done', { status: 'new' }],
    ['The status: new', {}],
    ['owner: ada', {}],
    ['**Owner**: ada', { owner: 'ada' }],
    ['**Owner**: team: core, a, b,;', { owner: 'team: core, a, b' }],
    ['**Owner**: : ada', { owner: 'ada' }],
    ['**Owner**: :ada', { owner: 'ada' }],
    ['status: new #', { status: 'new #' }],
    ['# A **Status**: new', {}],
    ['# A\nsee # 5\nstatus: new', { status: 'new' }],
    ['**Status** new', {}],
    ['# Status: new', {}],
    ['```\nstatus: new\n```', {}],
    [`${'a'.repeat(999)} **Status**: new`, {}],
    [`${'x\n'.repeat(59)}status: new`, { status: 'new' }],
    [`${'x\n'.repeat(60)}status: new`, {}],
    ['# A\nstatus: new\n## B\npriority: P0', { status: 'new' }],
    ['## Before\nstatus: new\n# A\npriority: P0\n# B\ntype: bug', { status: 'new', priority: 'P0' }],
  ])('fields of %j', (text, expected) => expect(fields(text)).toEqual(expected));

  it.each<[string, string]>([
    ['# A\n\nstatus: new\n\nFirst.\nSecond.\n\nThird.', 'First.\nSecond.'],
    ['# A\nFirst.\n# B', 'First.'],
    ['# A\n> quoted\n- listed\n| a table |\nFirst.', 'First.'],
    ['Before.\n# A\n', ''],
    ['First.', 'First.'],
    ['# A\n   \nFirst - one # two.\nSecond # two.\n   \nThird.', 'First - one # two.\nSecond # two.'],
    ['# A\n  - listed\nFirst.', 'First.'],
    ['# A\n```\ncode\n```\nFirst.', 'First.'],
    [`# A\n${'b'.repeat(3_000)}`, 'b'.repeat(2_000)],
  ])('description of %j', (text, description) => expect(promptFacts(text).description).toBe(description));
});

describe('W-1: changes in the head of a PROMPT.md', () => {
  it.each<[string, string | null, string]>([
    ['# A\n**Status**: in progress\n', 'in progress', '# A\n**Status**: done\n'],
    ['# A\n**Status:** new | **Priority**: P1', 'new', '# A\n**Status:** done | **Priority**: P1'],
    ['**Priority**: P1 **Status**: new', 'new', '**Priority**: P1 **Status**: done'],
    ['- status: new (again)', 'new', '- status: done (again)'],
    ['status: new\r\nx', 'new', 'status: done\r\nx'],
    ['status: new\nstatus: open', 'new', 'status: done\nstatus: open'],
    ['# Status: new\nx', null, '# Status: new\nx'],
    ['# A **Status**: new', null, '# A **Status**: new'],
    ['status: new (see #', 'new', 'status: done (see #'],
    ['```\nstatus: new\n```', null, '```\nstatus: new\n```'],
    ['# A\n## B\nstatus: new', null, '# A\n## B\nstatus: new'],
    ['The status: new', null, 'The status: new'],
    ['```\r\nstatus: new\r\n```\r\nstatus: open\r\n', 'open', '```\r\nstatus: new\r\n```\r\nstatus: done\r\n'],
    ['status:', null, 'status:'],
    ['status: new/old', null, 'status: new/old'],
  ])('status of %j', (text, status, changed) => {
    expect(statusInHead(text)).toBe(status);
    expect(withStatus(text, 'done')).toBe(changed);
  });

  it.each<[string, string]>([
    ['# A\n**Priority**: P1\n', '# A\n**Priority**: P0\n'],
    ['**Priority:** high, soon', '**Priority:** P0, soon'],
    ['**Status**: new **Priority**: low', '**Status**: new **Priority**: P0'],
    ['* priority: Medium', '* priority: P0'],
    ['priority: P1\npriority: P2', 'priority: P0\npriority: P2'],
    ['priority: soon', 'priority: soon'],
    ['priority: P12', 'priority: P12'],
    ['# Priority: P1', '# Priority: P1'],
    ['# A **Priority**: P1', '# A **Priority**: P1'],
    ['priority: P1 #', 'priority: P0 #'],
    ['```\npriority: P1\n```', '```\npriority: P1\n```'],
    ['The priority: P1', 'The priority: P1'],
    ['```\r\npriority: P1\r\n```\r\npriority: P2\r\n', '```\r\npriority: P1\r\n```\r\npriority: P0\r\n'],
    ['# A\n## B\npriority: P1', '# A\n## B\npriority: P1'],
  ])('priority of %j', (text, changed) => expect(withPriority(text, 'P0')).toBe(changed));
});
