/**
 * `npm run mutants:src -- src/secrets/redact.ts …`: runs Stryker over these files, and adds the result to
 * `docs/verification-mutants-src.md`. `--tests 'test/agent/*.test.ts test/host/*.test.ts'` runs only these tests, which
 * takes minutes instead of an hour, and catches less; without it, a file is tested as it was before, or else with all.
 * With `--again`, only known survivors of the files are tried, with these tests, which are added to those of the record.
 * Fails if a file has a lower share of caught mutants than before with the same tests; `--accept` accepts the lower share.
 * `--report FILE` reads a report instead of running Stryker.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { normalize } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { reasonFor } from './equivalents.ts';
import { cell, mutatedFiles, type Survivor, share } from './mutation-report.ts';

/** What is known of a file's mutants. Those that are `equivalent` have a reason, and are not counted. */
type Row = {
  file: string;
  /** A digest of the file as it was measured; older records have none. */
  digest?: string;
  /** The globs of the tests that were run, separated by spaces; null for all. */
  tests: string | null;
  killed: number;
  equivalent: number;
  ignored: number;
  survivors: Survivor[];
};

const record = 'scripts/verify/mutants-of-src.json';
const flag = { type: 'boolean', default: false } as const;
const options = { accept: flag, again: flag, tests: { type: 'string' }, report: { type: 'string' } } as const;
const { values, positionals } = parseArgs({ allowPositionals: true, options });
const isOfSrc = (file: string) => normalize(file).startsWith('src/') && existsSync(file) && statSync(file).isFile();
const unknown = positionals.filter((file) => !isOfSrc(file));
if (unknown.length > 0) throw new Error(`no files of src/: ${unknown.join(', ')}`);
if (values.report !== undefined && positionals.length > 0) throw new Error('give files, or a report');
if (values.again && (values.tests === undefined || positionals.length === 0 || values.report !== undefined))
  throw new Error('--again needs files and --tests, and takes no report');
const before: Row[] = existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')) : [];
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

const digestOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16);

/** The rooms that guard secrets, approvals, aborts, budgets and journals: each mutant that survives there needs a test. */
const guards =
  /^src\/(agent\/secrets|context\/|host\/|http\/public-addresses|inspect\/tape\/redacted|journal\/|model\/pricing|observe\/(log\/session-log|waiting-calls)|platform\/node-only\/process-groups|restate\/|secrets\/|session\/|tools\/(mcp\/stdio|policies|run-tool|service\/rest|slots)|ui\/pause|workflow\/run\/spending)/;

/** The folders of the tests that `vitest.mutation-src.config.ts` runs if none are named. */
const ofAll = /^test\/(agent|host|session|simulation|journal|scenarios|tools|report|observe)\//;

/** Tries the survivors of files that have not changed since; `tests` are the additional tests to run. */
function triedAgain(files: readonly string[], tests: string): Row[] {
  const rows = files.map((file) => {
    const row = before.find((one) => one.file === file);
    if (row === undefined) throw new Error(`${file} was not measured`);
    if (row.tests === null && !tests.split(/\s+/).every((glob) => ofAll.test(glob)))
      throw new Error(`${file} was measured with all tests, which these are not among`);
    const lines = readFileSync(file, 'utf8').split('\n');
    const isThere = ({ line, original }: Survivor) =>
      lines
        .slice(line - 1, line - 1 + original.split('\n').length)
        .join('\n')
        .includes(original);
    if ((row.digest ?? digestOf(file)) !== digestOf(file) || !row.survivors.every(isThere))
      throw new Error(`${file} has changed: measure it without --again`);
    return { ...row, tests: row.tests && [...new Set(`${row.tests} ${tests}`.split(/\s+/))].join(' ') };
  });
  const places = rows.flatMap(({ file, survivors }) =>
    survivors.map(({ line, original }) => `${file}:${line}-${line + original.split('\n').length - 1}`),
  );
  if (places.length === 0) throw new Error('these files have no survivors');
  // What was not tried survives.
  const caught = run([...new Set(places)], tests).flatMap((one) => one.caught);
  return rows.map((row) => {
    const survivors = row.survivors.filter((one) => !caught.some((other) => isDeepStrictEqual(one, other)));
    return { ...row, killed: row.killed + row.survivors.length - survivors.length, survivors };
  });
}

/** Tests all mutants of these files, or reads a report. */
function measured(files: readonly string[], report: string | undefined): Row[] {
  const groups = Map.groupBy(files, testsOf);
  const mutated =
    report === undefined ? [...groups].flatMap(([tests, group]) => run(group, tests)) : mutatedFiles([report]);
  return mutated.map(({ file, killed, survivors, ignored }) => {
    return { file, digest: digestOf(file), tests: testsOf(file), killed, equivalent: 0, ignored, survivors };
  });
}

/** Counts apart the survivors that have a reason. */
function explained(row: Row): Row {
  const survivors = row.survivors.filter((one) => reasonFor(one) === null);
  return { ...row, equivalent: row.equivalent + row.survivors.length - survivors.length, survivors };
}

const wanted = (positionals.length > 0 ? positionals : before.map(({ file }) => file).filter(isOfSrc)).map(normalize);
const tried = values.again ? triedAgain(wanted, values.tests ?? '') : measured(wanted, values.report);
const now = tried.map(explained).filter(({ killed, survivors }) => killed + survivors.length > 0);
const foreign = now.filter(({ file }) => !isOfSrc(file));
if (now.length === 0 || foreign.length > 0) throw new Error('the report has no mutants, or some outside src/');
const caughtOf = ({ killed, survivors }: Row) => killed / (killed + survivors.length);
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

const kept = before.filter(({ file }) => existsSync(file) && !now.some((row) => row.file === file));
const rows = [...kept.map(explained), ...now].toSorted((one, other) => one.file.localeCompare(other.file));
const killed = rows.reduce((sum, row) => sum + row.killed, 0);
const survivors = rows.flatMap((row) => row.survivors);
const ignored = rows.reduce((sum, row) => sum + row.ignored, 0);
const equivalent = rows.reduce((sum, row) => sum + row.equivalent, 0);
const whole = killed + survivors.length;
const guarding = rows.filter(({ file }) => guards.test(file));
const guarded = guarding.reduce((sum, row) => sum + row.killed, 0);
const open = guarding.flatMap((row) => row.survivors);
/** A file that has changed since it was measured: its lines may have moved, too. */
const mark = (row: Row) => (row.digest === digestOf(row.file) ? '' : ' \\*');
const table = (list: readonly Survivor[]) =>
  list.length === 0
    ? 'None.'
    : `| where | original | mutant |
| --- | --- | --- |
${list.map((one) => `| ${one.file}:${one.line} | ${cell(one.original)} | ${cell(one.replacement)} |`).join('\n')}`;
const text = `# Mutation testing of src/

Written by \`npm run mutants:src\` (Stryker with every operator, over the files below). To survive, a mutant must pass all
tests of sessions, tools, journals and agents that need no other process, and 400 simulated sessions, or just the tests
that \`scripts/verify/mutants-of-src.json\` names: where mutants make whole sessions hang, running all would take an hour a
file. The share of a file may not fall. ${equivalent} mutants are equivalent, for reasons that \`scripts/verify/equivalents.ts\` gives, and are not
counted; ${ignored} in tables that are read at module load were not tried.

**${killed} of ${whole} mutants were caught, ${share(killed, whole)}**; of the rooms that guard secrets, approvals, aborts,
budgets and journals (\`guards\` in \`scripts/verify/mutants-of-src.ts\`), ${guarded} of ${guarded + open.length}, ${share(guarded, guarded + open.length)}.
Files marked with \\* have changed since they were measured.

| file | caught | of |  |
| --- | --- | --- | --- |
${rows.map((row) => `| [${row.file}](../${row.file})${mark(row)} | ${row.killed} | ${row.killed + row.survivors.length} | ${share(caughtOf(row), 1)} |`).join('\n')}

## Survivors in rooms that guard

${table(open)}

## Other survivors

${table(survivors.filter(({ file }) => !guards.test(file)))}
`;
writeFileSync(record, `${JSON.stringify(rows, null, 1)}\n`);
writeFileSync('docs/verification-mutants-src.md', text);
spawnSync('node_modules/.bin/biome', ['format', '--write', record, 'docs/verification-mutants-src.md'], {
  stdio: 'ignore',
});
process.stdout.write(`Wrote docs/verification-mutants-src.md: ${share(killed, whole)} caught.\n`);
