/**
 * Reads Stryker's reports: `node scripts/verify/mutants.ts [report.json …]`. Writes the counts to
 * `scripts/verify/mutants-of-machines.json`, and each survivor to `reports/mutants-of-machines.md`, which git ignores. If
 * several reports contain a mutant, the last one counts.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { reasonFor } from './equivalents.ts';
import { recordOfMachines } from './figures-page.ts';
import { cell, mutatedFiles, share } from './mutation-report.ts';

const given = process.argv.slice(2);
const all = mutatedFiles(given.length === 0 ? ['reports/mutation.json'] : given);
const rows = all.filter(({ killed, survivors }) => killed + survivors.length > 0);
const killed = rows.reduce((sum, row) => sum + row.killed, 0);
const survivors = rows.flatMap((row) => row.survivors);
const unexplained = survivors.filter((one) => reasonFor(one) === null);
const ignored = all.reduce((sum, row) => sum + row.ignored, 0);

const text = `# Mutation testing

Written by \`npm run mutants\` (Stryker over \`machines/\`: rules, setups and configurations, with every operator). To survive, a mutant must pass the golden tables of the rules
and of every arrow's effects, and the walks over all paths.

**${killed} of ${killed + survivors.length} mutants were caught, ${share(killed, killed + survivors.length)}.** The table below lists the survivors, and why each one is equivalent.${ignored === 0 ? '' : ` To save time, ${ignored} mutants in tables that are read once, at module load, were skipped.`}

| file | caught | of |  |
| --- | --- | --- | --- |
${rows.map(({ file, killed: own, survivors: left }) => `| ${file} | ${own} | ${own + left.length} | ${share(own, own + left.length)} |`).join('\n')}

## Survivors

| where | original | mutant | why it is equivalent |
| --- | --- | --- | --- |
${survivors.map((one) => `| ${one.file.replace('machines/', '')}:${one.line} | ${cell(one.original)} | ${cell(one.replacement)} | ${reasonFor(one) ?? '**unexplained**'} |`).join('\n')}
`;
const figures = { killed, all: killed + survivors.length };
writeFileSync(recordOfMachines, `${JSON.stringify(figures)}\n`);
writeFileSync('reports/mutants-of-machines.md', text);
spawnSync('node_modules/.bin/biome', ['format', '--write', recordOfMachines], { stdio: 'ignore' });
process.stdout.write(
  `${share(killed, figures.all)} caught, ${unexplained.length} survivors unexplained: see reports/mutants-of-machines.md.\n`,
);
if (unexplained.length > 0 || killed / (killed + survivors.length) < 0.95) process.exitCode = 1;
