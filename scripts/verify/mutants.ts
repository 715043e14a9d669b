/**
 * Writes `docs/verification-mutants.md` from Stryker's reports: `node scripts/verify/mutants.ts [report.json …]`. If
 * several reports contain a mutant, the last one counts.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { reasonFor } from './equivalents.ts';

type Position = { line: number; column: number };
type Mutant = {
  mutatorName: string;
  replacement?: string;
  status: string;
  location: { start: Position; end: Position };
};
type Report = { files: Record<string, { source: string; mutants: Mutant[] }> };

/** A mutant that no test caught. */
export type Survivor = { file: string; line: number; mutator: string; original: string; replacement: string };

const given = process.argv.slice(2);
const files: Report['files'] = {};
for (const path of given.length === 0 ? ['reports/mutation.json'] : given) {
  const report: Report = JSON.parse(readFileSync(path, 'utf8'));
  for (const [file, found] of Object.entries(report.files)) {
    const known = files[file];
    files[file] =
      known?.source === found.source ? { ...found, mutants: together(known.mutants, found.mutants) } : found;
  }
}

function together(known: readonly Mutant[], more: readonly Mutant[]): Mutant[] {
  const key = ({ location, replacement }: Mutant) => JSON.stringify([location, replacement]);
  return [...new Map([...known, ...more].map((mutant) => [key(mutant), mutant])).values()];
}

const noticed = new Set(['Killed', 'Timeout']);
const missed = new Set(['Survived', 'NoCoverage']);
const rows = Object.entries(files)
  .toSorted(([one], [other]) => one.localeCompare(other))
  .map(([file, { source, mutants }]) => ({
    file,
    killed: mutants.filter(({ status }) => noticed.has(status)).length,
    survivors: mutants.filter(({ status }) => missed.has(status)).map((mutant) => survivor(file, source, mutant)),
  }))
  .filter(({ killed, survivors }) => killed + survivors.length > 0);
const killed = rows.reduce((sum, row) => sum + row.killed, 0);
const survivors = rows.flatMap((row) => row.survivors);
const unexplained = survivors.filter((one) => reasonFor(one) === null);
const ignored = Object.values(files).flatMap(({ mutants }) => mutants.filter(({ status }) => status === 'Ignored'));
const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
const cell = (text: string) =>
  `\`${text.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('`', "'").slice(0, 90)}\``;

const text = `# Mutation testing

Written by \`npm run mutants\` (Stryker over \`machines/\`: rules, setups and configurations, with every operator). To survive, a mutant must pass the golden tables of the rules
and of every arrow's effects, and the walks over all paths.

**${killed} of ${killed + survivors.length} mutants were caught, ${share(killed, killed + survivors.length)}.** The table below lists the survivors, and why each one is equivalent.${ignored.length === 0 ? '' : ` To save time, ${ignored.length} mutants in tables that are read once, at module load, were skipped.`}

| file | caught | of |  |
| --- | --- | --- | --- |
${rows.map(({ file, killed: own, survivors: left }) => `| [${file}](../${file}) | ${own} | ${own + left.length} | ${share(own, own + left.length)} |`).join('\n')}

## Survivors

| where | original | mutant | why it is equivalent |
| --- | --- | --- | --- |
${survivors.map((one) => `| ${one.file.replace('machines/', '')}:${one.line} | ${cell(one.original)} | ${cell(one.replacement)} | ${reasonFor(one) ?? '**unexplained**'} |`).join('\n')}
`;
writeFileSync('docs/verification-mutants.md', text);
spawnSync('node_modules/.bin/biome', ['format', '--write', 'docs/verification-mutants.md'], { stdio: 'ignore' });
process.stdout.write(
  `Wrote docs/verification-mutants.md: ${share(killed, killed + survivors.length)} caught, ${unexplained.length} survivors unexplained.\n`,
);
if (unexplained.length > 0 || killed / (killed + survivors.length) < 0.95) process.exitCode = 1;

function survivor(file: string, source: string, { mutatorName, replacement = '', location }: Mutant): Survivor {
  const { start, end } = location;
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const last = lines.length - 1;
  const original = lines
    .map((line, index) => line.slice(index === 0 ? start.column - 1 : 0, index === last ? end.column - 1 : undefined))
    .join('\n');
  return { file, line: start.line, mutator: mutatorName, original, replacement };
}
