import { describe, expect, it } from 'vitest';
import { type Entry, makesRepository, onlyByDotGit } from '../../src/workspace/repositories.ts';

const entries = (text: string): Entry[] =>
  text
    .split(' ')
    .filter((one) => one !== '')
    .map((one) => {
      const [name = '', mark = ''] = one.split(':');
      return { name, kind: mark === 'l' ? 'link' : mark === 'd' ? 'folder' : 'file' };
    });

describe('S-5: the environment of git', () => {
  it('has it open a repository only by its .git, beside what is set already', () => {
    expect(onlyByDotGit({ A: 'b' })).toEqual({
      A: 'b',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.bareRepository',
      GIT_CONFIG_VALUE_0: 'explicit',
    });
    const given = { GIT_CONFIG_COUNT: '2', GIT_CONFIG_KEY_0: 'a.b', GIT_CONFIG_KEY_1: 'c.d' };
    expect(onlyByDotGit(given)).toEqual({
      ...given,
      GIT_CONFIG_COUNT: '3',
      GIT_CONFIG_KEY_2: 'safe.bareRepository',
      GIT_CONFIG_VALUE_2: 'explicit',
    });
    expect(onlyByDotGit({ GIT_CONFIG_COUNT: 'odd' })).toMatchObject({ GIT_CONFIG_COUNT: '1' });
    // Only a key says it, whatever the letters.
    expect(onlyByDotGit({ OTHER: 'safe.bareRepository' }).GIT_CONFIG_COUNT).toBe('1');
    const own = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'Safe.BareRepository', GIT_CONFIG_VALUE_0: 'all' };
    expect(onlyByDotGit(own)).toEqual(own);
  });
});

describe('what makes a folder look like a repository', () => {
  it.each<[string, string, boolean]>([
    ['HEAD', 'objects:d refs:d', true],
    ['head', 'OBJECTS:d Refs:d', true],
    ['objects:d', 'HEAD refs:d config', true],
    ['refs:d', 'HEAD objects:l', true],
    ['HEAD:l', 'objects:d refs:l', true],
    ['commondir', 'HEAD', true],
    ['HEAD', 'commondir', true],
    ['config', 'HEAD objects:d refs:d', false],
    ['HEAD', 'objects:d', false],
    ['HEAD', 'refs:d', false],
    ['objects:d', 'refs:d', false],
    ['commondir', 'objects:d refs:d', false],
    ['HEAD:d', 'objects:d refs:d', false],
    ['objects', 'HEAD refs:d', false],
    ['refs', 'HEAD objects:d', false],
    ['commondir:d', 'HEAD', false],
    ['HEAD', '', false],
  ])('%s beside %s: %s', (entry, others, isOne) => {
    const [own] = entries(entry);
    expect(makesRepository(own ?? expect.fail(), entries(others))).toBe(isOne);
  });
});
