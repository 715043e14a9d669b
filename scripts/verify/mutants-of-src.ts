/**
 * `npm run mutants:src -- src/agent/redact.ts …`: runs Stryker over these files, by default those in
 * `stryker.src.config.json`, and adds the result to `docs/verification-mutants-src.md`. Fails if a file has a lower share of
 * caught mutants than before; `--accept` accepts the lower share. `--own` runs only the tests of rooms by themselves, which
 * takes minutes instead of an hour, and catches less. `--report FILE` reads a report instead of running Stryker.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { normalize } from 'node:path';
import { parseArgs } from 'node:util';
import { reasonFor } from './equivalents.ts';
import { cell, mutatedFiles, type Survivor, share } from './mutation-report.ts';

/** What is known of a file's mutants. Those that are `equivalent` have a reason, and are not counted. */
type Row = { file: string; killed: number; equivalent: number; ignored: number; survivors: Survivor[] };

const record = 'scripts/verify/mutants-of-src.json';
const flag = { type: 'boolean', default: false } as const;
const options = { accept: flag, own: flag, report: { type: 'string' } } as const;
const { values, positionals } = parseArgs({ allowPositionals: true, options });
const isOfSrc = (file: string) => normalize(file).startsWith('src/') && existsSync(file) && statSync(file).isFile();
const unknown = positionals.filter((file) => !isOfSrc(file));
if (unknown.length > 0) throw new Error(`no files of src/: ${unknown.join(', ')}`);
if (values.report !== undefined && positionals.length > 0) throw new Error('give files, or a report');
const written = 'reports/mutation-src.json';
if (values.report === undefined) {
  rmSync(written, { force: true });
  const mutate = positionals.length === 0 ? [] : ['--mutate', positionals.join(',')];
  const stryker = 'node_modules/@stryker-mutator/core/bin/stryker.js';
  const args = [stryker, 'run', 'stryker.src.config.json', ...mutate];
  const env = { ...process.env, ...(values.own && { PAWL_MUTANTS: 'own' }) };
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env });
  if (status !== 0) throw new Error(`Stryker ended with ${status}`);
}
const before: Row[] = existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')) : [];
const now = mutatedFiles([values.report ?? written])
  .map(({ file, killed, survivors, ignored }): Row => {
    const left = survivors.filter((one) => reasonFor(one) === null);
    return { file, killed, equivalent: survivors.length - left.length, ignored, survivors: left };
  })
  .filter(({ killed, survivors }) => killed + survivors.length > 0);
const foreign = now.filter(({ file }) => !isOfSrc(file));
if (now.length === 0 || foreign.length > 0) throw new Error('the report has no mutants, or some outside src/');
const caughtOf = ({ killed, survivors }: Row) => killed / (killed + survivors.length);
const fallen = now.filter((row) => {
  const known = before.find(({ file }) => file === row.file);
  return known !== undefined && caughtOf(row) < caughtOf(known);
});
for (const row of fallen) {
  process.stderr.write(`${row.file}: the share of caught mutants fell to ${share(caughtOf(row), 1)}\n`);
  for (const { line, original, replacement } of row.survivors)
    process.stderr.write(`  line ${line}: ${original} -> ${replacement}\n`);
}
if (fallen.length > 0 && !values.accept) process.exit(1);

const kept = before.filter(({ file }) => existsSync(file) && !now.some((row) => row.file === file));
const rows = [...kept, ...now].toSorted((one, other) => one.file.localeCompare(other.file));
const killed = rows.reduce((sum, row) => sum + row.killed, 0);
const survivors = rows.flatMap((row) => row.survivors);
const ignored = rows.reduce((sum, row) => sum + row.ignored, 0);
const equivalent = rows.reduce((sum, row) => sum + row.equivalent, 0);
const whole = killed + survivors.length;
const text = `# Mutation testing of src/

Written by \`npm run mutants:src\` (Stryker with every operator, over the files below). To survive, a mutant must pass the
tests of sessions, tools, journals and agents that need no other process, and 400 simulated sessions; where its mutants
make whole sessions hang, a file was run with \`--own\`, so only past the tests of rooms by themselves. The share of a
file may not fall. ${equivalent} mutants are equivalent, for reasons that \`scripts/verify/equivalents.ts\` gives, and are not
counted; ${ignored} in tables that are read at module load were not tried.

**${killed} of ${whole} mutants were caught, ${share(killed, whole)}.**

| file | caught | of |  |
| --- | --- | --- | --- |
${rows.map((row) => `| [${row.file}](../${row.file}) | ${row.killed} | ${row.killed + row.survivors.length} | ${share(caughtOf(row), 1)} |`).join('\n')}

## Survivors

| where | original | mutant |
| --- | --- | --- |
${survivors.map((one) => `| ${one.file}:${one.line} | ${cell(one.original)} | ${cell(one.replacement)} |`).join('\n')}
`;
writeFileSync(record, `${JSON.stringify(rows, null, 1)}\n`);
writeFileSync('docs/verification-mutants-src.md', text);
spawnSync('node_modules/.bin/biome', ['format', '--write', record, 'docs/verification-mutants-src.md'], {
  stdio: 'ignore',
});
process.stdout.write(`Wrote docs/verification-mutants-src.md: ${share(killed, whole)} caught.\n`);
