import { readFileSync } from 'node:fs';
import { share } from './mutation-report.ts';

type Of = readonly [some: number, all: number];

/** The figures of `npm run verify`. */
export type Figures = {
  date: string;
  walks: { states: number; steps: number; paths: number; arrows: Of; products: number; productStates: number };
  simulation: { minutes: number; sessions: number; steps: number; days: number; troubles: number; broken: number };
  breakages: { rules: Of; between: Of; ofSrc: Of };
  spin: { claims: Of; defects: Of; followed: Of };
  rules: number;
  slugs: number;
};

/** Where the mutation runs keep their figures. */
export const recordOfMachines = 'scripts/verify/mutants-of-machines.json';
export const recordOfSrc = 'scripts/verify/mutants-of-src.json';

const count = (number: number) => number.toLocaleString('en-US');
const of = ([some, all]: Of) => `${count(some)} of ${count(all)}`;

/** Returns `docs/verification.md`: one page of figures, each with the command that makes it. */
export function figuresPage({ date, walks, simulation, breakages, spin, rules, slugs }: Figures): string {
  const machines: { killed: number; all: number } = JSON.parse(readFileSync(recordOfMachines, 'utf8'));
  const rows: { killed: number; survived: number }[] = JSON.parse(readFileSync(recordOfSrc, 'utf8'));
  const killed = rows.reduce((sum, row) => sum + row.killed, 0);
  const all = killed + rows.reduce((sum, row) => sum + row.survived, 0);
  return `# Verification

What was checked, in figures. \`npm run verify\` writes this page, and everything behind it to
\`reports/verification.md\`: each walk, each simulated trouble, each defect with the promise that it broke, and each rule
and slug with the tests that cite it. [The guide](guides/verification.md) says how to run it, and how to check an agent of
your own.

| what                                                                     | figures of ${date}     |
| ------------------------------------------------------------------------ | ---------------------- |
| states that the walks of each machine visited                            | ${count(walks.states)} |
| steps between them                                                       | ${count(walks.steps)}  |
| shortest paths that were followed                                        | ${count(walks.paths)}  |
| arrows of the machines that were taken                                   | ${of(walks.arrows)} |
| products of all machines together, and their states                      | ${walks.products}, ${count(walks.productStates)} |
| rules of the machines broken on purpose, and noticed                     | ${of(breakages.rules)} |
| rules between the machines broken on purpose, and noticed                | ${of(breakages.between)} |
| defects put into \`src/\`, noticed by the simulation or a test | ${of(breakages.ofSrc)} |
| sessions simulated, in ${simulation.minutes} minutes                     | ${count(simulation.sessions)} |
| their steps, and the days that passed in them                            | ${count(simulation.steps)}, ${count(simulation.days)} |
| kinds of trouble that they met                                           | ${simulation.troubles} |
| promises that they broke                                                 | ${simulation.broken}   |
| claims about the bound that SPIN checked, and that hold                  | ${of(spin.claims)}     |
| defects put into SPIN's model, and noticed                               | ${of(spin.defects)}    |
| courses of simulated sessions that SPIN's model follows                  | ${of(spin.followed)}   |
| rules, and slugs, each cited by code and by tests                        | ${rules}, ${slugs}     |

Mutation tests run apart, since they take hours: \`npm run mutants\` for \`machines/\`, \`npm run mutants:src\` for
\`src/\`. They write the survivors to \`reports/\`. At the last run of each:

| where       | mutants caught                                                           |
| ----------- | ------------------------------------------------------------------------ |
| \`machines/\` | ${of([machines.killed, machines.all])}, ${share(machines.killed, machines.all)} |
| \`src/\`      | ${of([killed, all])}, ${share(killed, all)}                                     |
`;
}
