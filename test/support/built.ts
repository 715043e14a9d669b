import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const built = 'dist/src/index.d.ts';

/** Before all tests: the folder of their temporary files, which is removed after them, and the package. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-tests-'));
  // The database of a test runs as another user.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  newRepository();
  build();
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/**
 * Returns a repository with an empty commit, for tests to copy: half of the processes of a test would be git's to make one.
 * It is made before all tests, or where they run otherwise, as mutants do, at the first use.
 */
export function newRepository(): string {
  const folder = join(tmpdir(), 'pawl-new-repository');
  if (existsSync(folder)) return folder;
  const made = mkdtempSync(join(tmpdir(), 'pawl-making-'));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: made });
  git('init', '--quiet', '--initial-branch=main', '--template=');
  git('config', 'user.name', 'Author');
  git('config', 'user.email', 'author@example.com');
  // A commit would start it in a process of its own.
  git('config', 'maintenance.auto', 'false');
  git('commit', '--quiet', '--allow-empty', '--message=Begin');
  try {
    renameSync(made, folder);
  } catch {
    // Another process was first.
    rmSync(made, { recursive: true });
  }
  return folder;
}

/** Builds the package, which some tests pack or bundle, unless it is newer than its sources. */
function build(): void {
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
