/**
 * `npm run verify`: runs every check on the machines, writes all results to `reports/verification.md`, which git ignores,
 * and the figures to `docs/verification.md`. Sessions are simulated for `PAWL_MINUTES` (default: 10).
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { breakagesOfTheWhole, breakEach, type Caught, failing } from '../../test/graph/breakages.ts';
import { pathsOf, pure, takenArrows, walks } from '../../test/graph/coverage.ts';
import { drawings } from '../../test/graph/drawing.ts';
import { explore, simplePaths } from '../../test/graph/explore.ts';
import { sessionKey, sessionWalk } from '../../test/graph/levels/session.ts';
import { wholeWalks } from '../../test/graph/levels/whole.ts';
import { exploreWhole } from '../../test/graph/product.ts';
import { ruleTraces, slugTraces } from '../../test/graph/trace.ts';
import { breakagesOfSrc } from '../../test/simulation/breakages.ts';
import { type Mode, modes, shown, type Tally } from '../../test/simulation/run.ts';
import { slipsOfSrc, testsOfSlips } from '../../test/simulation/slips.ts';
import { numberOf } from '../simulate/number-of.ts';
import { countsOf, noticedBySimulation, simulatedFor } from '../simulate/spread.ts';
import { figuresPage } from './figures-page.ts';
import { checkedBySpin, claims, requireSpin } from './spin.ts';
import { followedBySpin, shownTrace } from './spin-traces.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);
const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]) =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
const short = (paths: readonly string[]) =>
  paths.length > 3
    ? `${paths.slice(0, 3).map(link).join(', ')} and ${paths.length - 3} more`
    : paths.map(link).join(', ');
const link = (path: string) => `[${path.split('/').slice(-2).join('/')}](../${path})`;
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

requireSpin();
say('Running all tests …');
const tests = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--reporter=dot'], {
  stdio: 'inherit',
});
if (tests.status !== 0) process.exit(1);

say('Walking the graphs …');
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
    arrows: [arrows.filter((arrow) => taken.has(arrow.name)).length, arrows.length] as const,
  };
});
const simple = [1, 2, 3].map(
  (maxTurns) => [maxTurns, simplePaths({ ...sessionWalk(maxTurns), key: sessionKey }).length] as const,
);

const wholes = wholeWalks('all').map((whole) => ({ whole, product: exploreWhole(whole) }));

say('Breaking rules on purpose …');
const caught: Caught[] = breakEach();
const alone: Caught[] = breakEach(breakagesOfTheWhole, (folder) => failing(folder, ['test/paths/paths.test.ts']));
const together: Caught[] = breakEach(breakagesOfTheWhole, (folder) => failing(folder, ['test/paths/product.test.ts']));
say('Breaking src/ on purpose …');
const noticed: Caught[] = [
  ...breakEach(breakagesOfSrc, noticedBySimulation),
  ...breakEach(slipsOfSrc, (folder) => failing(folder, testsOfSlips)),
];
const uncaught = [...caught, ...together, ...noticed].filter(({ by }) => by.length === 0);

/** How long sessions are simulated, all modes together. */
const wholeMinutes = numberOf('PAWL_MINUTES', process.env.PAWL_MINUTES ?? '10', 0);
const share = { memory: 0.4, wire: 0.2, disk: 0.2, processes: 0.2 };
const minutesOf = (mode: Mode) => Number((wholeMinutes * share[mode]).toFixed(1));
const tallies: { mode: Mode; tally: Tally }[] = [];
for (const mode of modes) {
  const minutes = minutesOf(mode);
  say(`Simulating sessions for ${minutes} minutes (${mode}) …`);
  tallies.push({ mode, tally: await simulatedFor(minutes, 1, mode) });
}
const unkept = tallies.flatMap(({ tally }) => tally.failures);
for (const failure of unkept) say(shown(failure));

say('Running SPIN …');
const spin = checkedBySpin();
const traces = await followedBySpin(5_000);
for (const trace of [...traces.unfollowed, ...traces.accepted]) say(shownTrace(trace));
const unclaimed = spin.claims.filter(({ holds }) => !holds);

const kinds = {
  memory: 'all in memory',
  wire: 'models over HTTP',
  disk: 'journals on a disk',
  processes: 'MCP servers in processes',
};
const troubles = [...new Set(tallies.flatMap(({ tally }) => Object.keys(tally.troubles)))].sort();

const rules = ruleTraces();
const slugs = slugTraces();
const text = `# Verification

Written by \`npm run verify\`. The machines are checked over their graphs, over real HTTP, and by breaking rules.

## The machines, over their graphs

A walk visits every state that a machine can reach and every arrow out of it, and follows a shortest path to each of them. Of
the session, the tool call, the attempt and a turn of one attempt, the tests also follow all simple paths. Each walk replaces
the level below with its outcomes; \`test/paths/paths.test.ts\` checks that none are missing. Limits go up to maxTurns 4 and
maxRetries 4. These hold at every step of every path walked: \`turn <= maxTurns\`, attempts stay within their limit,
\`maxTurns\` never grows, each end has one fact, every final state has its full output, and an end is reachable from every state.

${table(
  ['machine', 'inputs', 'states', 'steps', 'shortest paths walked', 'arrows taken'],
  machines.map((one) => [one.name, one.inputs, one.states, one.steps, one.paths, one.arrows.join(' of ')]),
)}

All simple paths of the session: ${simple.map(([maxTurns, count]) => `${count} with maxTurns ${maxTurns}`).join(', ')}.

## All machines together

The walks above replace the level below with an example of each of its outcomes. These walks replace only the results of effects:
the session, its turns, attempts and calls run together, and every state that they reach is visited. In each state
\`test/graph/ledger.ts\`, which counts what is sent on its own, checks the bounds of the session and of the turn, the permission
on the last turn, the order of the targets, the spending of sub-agents, answers, aborts and the end. There is no cycle
of settling effects, and no state without an effect to wait for, so a session ends if its effects settle. Each step that
a machine takes here is also a step of its own walk, as far as \`test/graph/abstraction.ts\` distinguishes states and outcomes.

${table(
  [
    'maxTurns x maxRetries',
    'targets',
    'model outcomes',
    'requests of the tree',
    'deadline',
    'commands',
    'states',
    'steps',
  ],
  wholes.map(({ whole: { input, commands, models }, product }) => [
    `${input.bound.maxTurns} x ${input.bound.maxRetries}`,
    input.targets.length,
    models.length,
    input.budget.requests ?? 'any',
    input.budget.deadlineAt === null ? 'no' : 'yes',
    commands.length === 0 ? 'none' : 'stop and abort, in any state',
    product.states,
    product.edges.length,
  ]),
)}

Rules broken between the machines:

${table(
  ['breakage', 'where', 'seen by the walks of each machine', 'seen by the walk of all'],
  together.map(({ name, file, by }, index) => [
    name,
    link(file),
    (alone[index]?.by.length ?? 0) === 0 ? 'no' : 'yes',
    by[0] ?? '**no**',
  ]),
)}

## Rules broken on purpose

${table(
  ['breakage', 'where', 'tests that failed', 'example'],
  caught.map(({ name, file, by }) => [name, link(file), by.length, by[0] ?? '**not caught**']),
)}

## The second room, simulated

Whole sessions run \`src/\`, and one seed decides everything: what models and tools do and when, part by part; what a
person, a listener or a signal commands and when; how much time passes; when the process dies and the session is resumed from
its journal, or another process takes the session over while the first continues. \`test/simulation/promises.ts\` checks after
each: the bound on the wire, calls and answers, approvals, aborts, notices, log lines, counters, events, secrets, replays, that
nothing is left behind, and that the session ends. Models and MCP servers are in memory, or behind a real HTTP server, which
cuts the bytes of replies anywhere. Journals are in memory, or in a real SQLite file on a disk that loses power and tears
writes, and their MCP servers may be real processes.

From seed 1, on two processes:

${table(
  ['mode', 'minutes', 'sessions', 'steps', 'simulated days', 'outcomes', 'promises broken'],
  tallies.map(({ mode, tally: { sessions, steps, passedMs, statuses, failures } }) => [
    ...[kinds[mode], minutesOf(mode), sessions, steps, (passedMs / 86_400_000).toFixed(0)],
    ...[countsOf(statuses), failures.length],
  ]),
)}

The troubles that the seeds caused, and how often:

${table(
  ['trouble', ...tallies.map(({ mode }) => kinds[mode])],
  troubles.map((trouble) => [trouble, ...tallies.map(({ tally }) => tally.troubles[trouble] ?? 0)]),
)}

Defects put into \`src/\`, and the promise that each one broke:

${table(
  ['defect', 'where', 'broken promise'],
  noticed.map(({ name, file, by }) => [name, link(file), by[0] ?? '**not noticed**']),
)}

## A second opinion

The bound, the collapse, the last turn and the grants are modelled again for the model checker SPIN, from the specification and not from the
machines: [test/spin/session.pml](../test/spin/session.pml). It leaves open what models, tools and callers do.

${table(
  ['claim', 'maxTurns x maxRetries x requests of the tree', 'states', 'holds'],
  spin.claims.map(({ name, size, states, holds }) => [claims[name] ?? name, size, states, holds ? 'yes' : '**no**']),
)}

Of ${spin.defects} defects put into the model, SPIN detected ${spin.noticed}.

The library is compared with this model: of ${traces.sessions} simulated sessions, which took ${traces.traces} different courses, the
model can follow ${traces.traces - traces.unfollowed.length}, turn by turn and request by request, those of sub-agents included. Of ${traces.forged}
courses made from these by breaking a rule (a request, a turn, a collapse or a sub-agent's request too many, a turn without
progress, a tool on the last turn, no end, two ends) it can follow ${traces.accepted.length}.

## Rules and their tests

${table(
  ['rule', 'implemented in', 'tested by'],
  rules.map(({ id, planned, where, shownBy }) => [
    id,
    planned ? '_planned_' : short(where),
    planned ? '' : short(shownBy),
  ]),
)}

## Slugs and their tests

${table(
  ['slug', 'made in', 'reached by'],
  slugs.map(({ slug, madeIn, reachedBy }) => [`\`${slug}\``, short(madeIn) || '_planned_', short(reachedBy)]),
)}
`;
mkdirSync('reports', { recursive: true });
writeFileSync('reports/verification.md', text);
writeFileSync(
  'docs/verification.md',
  figuresPage({
    date: new Date().toISOString().slice(0, 10),
    walks: {
      states: sum(machines.map(({ states }) => states)),
      steps: sum(machines.map(({ steps }) => steps)),
      paths: sum(machines.map(({ paths }) => paths)),
      arrows: [sum(machines.map(({ arrows }) => arrows[0])), sum(machines.map(({ arrows }) => arrows[1]))],
      products: wholes.length,
      productStates: sum(wholes.map(({ product }) => product.states)),
    },
    simulation: {
      minutes: sum(modes.map(minutesOf)),
      sessions: sum(tallies.map(({ tally }) => tally.sessions)),
      steps: sum(tallies.map(({ tally }) => tally.steps)),
      days: Math.round(sum(tallies.map(({ tally }) => tally.passedMs)) / 86_400_000),
      troubles: troubles.length,
      broken: unkept.length,
    },
    breakages: {
      rules: [caught.filter(({ by }) => by.length > 0).length, caught.length],
      between: [together.filter(({ by }) => by.length > 0).length, together.length],
      ofSrc: [noticed.filter(({ by }) => by.length > 0).length, noticed.length],
    },
    spin: {
      claims: [spin.claims.filter(({ holds }) => holds).length, spin.claims.length],
      defects: [spin.noticed, spin.defects],
      followed: [traces.traces - traces.unfollowed.length, traces.traces],
    },
    rules: rules.length,
    slugs: slugs.length,
  }),
);
spawnSync('node_modules/.bin/biome', ['format', '--write', 'docs/verification.md'], { stdio: 'ignore' });
const broken = caught.length + together.length + noticed.length;
say(
  `Wrote docs/verification.md and reports/verification.md. ${broken - uncaught.length} of ${broken} breakages were noticed.`,
);
if (
  uncaught.length +
    unkept.length +
    traces.unfollowed.length +
    traces.accepted.length +
    unclaimed.length +
    (spin.defects - spin.noticed) >
  0
)
  process.exitCode = 1;
