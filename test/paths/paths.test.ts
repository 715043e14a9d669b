import { describe, expect, it } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import type { Call } from '../../machines/attempt/attempt.types.ts';
import { isPending } from '../../machines/attempt/disposition.rules.ts';
import {
  endsRun,
  type Fact,
  type ItemOutput,
  sessionMachine,
  type WorkflowContext,
  type WorkflowFact,
  type WorkflowLimits,
  type WorkflowOutput,
} from '../../machines/index.ts';
import { pathsOf, pure, takenArrows, walks, walksWithin } from '../graph/coverage.ts';
import {
  allArrows,
  allStates,
  deadEnds,
  explore,
  follow,
  silenced,
  simplePaths,
  type Trail,
  type Walk,
} from '../graph/explore.ts';
import { callClassOf, callOutputs } from '../graph/levels/attempt.ts';
import { itemClassOf, itemOutputs } from '../graph/levels/item.ts';
import { sessionKey, sessionWalk, turnClassOf, turnOutputs } from '../graph/levels/session.ts';
import { attemptClassOf, attemptOutputs } from '../graph/levels/turn.ts';

const countOf = (facts: readonly (Fact | WorkflowFact)[], type: RegExp) =>
  facts.filter((fact) => type.test(fact.type)).length;

/** The invariants of each machine, checked along every path and at its end. */
const promises: Record<string, (trail: Trail, walk: Walk) => void> = {
  session: ({ facts, snapshots, end }) => {
    let maxTurns = Number.POSITIVE_INFINITY;
    for (const { context } of snapshots) {
      expect(context.turn).toBeLessThanOrEqual(context.maxTurns);
      expect(context.maxTurns).toBeLessThanOrEqual(maxTurns);
      ({ maxTurns } = context);
    }
    expect(countOf(facts, /^session\.(failed|aborted|succeeded)$/)).toBe(end.status === 'done' ? 1 : 0);
    if (end.status === 'done') expect(end.output.status).toBe(end.value);
  },
  turn: ({ facts, snapshots, end }, walk) => {
    const { maxAttempts } = walk.input as { maxAttempts: number };
    let most = maxAttempts;
    for (const { context } of snapshots) {
      expect(context.attempt).toBeLessThanOrEqual(maxAttempts);
      expect(context.maxAttempts).toBeLessThanOrEqual(most);
      most = context.maxAttempts;
    }
    expect(countOf(facts, /^attempt\.started$/)).toBe(snapshots.at(-1)?.context.attempt);
    expect(countOf(facts, /^turn\.(finished|progressed|exhausted|aborted)$/)).toBe(end.status === 'done' ? 1 : 0);
    if (end.status === 'done') expect(end.output.status).toBe(end.value);
  },
  attempt: ({ facts, end }) => {
    const ends = countOf(facts, /^attempt\.(finished|progressed|failed|aborted)$/);
    expect(ends).toBe(end.status === 'done' ? 1 : 0);
    if (end.status !== 'done') return;
    expect(end.output.status).toBe(end.value);
    expect(countOf(facts, /^attempt\.failed$/)).toBe(end.value === 'failed' ? 1 : 0);
    if (end.value === 'failed') expect(end.output.slugs.length).toBeGreaterThan(0);
    if (end.value === 'aborted') expect(end.output.slugs).toEqual(['aborted']);
    // The calls that have no machine are requested and answered here; the others are only requested.
    const pending = (end.context.reading?.calls ?? []).filter((call: Call) => isPending(call.disposition)).length;
    expect(countOf(facts, /^tool\.requested$/)).toBe(end.context.answers.length);
    expect(countOf(facts, /^tool\.answered$/)).toBeGreaterThanOrEqual(end.context.answers.length - pending);
    expect(end.context.answers.every((answer: unknown) => answer !== null)).toBe(true);
  },
  'tool-call': ({ facts, end }) => {
    expect(countOf(facts, /^tool\.answered$/)).toBe(end.status === 'done' ? 1 : 0);
    if (end.status === 'done') expect(end.context.answer).not.toBeNull();
  },
  workflow: ({ facts, snapshots, end }, walk) => {
    const { limits } = walk.input as { limits: WorkflowLimits };
    for (const { context } of snapshots) {
      // Those in progress when the run was over may fail, too.
      const late = limits.concurrency - 1;
      expect(context.failureCount).toBeLessThanOrEqual(limits.maxConsecutiveFailures + late);
      expect(context.scanTries.count).toBeLessThan(limits.maxAgentTries);
      expect(new Set(context.tried).size).toBe(context.tried.length);
      expect(context.inProgress.length + context.taken.length).toBeLessThanOrEqual(limits.concurrency);
    }
    if (end.status !== 'done') return;
    const phases = facts.flatMap((fact) => (fact.type === 'phase.started' ? [fact.phase] : []));
    // W-3: every path ends with the retrospective and the summary, once each.
    expect(phases.slice(-2)).toEqual(['reviewing', 'summarising']);
    expect(phases.filter((phase) => phase === 'reviewing')).toHaveLength(1);
    // W-2: every incident is captured before the run ends.
    const { incidents, abortReason, status } = end.output as WorkflowOutput;
    expect(end.context.captured).toBe(incidents.length);
    expect(countOf(facts, /^workflow\.(completed|exitedEarly)$/)).toBe(1);
    expect(status).toBe(end.value);
    expect(status === 'exitedEarly').toBe(incidents.some(endsRun) || abortReason !== null);
    // W-1: only three failures in a row, a STOP, a critical error or an agent that cannot be invoked ends it early.
    const { failureCount, critical, lostAgent } = end.context as WorkflowContext;
    const kinds = new Set(incidents.map(({ kind }) => kind));
    const most = Math.max(0, ...facts.map((fact) => (fact.type === 'item.failed' ? fact.failureCount : 0)));
    expect(kinds.has('consecutive_failures')).toBe(most >= limits.maxConsecutiveFailures);
    if (limits.concurrency === 1 && status === 'exitedEarly' && kinds.has('consecutive_failures'))
      expect(failureCount).toBe(most);
    expect(kinds.has('critical_error')).toBe(critical !== null);
    expect(kinds.has('agent_unavailable')).toBe(lostAgent !== null);
    // W-1: no item that was taken is still in progress.
    expect(end.context.inProgress).toEqual([]);
  },
  item: ({ facts, snapshots, end }, walk) => {
    const { maxTries } = walk.input as { maxTries: number };
    for (const { context } of snapshots) expect(context.tries).toBeLessThanOrEqual(maxTries);
    const lost = facts.flatMap((fact) => (fact.type === 'agent.unavailable' ? [fact.tries] : []));
    expect(countOf(facts, /^wait\.started$/)).toBe(lost.filter((tries) => tries < maxTries).length);
    if (end.status !== 'done') return;
    // W-1: an agent counts as lost only after its last try.
    const { outcome } = end.output as ItemOutput;
    if (outcome.verdict === 'unavailable') expect(lost.at(-1)).toBe(maxTries);
  },
};

describe.each(Object.entries(walks))('B-1 B-2 B-4 C-1 S-2: all paths of the %s', (name, { machine, walks: ways }) => {
  const graphs = ways.map((walk) => ({ walk, graph: explore(pure(walk)) }));

  it('have no dead end: every state can reach a final state, and only final states have no exits', () => {
    for (const { graph } of graphs) {
      expect(deadEnds(graph)).toEqual([]);
      const leaving = new Set(graph.edges.map((edge) => edge.from));
      for (const [key, snapshot] of graph.states)
        expect([key, leaving.has(key)]).toEqual([key, snapshot.status !== 'done']);
    }
  });

  it('keep the invariants and cover every arrow and both results of every guard', () => {
    const said = new Map<string, Set<boolean>>();
    const heard = silenced(machine, (guard, answer) => said.set(guard, (said.get(guard) ?? new Set()).add(answer)));
    const taken = new Set<string>();
    const seen = new Set<string>();
    for (const { walk, graph } of graphs) {
      for (const path of pathsOf(graph)) {
        const trail = follow(heard, walk.input, path);
        promises[name]?.(trail, walk);
        for (const arrow of trail.arrows) {
          taken.add(arrow);
          // A state that is left immediately appears in no snapshot.
          seen.add(arrow.split(' --')[0] ?? '');
        }
        for (const snapshot of [...trail.snapshots, trail.end]) for (const node of nodesOf(snapshot)) seen.add(node);
      }
    }
    expect([...allArrows(machine)].filter((arrow) => !taken.has(arrow))).toEqual([]);
    expect([...said].filter(([, answers]) => answers.size < 2).map(([guard]) => guard)).toEqual([]);
    expect(allStates(machine).filter((id) => !seen.has(id))).toEqual([]);
  }, 400_000);
});

it.each(['session', 'workflow', 'item'])(
  'the small walks, which mutants have to get past, take every arrow of the %s',
  (name) => {
    const small = walksWithin('small');
    const taken = takenArrows(name, small);
    const { machine } = small[name] as { machine: typeof sessionMachine };
    expect([...allArrows(machine)].filter((arrow) => !taken.has(arrow))).toEqual([]);
  },
);

const nodesOf = (snapshot: AnyMachineSnapshot) => snapshot._nodes.map((node: { id: string }) => node.id);

describe('B-2: all simple paths stay within the bound', () => {
  it.each([1, 2])(
    'a session with maxTurns %i never starts more turns',
    (maxTurns) => {
      const walk = { ...sessionWalk(maxTurns), key: sessionKey };
      const silent = silenced(sessionMachine, () => undefined);
      const paths = simplePaths(walk);
      expect(paths.length).toBeGreaterThan(50);
      for (const path of paths) {
        const trail = follow(silent, walk.input, path);
        expect(countOf(trail.facts, /^turn\.started$/)).toBeLessThanOrEqual(maxTurns);
      }
    },
    180_000,
  );
});

describe.each(['tool-call', 'attempt', 'turn'])('C-1 S-2 T-4: all simple paths of the %s', (name) => {
  it('keep the invariants', () => {
    const { machine, walks: ways } = walksWithin('small')[name] ?? { machine: sessionMachine, walks: [] };
    const silent = silenced(machine, () => undefined);
    // Only one attempt for the turn, because each further attempt multiplies the paths by about seventy.
    for (const walk of name === 'turn' ? ways.slice(0, 1) : ways) {
      const paths = simplePaths(pure(walk));
      expect(paths.length).toBeGreaterThan(0);
      for (const path of paths) promises[name]?.(follow(silent, walk.input, path), walk);
    }
  }, 180_000);
});

describe('the walks of each level use exactly the outcomes of the level below', () => {
  const outputsOf = (ways: readonly Walk[], classOf: (output: never) => string) => {
    const classes = new Set<string>();
    for (const walk of ways) {
      for (const snapshot of explore(pure(walk)).states.values()) {
        if (snapshot.status === 'done') classes.add(classOf(snapshot.output as never));
      }
    }
    return [...classes].toSorted();
  };
  const sorted = (classes: readonly string[]) => [...new Set(classes)].toSorted();

  it('turn outcomes match the session walks', () => {
    expect(outputsOf(walks.turn?.walks ?? [], turnClassOf)).toEqual(sorted(turnOutputs.map(turnClassOf)));
  }, 180_000);

  it('attempt outcomes match the turn walks', () => {
    expect(outputsOf(walks.attempt?.walks ?? [], attemptClassOf)).toEqual(sorted(attemptOutputs.map(attemptClassOf)));
  });

  it('item outcomes match the workflow walks', () => {
    expect(outputsOf(walks.item?.walks ?? [], itemClassOf)).toEqual(sorted(itemOutputs.map(itemClassOf)));
  });

  it('call outcomes match the attempt walks', () => {
    const fed = callOutputs.map(callClassOf);
    expect(outputsOf(walks['tool-call']?.walks ?? [], callClassOf)).toEqual(sorted(fed));
  });
});
