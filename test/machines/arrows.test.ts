import { describe, it } from 'vitest';
import { pathsOf, pure, walksWithin } from '../paths/coverage.ts';
import { explore, follow, type Step, silenced, type Trail } from '../paths/explore.ts';
import { expectGolden } from '../support/golden.ts';

/** A step as it is told apart: its event, its arrows, and the kinds of what came out. */
const nameOf = ({ event, arrows, out }: Step) =>
  [
    event?.type ?? 'start',
    ...arrows,
    ...out.map((one) => ('fact' in one ? `says ${one.fact.type}` : 'sent' in one ? `sends ${one.sent.type}` : 'asks')),
  ].join('\n  ');

/** What the last event of a path led to: what came out, what the machine holds that it did not before, and its output. */
function ledTo({ steps, end }: Trail): unknown[] {
  const [before, last] = [steps.at(-2), steps.at(-1)];
  const held = Object.entries(last?.context ?? {});
  const isNew = ([key, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(before?.context[key]);
  return [
    ...(last?.out ?? []),
    { holds: Object.fromEntries(held.filter(isNew)) },
    ...(end.status === 'done' ? [{ output: end.output }] : []),
  ];
}

describe.each(Object.entries(walksWithin('small')))(
  'D-1: what the arrows of the %s lead to',
  (name, { machine, walks }) => {
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
  },
);
