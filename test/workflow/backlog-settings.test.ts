import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/workflow/backlog/config.ts';
import { temporaryFolder } from '../support/temporary.ts';

const defaults = {
  duplicate_threshold: 0.75,
  auto_commit: false,
  agents: {},
  allow: [],
  models: {},
  problems: [],
};

function read(text: string) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, '.agent-config.json'), text);
  return readConfig(folder);
}
const given = (fields: object) => read(JSON.stringify(fields));

describe('the settings of a backlog', () => {
  it('have defaults without the file', () => {
    expect(readConfig(temporaryFolder())).toEqual(defaults);
  });

  it('may all be given, beside fields of other tools', () => {
    const settings = {
      duplicate_threshold: 0.5,
      auto_commit: true,
      agents: { scan: 'a', process: 'b', test: 'c', retrospective: 'd', summary: './e.md' },
      allow: ['npm test'],
      models: { sonnet: 'anthropic/claude' },
    };
    expect(given({ ...settings, theme: 'dark' })).toEqual({ ...settings, problems: [] });
  });

  it('take the other name of the threshold too, after its own', () => {
    expect(given({ duplicate_similarity_threshold: 1 }).duplicate_threshold).toBe(1);
    expect(given({ duplicate_similarity_threshold: 1, duplicate_threshold: 0 }).duplicate_threshold).toBe(0);
  });

  it('accept agent names that contain spaces', () => {
    expect(given({ agents: { scan: 'a b' } }).agents).toEqual({ scan: 'a b' });
  });
});

describe('what cannot be read in the settings is a problem, and its default holds', () => {
  const problems: [fields: object, problem: string][] = [
    [{ duplicate_threshold: 1.01 }, '`duplicate_threshold` must be a number from 0 to 1; got 1.01.'],
    [{ duplicate_threshold: -0.01 }, '`duplicate_threshold` must be a number from 0 to 1; got -0.01.'],
    [
      { duplicate_similarity_threshold: '1' },
      '`duplicate_similarity_threshold` must be a number from 0 to 1; got "1".',
    ],
    [{ auto_commit: 'yes' }, '`auto_commit` must be true or false; got "yes".'],
    [{ allow: 'npm test' }, '`allow` must be an array of commands; got "npm test".'],
    [{ allow: [''] }, '`allow` must be an array of commands; got [""].'],
    [{ models: ['a'] }, '`models` must be an object of models by alias; got ["a"].'],
    [{ models: { sonnet: '' } }, '`models` must be an object of models by alias; got {"sonnet":""}.'],
    [{ agents: null }, '`agents` must be an object of agent names by role; got null.'],
    [{ agents: 'a' }, '`agents` must be an object of agent names by role; got "a".'],
    [{ agents: ['a'] }, '`agents` must be an object of agent names by role; got ["a"].'],
    [
      { agents: { worker: 'a' } },
      '`agents.worker` must be a role: scan, process, test, retrospective, summary; got "a".',
    ],
    [{ agents: { scan: '' } }, '`agents.scan` must be the name or the path of an agent file; got "".'],
    [{ agents: { scan: 1 } }, '`agents.scan` must be the name or the path of an agent file; got 1.'],
  ];
  it.each(problems)('%j', (fields, problem) => {
    expect(given(fields)).toEqual({ ...defaults, problems: [`.agent-config.json: ${problem} The default holds.`] });
  });

  it('one wrong field does not hide the others', () => {
    const config = given({ auto_commit: 1, allow: ['ls'], agents: { scan: 1, test: 'c', other: 'd' } });
    expect(config).toMatchObject({ auto_commit: false, allow: ['ls'], agents: { test: 'c' } });
    expect(config.problems.length).toBe(3);
  });

  it.each([
    ['[]', '`the file` must be a JSON object; got []. The defaults hold.'],
    ['null', '`the file` must be a JSON object; got null. The defaults hold.'],
    ['1', '`the file` must be a JSON object; got 1. The defaults hold.'],
  ])('a file that contains %s', (text, problem) => {
    expect(read(text)).toEqual({ ...defaults, problems: [`.agent-config.json: ${problem}`] });
  });

  it('a file that is not JSON, in one line', () => {
    const { problems: found, ...rest } = read('{\n\n"auto_commit": tru\n}');
    expect({ ...rest, problems: [] }).toEqual(defaults);
    expect(found).toEqual([expect.stringMatching(/^\.agent-config\.json is not JSON: \S.*\. The defaults hold\.$/)]);
    expect(found[0]).not.toMatch(/\s\s|\n/);
  });

  it('a file that cannot be read', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, '.agent-config.json'));
    expect(readConfig(folder)).toEqual({
      ...defaults,
      problems: [expect.stringMatching(/^\.agent-config\.json cannot be read: .*EISDIR.*\. The defaults hold\.$/)],
    });
  });
});
