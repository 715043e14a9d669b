import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { files } from '../graph/trace.ts';

const linesOf = (text: string) => text.split('\n').length - 1;

function longerThan(most: number, folder: string): string[] {
  return files(folder).flatMap(({ path, text }) => (linesOf(text) > most ? [`${path}: ${linesOf(text)}`] : []));
}

function foldersBelow(folder: string): string[] {
  const inner = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [folder, ...inner.flatMap(({ name }) => foldersBelow(join(folder, name)))];
}

describe('the rooms', () => {
  it('src/ itself holds only index.ts', () => {
    const loose = readdirSync('src').filter((name) => statSync(join('src', name)).isFile());
    expect(loose.toSorted()).toEqual(['index.ts']);
  });

  it('no folder in src/ has more than 14 files', () => {
    const crowded = foldersBelow('src').filter(
      (folder) => readdirSync(folder).filter((name) => /\.tsx?$/.test(name)).length > 14,
    );
    expect(crowded).toEqual([]);
  });

  it('no file exceeds 300 lines, or 150 in src/session', () => {
    expect([...longerThan(300, 'machines'), ...longerThan(300, 'src'), ...longerThan(300, 'test')]).toEqual([]);
    expect(longerThan(150, 'src/session')).toEqual([]);
  });

  it('only the clock, the MCP transports and the testing kit use timers', () => {
    const homes = /^src\/(host\/clock\.ts|tools\/mcp\/|testing\/)/;
    const strays = files('src').filter(
      ({ path, text }) =>
        !homes.test(path) &&
        /(?<!\bno)setTimeout\(|setInterval\(|timers\/promises'.*Timeout|AbortSignal\.timeout/.test(text),
    );
    expect(strays.map(({ path }) => path)).toEqual([]);
  });

  it('test/graph/ is shared by tests and scripts, and imports neither', () => {
    const imports = files('test/graph').flatMap(({ path, text }) =>
      [...text.matchAll(/from '(\.[^']+)'/g)].map(([, from = '']) => join(path, '..', from)),
    );
    expect(imports.filter((path) => !/^(machines|src|test\/graph)\//.test(path))).toEqual([]);
  });
});
