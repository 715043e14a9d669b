/** `npm run verify`: everything that is shown about the machines, and `docs/verification.md` from it. */

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { pathsOf, pure, takenArrows, walks } from '../../test/paths/coverage.ts';
import { explore, simplePaths } from '../../test/paths/explore.ts';
import { sessionKey, sessionWalk } from '../../test/paths/levels.ts';
import { drawings } from '../draw/model.ts';
import { breakEach, type Caught } from './breakages.ts';
import { ruleTraces, slugTraces } from './trace.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);
const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]) =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
const short = (paths: readonly string[]) =>
  paths.length > 3
    ? `${paths.slice(0, 3).map(link).join(', ')} and ${paths.length - 3} more`
    : paths.map(link).join(', ');
const link = (path: string) => `[${path.split('/').slice(-2).join('/')}](../${path})`;

say('The tests, all of them …');
const tests = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--reporter=dot'], {
  stdio: 'inherit',
});
if (tests.status !== 0) process.exit(1);

say('The walks over the graphs …');
const machines = Object.entries(walks).map(([name, { walks: ways }]) => {
  const graphs = ways.map((walk) => explore(pure(walk)));
  const sum = (of: (graph: (typeof graphs)[number]) => number) => graphs.reduce((total, graph) => total + of(graph), 0);
  const arrows = drawings().find((drawing) => drawing.name === name)?.arrows ?? [];
  const taken = takenArrows(name);
  return {
    name,
    inputs: ways.length,
    states: sum(({ states }) => states.size),
    steps: sum(({ edges }) => edges.length),
    paths: sum((graph) => pathsOf(graph).length),
    arrows: `${arrows.filter((arrow) => taken.has(arrow.name)).length} of ${arrows.length}`,
  };
});
const simple = [1, 2, 3].map(
  (maxTurns) => [maxTurns, simplePaths({ ...sessionWalk(maxTurns), key: sessionKey }).length] as const,
);

say('The rules, broken on purpose …');
const caught: Caught[] = breakEach();
const uncaught = caught.filter(({ by }) => by.length === 0);

const rules = ruleTraces();
const slugs = slugTraces();
const text = `# Verification

Written by \`npm run verify\`. What is shown about the machines: over all paths of their graphs, over a real wire, and by breaking them.

## The machines, over all paths

The level below is known by its outcomes; that these are all that it has is shown too (\`test/paths/paths.test.ts\`). Limits up to maxTurns 4 and
maxRetries 4. On every step of every path: \`turn <= maxTurns\`, attempts within their number, \`maxTurns\` never grows, one fact for each end, every
final state with its full output, a way to an end from everywhere.

${table(
  ['machine', 'inputs', 'states', 'steps', 'paths walked', 'arrows taken'],
  machines.map((one) => [one.name, one.inputs, one.states, one.steps, one.paths, one.arrows]),
)}

All simple paths of the session: ${simple.map(([maxTurns, count]) => `${count} with maxTurns ${maxTurns}`).join(', ')}.

The arrows that were taken are green in the pictures: [session](../visualizations/session.coverage.svg), [turn](../visualizations/turn.coverage.svg),
[attempt](../visualizations/attempt.coverage.svg), [tool call](../visualizations/tool-call.coverage.svg), [workflow](../visualizations/workflow.coverage.svg).

## Rules that were broken on purpose

${table(
  ['what was broken', 'where', 'tests that failed', 'for example'],
  caught.map(({ name, file, by }) => [name, link(file), by.length, by[0] ?? '**nothing noticed**']),
)}

## The rules, and what shows them

${table(
  ['rule', 'where', 'shown by'],
  rules.map(({ id, planned, where, shownBy }) => [
    id,
    planned ? '_planned_' : short(where),
    planned ? '' : short(shownBy),
  ]),
)}

## The slugs, and what reaches them

${table(
  ['slug', 'made in', 'reached by'],
  slugs.map(({ slug, madeIn, reachedBy }) => [`\`${slug}\``, short(madeIn) || '_planned_', short(reachedBy)]),
)}
`;
writeFileSync('docs/verification.md', text);
spawnSync('node_modules/.bin/biome', ['format', '--write', 'docs/verification.md'], { stdio: 'ignore' });
say(`docs/verification.md is written. ${caught.length - uncaught.length} of ${caught.length} breakages were noticed.`);
if (uncaught.length > 0) process.exitCode = 1;
