/**
 * `npm run mutants:src -- src/secrets/redact.ts …`: runs Stryker over these files, and adds the counts to
 * `scripts/verify/mutants-of-src.json`. The survivors go to `reports/mutants-of-src.json` and, to be read, to
 * `reports/mutants-of-src.md`, which git ignores. `--tests 'test/agent/*.test.ts test/host/*.test.ts'` runs only these tests, which
 * takes minutes instead of an hour, and catches less; without it, a file is tested as it was before, or else with all.
 * With `--again`, only known survivors of the files are tried, with these tests, which are added to those of the record.
 * Fails if a file has a lower share of caught mutants than before with the same tests; `--accept` accepts the lower share.
 * `--report FILE` reads a report instead of running Stryker.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { normalize } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { reasonFor } from './equivalents.ts';
import { recordOfSrc } from './figures-page.ts';
import { cell, mutatedFiles, type Survivor, share } from './mutation-report.ts';

/** How many of a file's mutants were caught. Those that are `equivalent` have a reason, and are not counted. */
type Row = {
  file: string;
  /** A digest of the file's code, without its imports, as it was measured. */
  digest: string;
  /** The globs of the tests that were run, separated by spaces; null for all. */
  tests: string | null;
  killed: number;
  survived: number;
  equivalent: number;
  ignored: number;
};

/** The counts of a file, and what this machine knows of its survivors. */
type Measured = Row & { survivors: Survivor[] };

const record = recordOfSrc;
const recordOfSurvivors = 'reports/mutants-of-src.json';
const flag = { type: 'boolean', default: false } as const;
const options = { accept: flag, again: flag, tests: { type: 'string' }, report: { type: 'string' } } as const;
const { values, positionals } = parseArgs({ allowPositionals: true, options });
const isOfSrc = (file: string) => normalize(file).startsWith('src/') && existsSync(file) && statSync(file).isFile();
const unknown = positionals.filter((file) => !isOfSrc(file));
if (unknown.length > 0) throw new Error(`no files of src/: ${unknown.join(', ')}`);
if (values.report !== undefined && positionals.length > 0) throw new Error('give files, or a report');
if (values.again && (values.tests === undefined || positionals.length === 0 || values.report !== undefined))
  throw new Error('--again needs files and --tests, and takes no report');
const read = <T>(file: string, otherwise: T): T =>
  existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : otherwise;
const before = read<Row[]>(record, []);
const survivorsBefore = read<Record<string, Survivor[]>>(recordOfSurvivors, {});
const testsOf = (file: string) => values.tests ?? before.find((row) => row.file === file)?.tests ?? null;
const written = 'reports/mutation-src.json';

/** Runs Stryker over files, with these tests. */
function run(files: readonly string[], tests: string | null) {
  rmSync(written, { force: true });
  const stryker = 'node_modules/@stryker-mutator/core/bin/stryker.js';
  const args = [stryker, 'run', 'stryker.src.config.json', '--mutate', files.join(',')];
  const env = { ...process.env, ...(tests !== null && { PAWL_TESTS: tests }) };
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env });
  if (status !== 0) throw new Error(`Stryker ended with ${status}`);
  return mutatedFiles([written]);
}

/** A file that has moved, or whose neighbours have, is still the one that was measured. */
function digestOf(file: string) {
  const code = readFileSync(file, 'utf8').replace(/^(import|export) [^;]*? from '[^']*';\n/gm, '');
  return createHash('sha256').update(code).digest('hex').slice(0, 16);
}

/** The rooms that guard secrets, approvals, aborts, budgets and journals: each mutant that survives there needs a test. */
const guards =
  /^src\/(agent\/secrets|context\/|host\/|http\/public-addresses|inspect\/tape\/redacted|journal\/|model\/pricing|observe\/(log\/session-log|waiting-calls)|platform\/node-only\/process-groups|restate\/|secrets\/|session\/|tools\/(mcp\/stdio|policies|run-tool|service\/rest|slots)|ui\/pause|workflow\/run\/spending)/;

/** The folders of the tests that `vitest.mutation-src.config.ts` runs if none are named. */
const ofAll = /^test\/(agent|input|secrets|host|session|simulation|journal|scenarios|tools|report|observe)\//;

/** Tries the survivors of files that have not changed since; `tests` are the additional tests to run. */
function triedAgain(files: readonly string[], tests: string): Measured[] {
  const rows = files.map((file) => {
    const row = before.find((one) => one.file === file);
    const survivors = survivorsBefore[file];
    if (row === undefined || survivors?.length !== row.survived)
      throw new Error(`${file} was not measured on this machine`);
    if (row.tests === null && !tests.split(/\s+/).every((glob) => ofAll.test(glob)))
      throw new Error(`${file} was measured with all tests, which these are not among`);
    const lines = readFileSync(file, 'utf8').split('\n');
    const isThere = ({ line, original }: Survivor) =>
      lines
        .slice(line - 1, line - 1 + original.split('\n').length)
        .join('\n')
        .includes(original);
    if (row.digest !== digestOf(file) || !survivors.every(isThere))
      throw new Error(`${file} has changed: measure it without --again`);
    return { ...row, survivors, tests: row.tests && [...new Set(`${row.tests} ${tests}`.split(/\s+/))].join(' ') };
  });
  const places = rows.flatMap(({ file, survivors }) =>
    survivors.map(({ line, original }) => `${file}:${line}-${line + original.split('\n').length - 1}`),
  );
  if (places.length === 0) throw new Error('these files have no survivors');
  // What was not tried survives.
  const caught = run([...new Set(places)], tests).flatMap((one) => one.caught);
  return rows.map((row) => {
    const survivors = row.survivors.filter((one) => !caught.some((other) => isDeepStrictEqual(one, other)));
    return { ...row, killed: row.killed + row.survived - survivors.length, survived: survivors.length, survivors };
  });
}

/** Tests all mutants of these files, or reads a report. */
function measured(files: readonly string[], report: string | undefined): Measured[] {
  const groups = Map.groupBy(files, testsOf);
  const mutated =
    report === undefined ? [...groups].flatMap(([tests, group]) => run(group, tests)) : mutatedFiles([report]);
  return mutated.map(({ file, killed, survivors, ignored }) => {
    const survived = survivors.length;
    return { file, digest: digestOf(file), tests: testsOf(file), killed, survived, equivalent: 0, ignored, survivors };
  });
}

/** Counts apart the survivors that have a reason. */
function explained(row: Measured): Measured {
  const survivors = row.survivors.filter((one) => reasonFor(one) === null);
  const equivalent = row.equivalent + row.survivors.length - survivors.length;
  return { ...row, equivalent, survived: survivors.length, survivors };
}

const wanted = (positionals.length > 0 ? positionals : before.map(({ file }) => file).filter(isOfSrc)).map(normalize);
const tried = values.again ? triedAgain(wanted, values.tests ?? '') : measured(wanted, values.report);
const now = tried.map(explained).filter(({ killed, survived }) => killed + survived > 0);
const foreign = now.filter(({ file }) => !isOfSrc(file));
if (now.length === 0 || foreign.length > 0) throw new Error('the report has no mutants, or some outside src/');
const caughtOf = ({ killed, survived }: Row) => killed / (killed + survived);
const fallen = now.filter((row) => {
  const known = before.find(({ file }) => file === row.file);
  return known !== undefined && known.tests === row.tests && caughtOf(row) < caughtOf(known);
});
for (const row of fallen) {
  process.stderr.write(`${row.file}: the share of caught mutants fell to ${share(caughtOf(row), 1)}\n`);
  for (const { line, original, replacement } of row.survivors)
    process.stderr.write(`  line ${line}: ${original} -> ${replacement}\n`);
}
if (fallen.length > 0 && !values.accept) process.exit(1);

const isKept = (file: string) => existsSync(file) && !now.some((row) => row.file === file);
const rows: Row[] = [
  ...before.filter(({ file }) => isKept(file)),
  ...now.map(({ survivors: _, ...row }) => row),
].toSorted((one, other) => one.file.localeCompare(other.file));
const survivorsOf: Record<string, Survivor[]> = Object.fromEntries([
  ...Object.entries(survivorsBefore).filter(([file]) => isKept(file)),
  ...now.map(({ file, survivors }) => [file, survivors]),
]);
const total = (list: readonly Row[], what: 'killed' | 'survived' | 'equivalent' | 'ignored') =>
  list.reduce((sum, row) => sum + row[what], 0);
const caughtIn = (list: readonly Row[]) => {
  const [killed, all] = [total(list, 'killed'), total(list, 'killed') + total(list, 'survived')];
  return `${killed} of ${all} mutants were caught, ${share(killed, all)}`;
};
/** A file that has changed since it was measured: its lines may have moved, too. */
const mark = (row: Row) => (row.digest === digestOf(row.file) ? '' : ' \\*');
const text = `# Mutation testing of src/

Written by \`npm run mutants:src\` (Stryker with every operator, over the files below). To survive, a mutant must pass all
tests of sessions, tools, journals and agents that need no other process, and 400 simulated sessions, or just the tests
that \`${record}\` names: where mutants make whole sessions hang, running all would take an hour a
file. The share of a file may not fall. ${total(rows, 'equivalent')} mutants are equivalent, for reasons that
\`scripts/verify/equivalents.ts\` gives, and are not counted; ${total(rows, 'ignored')} in tables that are read at module
load were not tried.

- All: ${caughtIn(rows)}.
- The rooms that guard (\`guards\` in \`scripts/verify/mutants-of-src.ts\`): ${caughtIn(rows.filter(({ file }) => guards.test(file)))}.
- Files marked with \\* have changed since they were measured: ${rows.filter((row) => mark(row) !== '').length} of ${rows.length}.

| file | caught | of |  |
| --- | --- | --- | --- |
${rows.map((row) => `| ${row.file}${mark(row)} | ${row.killed} | ${row.killed + row.survived} | ${share(caughtOf(row), 1)} |`).join('\n')}

## Survivors that this machine found

| where | original | mutant |
| --- | --- | --- |
${Object.values(survivorsOf)
  .flat()
  .map((one) => `| ${one.file}:${one.line} | ${cell(one.original)} | ${cell(one.replacement)} |`)
  .join('\n')}
`;
mkdirSync('reports', { recursive: true });
writeFileSync(record, `[\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n]\n`);
writeFileSync(recordOfSurvivors, `${JSON.stringify(survivorsOf, null, 1)}\n`);
writeFileSync('reports/mutants-of-src.md', text);
spawnSync('node_modules/.bin/biome', ['format', '--write', record], { stdio: 'ignore' });
process.stdout.write(`${caughtIn(rows)}. The survivors are in reports/mutants-of-src.md.\n`);
