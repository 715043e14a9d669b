import { mkdirSync, mkdtempSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { KindLayout } from '../../src/workflow/backlog/item-kinds.ts';
import { itemFacts, namedIds } from '../../src/workflow/backlog/reading/item-sources.ts';
import { itemText, mostOfText, wholeItemText } from '../../src/workflow/backlog/reading/item-text.ts';
import { KnownItems } from '../../src/workflow/backlog/reading/known-items.ts';
import { checkInside } from '../../src/workflow/backlog/reading/links.ts';

const layout = { reportFile: 'bug_report.json', promptFile: 'PLAN.md', summaryFile: 'bugs.md' } as KindLayout;
let backlog: string;
beforeEach(() => {
  backlog = mkdtempSync(join(tmpdir(), 'pawl-items-'));
});
const write = (path: string, text: string | Buffer) => {
  mkdirSync(dirname(join(backlog, path)), { recursive: true });
  writeFileSync(join(backlog, path), text);
};
/** What is known of an item with this report, this prompt and this row. */
function facts(report: object | string | null, prompts: Record<string, string> = {}, row?: object) {
  const folder = mkdtempSync(join(backlog, 'item-')).slice(backlog.length + 1);
  if (report !== null) write(`${folder}/bug_report.json`, typeof report === 'string' ? report : JSON.stringify(report));
  for (const [name, text] of Object.entries(prompts)) write(`${folder}/${name}`, text);
  return itemFacts(backlog, folder, layout, row);
}

describe('W-1: what is known of an item', () => {
  it('comes from its report, or else from its prompt, or else from its row', () => {
    const prompt =
      '# From the prompt\n\n**Component**: web\n**Priority**: high\n**Created**: 2026-01-01\n\nIts words.\n';
    const row = { title: 'From the row', priority: 'P2', component: 'row' };
    const report = {
      title: 'From the report',
      priority: 'P0',
      component: 'core',
      created_date: '2026-02-02',
      description: 'Own.',
    };
    const shown = ({ title, priority, component, createdAt, description }: ReturnType<typeof facts>) => [
      title,
      priority,
      component,
      createdAt,
      description,
    ];
    expect(shown(facts(report, { 'PLAN.md': prompt }, row))).toEqual([
      'From the report',
      'P0',
      'core',
      '2026-02-02',
      'Own.',
    ]);
    expect(shown(facts({ title: ' ', component: 7 }, { 'PLAN.md': prompt }, row))).toEqual([
      'From the prompt',
      'P1',
      'web',
      '2026-01-01',
      'Its words.',
    ]);
    expect(shown(facts({}, {}, row))).toEqual(['From the row', 'P2', 'row', null, '']);
    expect(shown(facts({}))).toEqual([null, 'P3', null, null, '']);
    expect(facts({ name: ' Named ' }).title).toBe('Named');
    expect(facts({ summary: 'Sum' }).title).toBe('Sum');
    expect(facts(report).report).toEqual(report);
  });

  it.each(['created_date', 'created_at', 'created', 'reported_date', 'date'])('%s is when it came', (name) => {
    expect(facts({ [name]: '2026-01-01' }).createdAt).toBe('2026-01-01');
  });

  it('its prompt is that of its kind, or PROMPT.md', () => {
    expect(facts(null, { 'PLAN.md': '# Plan', 'PROMPT.md': '# Prompt' }).title).toBe('Plan');
    expect(facts(null, { 'PROMPT.md': '# Prompt\n\n**Created Date**: today\n' })).toMatchObject({
      title: 'Prompt',
      createdAt: 'today',
      report: {},
    });
    expect(facts(null, { 'PROMPT.md': '# Prompt\n\n**Reported**: now\n' }).createdAt).toBe('now');
    expect(() => facts(null)).toThrow('bug_report.json and PROMPT.md are missing');
  });

  it.each([
    ['{', /^bug_report\.json is not JSON: /],
    ['[1]', /^`bug_report\.json` must be a JSON object; got \[1\]\.$/],
    ['null', /^`bug_report\.json` must be a JSON object; got null\.$/],
    ['7', /^`bug_report\.json` must be a JSON object; got 7\.$/],
  ])('a report that is no object is refused: %s', (text, message) => {
    expect(() => facts(text)).toThrow(message);
  });

  it.each([
    ...[
      ['P0', 'P0'],
      ['p1', 'P1'],
      ['[P2]', 'P2'],
      ['Critical!', 'P0'],
      ['urgent', 'P0'],
      ['Highest', 'P0'],
      ['0', 'P0'],
    ],
    ...[
      ['HIGH', 'P1'],
      ['1', 'P1'],
      ['medium', 'P2'],
      ['2', 'P2'],
      ['** low', 'P3'],
      ['lowest', 'P3'],
      ['3', 'P3'],
    ],
    ...[
      ['constructor', 'P3'],
      ['soon', 'P3'],
      ['', 'P3'],
      ['highly', 'P3'],
    ],
  ])('the priority %j is %s', (priority, expected) => {
    expect(facts({ priority }).priority).toBe(expected);
  });

  it('the first priority that one knows counts', () => {
    expect(facts({ priority: 1 }).priority).toBe('P1');
    expect(facts({ priority: 'soon' }, {}, { priority: 'P1' }).priority).toBe('P1');
    expect(facts({ priority: ['P0'] }, {}, { priority: 'P1' }).priority).toBe('P1');
  });
});

describe('W-1: the status of an item', () => {
  const status = (report: string | null, prompt: string | null, row: string | null) => {
    const {
      status: said,
      meaning,
      why,
      disagreement,
    } = facts(
      report === null ? {} : { status: report },
      prompt === null ? {} : { 'PLAN.md': `# T\n\n**Status**: ${prompt}\n` },
      row === null ? undefined : { status: row },
    );
    return [said, meaning, why, disagreement];
  };

  it('is the most final that is said, and who says otherwise is named', () => {
    expect(status('new', null, null)).toEqual(['new', 'open', 'new in bug_report.json', null]);
    expect(status('new', 'fixed', null)).toEqual([
      'fixed',
      'done',
      'fixed in PLAN.md',
      'PLAN.md says fixed, bug_report.json new; taken as done',
    ]);
    expect(status('new', 'blocked', 'fixed')).toEqual([
      ...['fixed', 'done', 'fixed in bugs.md'],
      'bugs.md says fixed, bug_report.json new, PLAN.md blocked; taken as done',
    ]);
    expect(status('new', 'open', 'new')).toEqual(['new', 'open', 'new in bug_report.json', null]);
    expect(status(' fixed ', 'odd', null)).toEqual(['fixed', 'done', 'fixed in bug_report.json', null]);
  });

  it('is open if none is known, and says why', () => {
    expect(status(null, null, null)).toEqual([null, 'open', 'no status, so it is open', null]);
    expect(status(null, 'odd', null)).toEqual([
      'odd',
      'open',
      'the status "odd" in PLAN.md is unknown, so it is open',
      null,
    ]);
  });

  it('that a person opened again after it was left for review is open', () => {
    expect(status('new', null, 'needs-review')).toEqual(['new', 'open', 'new in bug_report.json', null]);
    expect(status('needs-review', null, 'needs-review')[1]).toBe('waiting');
    expect(status(null, null, 'needs-review')[1]).toBe('waiting');
    expect(status('fixed', 'new', 'needs-review')[1]).toBe('done');
  });
});

describe('W-1: what an item depends on', () => {
  it.each<[unknown, string[]]>([
    ['bug-1 and FEAT-22, not x-1', ['BUG-1', 'FEAT-22']],
    [
      ['BUG-1', { item_id: 'BUG-2' }, { id: 'BUG-3', item_id: 'BUG-4' }, [{ id: 'BUG-5' }]],
      ['BUG-1', 'BUG-2', 'BUG-4', 'BUG-5'],
    ],
    [{ name: 'BUG-1' }, []],
    [null, []],
    [7, []],
    [{ 'BUG-002': 'first', F: 'BUG-003' }, ['BUG-002']],
    [
      [{ bug_id: 'BUG-002' }, { feature_id: 'FEAT-3' }, { action_id: 'ACTION-4' }],
      ['BUG-002', 'FEAT-3', 'ACTION-4'],
    ],
    [{ id: 'BUG-1', 'BUG-2': 1 }, ['BUG-1']],
  ])('the ids in %j', (value, ids) => expect(namedIds(value)).toEqual(ids));

  it('is in its report and its prompt, and so is what it holds up', () => {
    expect(
      facts({ dependencies: ['BUG-1'], depends_on: 'BUG-2', blocking_items: ['BUG-3'], blocks: 'BUG-4' }),
    ).toMatchObject({
      dependsOn: ['BUG-1', 'BUG-2'],
      blocks: ['BUG-3', 'BUG-4'],
    });
    for (const name of ['Depends', 'Depends on', 'Dependencies', 'Dependency', 'Blocked by'])
      expect(facts(null, { 'PLAN.md': `# T\n\n**${name}**: BUG-5, BUG-6\n` }).dependsOn).toEqual(['BUG-5', 'BUG-6']);
    expect(facts(null, { 'PLAN.md': '# T\n\n**Blocks**: BUG-7\n' })).toMatchObject({
      dependsOn: [],
      blocks: ['BUG-7'],
    });
  });
});

describe('the text of an item', () => {
  it('is read as it is, without a mark at its beginning; and there is none without a file', () => {
    write('a/one.md', '\ufeffSo\ufeff.');
    expect(itemText(backlog, 'a/one.md')).toBe('So\ufeff.');
    expect(itemText(backlog, 'a/two.md')).toBeNull();
    expect(itemText(backlog, 'a/one.md/below')).toBeNull();
    expect(() => itemText(backlog, 'a')).toThrow('a is not a file');
  });

  it('lacks its middle if it is long', () => {
    write('a/one.md', 'abcdefghij');
    expect(itemText(backlog, 'a/one.md', 10)).toBe('abcdefghij');
    expect(itemText(backlog, 'a/one.md', 9)).toBe('abcd\n\n[2 bytes left out]\n\nghij');
  });

  it('that has to be whole is refused if it is too long', () => {
    write('a/one.json', 'x'.repeat(mostOfText - 1));
    expect(wholeItemText(backlog, 'a/one.json')).toHaveLength(mostOfText - 1);
    write('a/one.json', 'x'.repeat(mostOfText));
    expect(() => wholeItemText(backlog, 'a/one.json')).toThrow('a/one.json has more than 1000000 bytes');
    expect(wholeItemText(backlog, 'a/none.json')).toBeNull();
  });

  it('is not read through a link that leads out of the backlog', () => {
    const outside = mkdtempSync(join(tmpdir(), 'pawl-outside-'));
    writeFileSync(join(outside, 'secret'), 'hidden');
    write('a/one.md', 'So.');
    symlinkSync(join(outside, 'secret'), join(backlog, 'a/out.md'));
    symlinkSync(join(backlog, 'a/one.md'), join(backlog, 'a/in.md'));
    expect(itemText(backlog, 'a/in.md')).toBe('So.');
    expect(() => itemText(backlog, 'a/out.md')).toThrow('a/out.md is a link that leads outside the backlog');
    expect(() => checkInside(backlog, 'a/out.md')).toThrow('outside the backlog');
    symlinkSync(join(backlog, 'a/nothing.md'), join(backlog, 'a/dangling.md'));
    expect(() => checkInside(backlog, 'a/dangling.md')).toThrow('a/dangling.md is a link that leads nowhere');
    for (const path of ['a/one.md', 'a/in.md', 'a/none.md']) expect(checkInside(backlog, path)).toBeUndefined();
  });
});

describe('what was read of items', () => {
  it('is kept until one of its files or its other sources change', () => {
    const known = new KnownItems<number>();
    let reads = 0;
    const read = (also = '', files = ['one.md', 'two.md'], folder = 'a') =>
      known.of(backlog, folder, files, also, () => {
        reads += 1;
        return reads;
      });
    write('a/one.md', 'So.');
    expect([read(), read(), read('row'), read('row')]).toEqual([1, 1, 2, 2]);
    write('a/two.md', 'New.');
    expect([read('row'), read('row')]).toEqual([3, 3]);
    write('a/one.md', 'Longer.');
    expect([read('row'), read('row')]).toEqual([4, 4]);
    utimesSync(join(backlog, 'a/one.md'), 1, 1);
    expect([read('row'), read('row')]).toEqual([5, 5]);
    expect([read('row', undefined, 'b'), read('row')]).toEqual([6, 5]);
  });

  it('follows links, also to nowhere', () => {
    const known = new KnownItems<object>();
    const read = () => known.of(backlog, 'a', ['link.md'], '', () => ({}));
    write('a/one.md', 'So.');
    symlinkSync(join(backlog, 'a/one.md'), join(backlog, 'a/link.md'));
    const first = read();
    expect(read()).toBe(first);
    write('a/one.md', 'Longer.');
    expect(read()).not.toBe(first);
    symlinkSync(join(backlog, 'nowhere'), join(backlog, 'lost.md'));
    const lost = () => known.of(backlog, '.', ['lost.md'], '', () => ({}));
    expect(lost()).toBe(lost());
  });
});
