import { describe, it } from 'vitest';
import { sessionMachine } from '../../machines/index.ts';
import { budget, pathsOf, pure, walksWithin, window } from '../paths/coverage.ts';
import { explore, follow, type Step, silenced, type Trail } from '../paths/explore.ts';
import { sessionKey, sessionWalk } from '../paths/levels.ts';
import { expectGolden } from '../support/golden.ts';

const machines = {
  ...walksWithin('small'),
  // Three turns, for a collapse needs one to spare; they are told apart as the bound sees them.
  session: {
    machine: sessionMachine,
    walks: [{ budget: { ...budget, deadlineAt: 60_000 } }, { budget: { ...budget, requests: 2 } }, { window }].map(
      (over) => ({
        ...sessionWalk(3, over),
        key: sessionKey,
      }),
    ),
  },
};

function aboutOf(fact: object): string {
  if ('target' in fact) return ` of ${fact.target}`;
  if ('reason' in fact) return ` for ${fact.reason}`;
  return 'slug' in fact ? ` with ${fact.slug}` : '';
}

/** A step as it is told apart: its event, its arrows, and what kind of thing came out: for which target, reason or slug. */
function nameOf({ event, arrows, out, value }: Step): string {
  const kinds = out.map((one) => {
    if ('fact' in one) return `says ${one.fact.type}${aboutOf(one.fact)}`;
    return 'sent' in one ? `sends ${one.sent.type}` : 'asks';
  });
  return [event?.type ?? 'start', ...(arrows.length === 0 ? [`in ${value}`] : arrows), ...kinds].join('\n  ');
}

/** What the last event of a path led to: what came out, what differs from before, and the output. */
function ledTo({ steps, end }: Trail): unknown[] {
  const [before, last] = [steps.at(-2), steps.at(-1)];
  const isNew = ([key, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(before?.context[key]);
  const holds = Object.fromEntries(Object.entries(last?.context ?? {}).filter(isNew));
  const children = last?.children.join(', ');
  return [
    ...(last?.out ?? []),
    ...(Object.keys(holds).length > 0 ? [{ holds }] : []),
    ...(children === (before?.children.join(', ') ?? '') ? [] : [{ children }]),
    ...(end.status === 'done' ? [{ output: end.output }] : []),
  ];
}

describe.each(Object.entries(machines))('D-1: what the arrows of the %s lead to', (name, { machine, walks }) => {
  it('facts, events for others, what the level below is asked for, what is held, and the output', async () => {
    const silent = silenced(machine, () => undefined);
    const cases: Record<string, unknown> = {};
    for (const walk of walks) {
      for (const path of pathsOf(explore(pure(walk)))) {
        const trail = follow(silent, walk.input, path);
        const step = trail.steps.at(-1);
        if (step !== undefined) cases[nameOf(step)] ??= ledTo(trail);
      }
    }
    await expectGolden(`arrows-of-${name}.txt`, cases);
  });
});
