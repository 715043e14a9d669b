/**
 * `npm run size`: builds the package, and measures what an import of each entry point loads of Pawl's own code, in KB,
 * without what is loaded later by `import()`, and the unpacked tarball. Fails if one is over its budget.
 */
import { type ExecFileSyncOptions, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** In KB, a little above what was measured when the budget was set: raise one only with the reason in the commit. */
const budgets: Record<string, number> = {
  pawl: 700,
  'pawl/machines': 190,
  'pawl/workflow': 915,
  'pawl/workspace': 740,
  'pawl/ui': 770,
  'pawl/testing': 790,
  'pawl/testing/fast-check': 700,
  'pawl/inspect': 780,
  'pawl/openai': 730,
  'pawl/acp': 725,
  'pawl/otel': 715,
  'pawl/postgres': 715,
  'pawl/restate': 730,
  tarball: 2_950,
};

type Package = { exports: Record<string, string | { default: string }> };

const { exports }: Package = JSON.parse(readFileSync('package.json', 'utf8'));
const toStderr: ExecFileSyncOptions = { stdio: ['ignore', 2, 2] };
execFileSync('npm', ['run', 'build'], toStderr);

/** Returns the files that a module of `dist/` imports, itself included. */
function loaded(file: string, known = new Set<string>()): ReadonlySet<string> {
  if (known.has(file)) return known;
  known.add(file);
  const code = readFileSync(file, 'utf8');
  for (const [, specifier = ''] of code.matchAll(/(?:^|[;\n}])\s*(?:import|export)\b[^;'"()]*?["'](\.[^"']+)["']/g))
    loaded(join(dirname(file), specifier), known);
  return known;
}

const rows = Object.entries(exports).flatMap(([name, target]) => {
  if (typeof target === 'string') return [];
  const bytes = [...loaded(target.default)].reduce((sum, file) => sum + readFileSync(file).length, 0);
  return [{ name: join('pawl', name), kilobytes: Math.round(bytes / 1024) }];
});
const [packed = { unpackedSize: 0 }]: { unpackedSize: number }[] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { encoding: 'utf8' }),
);
rows.push({ name: 'tarball', kilobytes: Math.round(packed.unpackedSize / 1024) });

for (const { name, kilobytes } of rows) {
  const budget = budgets[name];
  const verdict = budget === undefined ? 'has no budget' : kilobytes > budget ? 'is over its budget' : 'ok';
  process.stdout.write(
    `${name.padEnd(24)} ${String(kilobytes).padStart(6)} of ${String(budget ?? '-').padStart(6)} KB  ${verdict}\n`,
  );
  if (verdict !== 'ok') process.exitCode = 1;
}
