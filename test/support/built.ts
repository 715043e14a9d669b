import { execFileSync } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';

const built = 'dist/src/index.d.ts';

/** Before all tests: builds the package, which some of them pack or bundle, unless it is newer than its sources. */
export default function setup(): void {
  // A copy of the sources for tests that need no package.
  if (!existsSync('tsconfig.build.json')) return;
  const sources = [
    ...globSync('{src,machines,scripts/build}/**/*.{ts,tsx,css}'),
    ...globSync('visualizations/*.svg'),
    'package.json',
    'tsconfig.build.json',
  ];
  const latest = Math.max(...sources.map((file) => statSync(file).mtimeMs));
  if (existsSync(built) && statSync(built).mtimeMs > latest) return;
  execFileSync('npm', ['run', 'build', '--silent'], { stdio: 'inherit' });
}
