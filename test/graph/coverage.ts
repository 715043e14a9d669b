import type { AnyStateMachine } from 'xstate';
import type { TargetState } from '../../machines/contract/targets.ts';
import {
  attemptMachine,
  freshTargets,
  itemMachine,
  sessionMachine,
  toolCallMachine,
  turnMachine,
  workflowMachine,
} from '../../machines/index.ts';
import { explore, follow, type Graph, silenced, type Walk } from './explore.ts';
import { attemptWalk } from './levels/attempt.ts';
import { itemWalk } from './levels/item.ts';
import { sessionWalk } from './levels/session.ts';
import { toolCallWalk } from './levels/tool-call.ts';
import { turnWalk, withoutParent } from './levels/turn.ts';
import { workflowKey, workflowWalk } from './levels/workflow.ts';

export const budget = { requests: null, tokens: 50, costUsd: null, deadlineAt: null };
const spentSoon = { ...budget, tokens: null, requests: 2 };
export const window = { windowTokens: 8_000, reserveTokens: 0 };

type Walks = Record<string, { machine: AnyStateMachine; walks: Walk[] }>;

const limited = freshTargets(['two']).map((target): TargetState => ({ ...target, limitedUntil: 10_000 }));
const out = freshTargets(['one']).map((target): TargetState => ({ ...target, status: 'out' }));

/** Returns walks of a turn with all that a session may give it: attempts, requests, and a second target that may be had or not. */
function turnsOfAllKinds(): Walk[] {
  const first = freshTargets(['one']);
  const targets = [
    [...first, ...freshTargets(['two'])],
    [...first, ...limited],
    [...first, ...out],
  ];
  return [1, 2, 3].flatMap((maxAttempts) =>
    [false, true].flatMap((isLastTurn) =>
      [2, 3, 4].flatMap((requests) =>
        targets.map((targets) =>
          turnWalk(maxAttempts, [], { targets, isLastTurn, budget: { ...spentSoon, requests } }),
        ),
      ),
    ),
  );
}

/**
 * Returns the walks of each machine, over the limits and circumstances that its rules distinguish, up to 4 x 4. `small`
 * is just enough to cover every arrow and guard.
 */
export function walksWithin(size: 'small' | 'usual' | 'all'): Walks {
  const isSmall = size === 'small';
  const bounds = size === 'all' ? [1, 2, 3, 4] : [1, 2];
  const attempts = size === 'all' ? 3 : 2;
  return {
    session: {
      machine: sessionMachine,
      walks: isSmall
        ? [
            sessionWalk(2, { budget: spentSoon }),
            sessionWalk(2, { plansTurns: true }),
            sessionWalk(1, { sharesBudget: true }),
            sessionWalk(1, { compactsAt: 0.5 }),
          ]
        : [
            // More turns add no arrow and no guard, and take as long as all others.
            ...bounds.filter((turns) => size === 'all' || turns < 2).map((maxTurns) => sessionWalk(maxTurns)),
            ...(size === 'all' ? [sessionWalk(3, { budget })] : []),
            sessionWalk(size === 'all' ? 3 : 2, { budget: spentSoon }),
            sessionWalk(size === 'all' ? 2 : 1, { window }),
            sessionWalk(2, { plansTurns: true }),
            sessionWalk(1, { sharesBudget: true }),
            sessionWalk(size === 'all' ? 2 : 1, { compactsAt: 0.5, window }),
            ...(size === 'all' ? [sessionWalk(1, { plansTurns: true, window })] : []),
          ],
    },
    turn: {
      machine: turnMachine,
      walks: [
        ...bounds.map((maxAttempts) => turnWalk(maxAttempts, ['one'])),
        turnWalk(attempts, ['one', 'two']),
        // The first target is out, so the turn has to wait for the second.
        turnWalk(2, [], { targets: [...out, ...freshTargets(['two'])] }),
        turnWalk(attempts, ['one'], { budget }),
        turnWalk(2, ['one'], { window }),
        turnWalk(attempts, ['one', 'two'], { isLastTurn: true }),
        turnWalk(1, ['one'], { budget: spentSoon }),
        turnWalk(2, ['one'], { gated: [0], window }),
        turnWalk(2, ['one'], { sharesBudget: true }),
        turnWalk(1, ['one'], { isLastTurn: true }),
        turnWalk(2, ['one'], { budget: { ...spentSoon, requests: 3 } }),
        ...(size === 'all' ? turnsOfAllKinds() : []),
        ...(size === 'all' ? [2, 3] : [2]).map((most) =>
          turnWalk(most, ['one'], { budget: { ...budget, tokens: null, deadlineAt: 60_000 } }),
        ),
      ],
    },
    attempt: {
      machine: attemptMachine,
      walks: [
        attemptWalk(),
        attemptWalk({ permission: 'report', offer: 'report' }),
        attemptWalk({ stopSlug: 'stopped', finish: 'text' }),
      ],
    },
    'tool-call': {
      machine: toolCallMachine,
      walks: [toolCallWalk(false), toolCallWalk(true), toolCallWalk(false, true), toolCallWalk(true, true)],
    },
    workflow: {
      machine: workflowMachine,
      walks: [
        ...(isSmall ? [] : [workflowWalk(size === 'all' ? {} : { maxAgentTries: 1 })]),
        workflowWalk({ maxItems: 1 }),
        workflowWalk({ maxItems: 1, maxConsecutiveFailures: 1 }, false),
        workflowWalk({ maxItems: 2, maxConsecutiveFailures: 1, maxAgentTries: 1, concurrency: 2 }),
      ].map((walk) => ({ ...walk, key: workflowKey })),
    },
    item: {
      machine: itemMachine,
      walks: isSmall ? [itemWalk(true, 2)] : [itemWalk(true, 2), itemWalk(false, 1), itemWalk(true, 3)],
    },
  };
}

const given = process.env.PAWL_WALKS;

/** The walks to run: `npm run verify` sets `PAWL_WALKS=all`, and mutation testing, which repeats them, `small`. */
export const walks = walksWithin(given === 'all' || given === 'small' ? given : 'usual');

export const pure = (walk: Walk) => (walk.machine === turnMachine ? withoutParent(walk) : walk);

/** Returns the empty path, and for each arrow the shortest path to its start plus the arrow itself. */
export const pathsOf = ({ edges, shortest }: Graph) => [
  [],
  ...edges.map(({ from, event }) => [...(shortest.get(from) ?? []), event]),
];

/** Returns the arrows of a machine that its walks take. */
export function takenArrows(name: string, among: Walks = walks): Set<string> {
  const taken = new Set<string>();
  const { machine, walks: ways } = among[name] ?? { machine: sessionMachine, walks: [] };
  const silent = silenced(machine, () => undefined);
  for (const walk of ways) {
    for (const path of pathsOf(explore(pure(walk))))
      for (const arrow of follow(silent, walk.input, path).arrows) taken.add(arrow);
  }
  return taken;
}
