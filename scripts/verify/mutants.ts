/**
 * Writes `docs/verification-mutants.md` from Stryker's reports: `node scripts/verify/mutants.ts [report.json …]`. If
 * several reports contain a mutant, the last one counts.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { reasonFor } from './equivalents.ts';
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
