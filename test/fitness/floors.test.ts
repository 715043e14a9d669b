import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { circles, floors, importsIn, importsOf, importsUp } from '../graph/floors.ts';

const files = [...importsOf('src'), ...importsOf('machines')];
const rooms = floors.flat().map(({ name }) => name);

describe('the floors of src/', () => {
  it('hold every room, each once', () => {
    const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(rooms.toSorted()).toEqual(folders.map(({ name }) => name).toSorted());
  });

  it('a room imports only rooms on lower floors, type imports included', () => {
    expect(files.length).toBeGreaterThan(400);
    expect(
      importsUp(files),
      'a room imports only rooms on lower floors: move what both need below (test/graph/floors.ts)',
    ).toEqual([]);
  });

  it('no file imports itself through others, type imports included', () => {
    expect(circles(files)).toEqual([]);
  });

  it.each([
    ['a type from a room above', 'src/journal/journal.ts', "import type { Session } from '../session/session.ts';"],
    ['a value from a room on the same floor', 'src/model/faults.ts', "export { ToolError } from '../tools/result.ts';"],
    ['a module for what it does', 'src/host/clock.ts', 'import "../session/commands.ts";'],
    ['a module that is loaded later', 'src/secrets/redact.ts', "await import('../input/errors.ts');"],
  ])('%s is seen', (_what, path, line) => {
    const mutant = { path, imports: importsIn(path, `${readFileSync(path, 'utf8')}\n${line}`) };
    expect(importsUp(files.map((file) => (file.path === path ? mutant : file)))).toEqual([
      `${path} -> ${mutant.imports.at(-1)}`,
    ]);
  });

  it('a circle of two files is seen', () => {
    const path = 'src/host/clock.ts';
    const mutant = { path, imports: importsIn(path, "import type { Limits } from './deadline.ts';") };
    expect(circles(files.map((file) => (file.path === path ? mutant : file)))).toEqual([
      ['src/host/clock.ts', 'src/host/deadline.ts'],
    ]);
  });
});
