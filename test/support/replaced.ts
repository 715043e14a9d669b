import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';

type Replacement = {
  what: string;
  /** Replaces something of a project that holds `replaceable`. `at` gives the path of a file in it. */
  replace: (at: (path: string) => string) => void;
  /** What is left of `replaceable`, in the order of git. */
  after: string[];
};

export const replaceable = ['f.txt', 'lib/a.txt', 'other/a.txt'];

/** Ways in which work replaces a folder or a file by another kind of thing. */
export const replacements: Replacement[] = [
  {
    what: 'a folder by a file',
    replace: (at) => {
      rmSync(at('lib'), { recursive: true });
      writeFileSync(at('lib'), 'A file now.');
    },
    after: ['f.txt', 'lib', 'other/a.txt'],
  },
  {
    what: 'a folder by a link to one with the same file',
    replace: (at) => {
      rmSync(at('lib'), { recursive: true });
      symlinkSync('other', at('lib'));
    },
    after: ['f.txt', 'lib', 'other/a.txt'],
  },
  {
    what: 'a file by a folder',
    replace: (at) => {
      rmSync(at('f.txt'));
      mkdirSync(at('f.txt'));
      writeFileSync(at('f.txt/x'), 'x');
    },
    after: ['f.txt/x', 'lib/a.txt', 'other/a.txt'],
  },
];
