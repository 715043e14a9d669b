import { describe, it } from 'vitest';
import { sessionMachine, type WorkflowLimits } from '../../machines/index.ts';
import { budget, pathsOf, pure, walksWithin, window } from '../graph/coverage.ts';
import { eventText } from '../graph/drawing.ts';
import { explore, follow, type Step, silenced, type Trail, type Walk } from '../graph/explore.ts';
import { sessionKey, sessionWalk } from '../graph/levels/session.ts';
import { expectGolden, Told } from '../support/golden.ts';

const machines = {
  ...walksWithin('small'),
  // A collapse needs a spare turn, so there are three. `sessionKey` keeps only the fields that affect the bound.
  session: {
    machine: sessionMachine,
    walks: [
      { budget: { ...budget, deadlineAt: 60_000 } },
      { budget: { ...budget, requests: 2 } },
      { plansTurns: true },
      { compactsAt: 0.01, window },
    ].map((over) => ({ ...sessionWalk(3, over), key: sessionKey })),
  },
};

/** The fields that distinguish facts of a type, if not the usual ones. */
const apart: Record<string, string[]> = { 'tool.answered': [], 'workflow.exitedEarly': [] };

/** What distinguishes a step: its event, its arrows and its results, by kind, target, reason and slug. */
function keyOf({ event, arrows, out, value }: Step): string {
  const aboutOf = (fact: { type: string }) =>
    (apart[fact.type] ?? ['target', 'reason']).map((key) => Reflect.get(fact, key));
  const kinds = out.map((one) => {
    if ('fact' in one) return [one.fact.type, ...aboutOf(one.fact)];
    return 'sent' in one ? one.sent.type : 'asks';
  });
  return JSON.stringify([event?.type, arrows.length === 0 ? value : arrows, kinds]);
}

/** The arrows of a step, or its event and state if it has none. */
const nameOf = ({ event, arrows, value }: Step) =>
  arrows.length === 0 ? `${event?.type ?? 'start'} in ${value}` : arrows.map(short).join('\n  ');

const short = (arrow: string) =>
  arrow
    .replace(/--(\S*?)(?= \[|-->)/, (_, event) => `--${eventText(event) || 'always'}`)
    .replace(/^\w+\./, '')
    .replace(/--> \w+\./, '--> ');

/** A work item's draft by its title, and the state of a run by its phase: both have golden files of their own. */
function inShort(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (key === 'draft' && 'title' in value) return value.title;
  return key === 'state' && 'current_phase' in value ? value.current_phase : value;
}

/** What differs from the field of the same name in the context, which is what most facts and outputs repeat. */
function apartFrom(context: object, value: object): object {
  const isOther = ([key, one]: [string, unknown]) => JSON.stringify(one) !== JSON.stringify(Reflect.get(context, key));
  return Object.fromEntries(Object.entries(value).filter(isOther));
}

/** The line for one result of a step. */
function toldOf(one: Step['out'][number], context: object): Told {
  if ('fact' in one) {
    const { type, ...rest } = one.fact;
    return new Told(`says ${type}`, apartFrom(context, rest));
  }
  if ('sent' in one) {
    const { type, ...rest } = one.sent;
    return new Told(`sends ${one.to} ${type}`, rest);
  }
  const { input } = one;
  // An actor that is named for what it does is named once.
  const asked = one.asked.replace(/^(\w+) as \1$/, '$1');
  const plain = JSON.parse(JSON.stringify(input), inShort);
  const { key, request, ...rest } = plain;
  if (key === undefined) return new Told(`asks ${asked}`, plain);
  return new Told(key === asked ? `asks ${key}` : `asks ${asked} ${key}`, request ?? rest);
}

/** The results of a path's last event: facts, events sent, invocations, changed context and output. */
function ledTo({ steps, end }: Trail): Told[] {
  const [before, last] = [steps.at(-2), steps.at(-1)];
  const context = last?.context ?? {};
  const holds = apartFrom(before?.context ?? {}, context);
  const children = last?.children.join(', ') ?? '';
  return [
    ...(last?.out ?? []).map((one) => toldOf(one, context)),
    ...(Object.keys(holds).length > 0 ? [new Told('holds', holds)] : []),
    ...(children === (before?.children.join(', ') ?? '') ? [] : [new Told(`runs ${children || 'nothing'}`, {})]),
    ...(end.status === 'done' ? [new Told('ends with', apartFrom(context, Object(end.output)))] : []),
  ];
}

const isTogether = ({ input }: Walk) => (input as { limits?: Partial<WorkflowLimits> }).limits?.concurrency === 2;

describe.each(Object.entries(machines))('D-1: the results of the arrows of the %s', (name, { machine, walks }) => {
  it('match the golden file: facts, events sent, invocations, changed context and output', async () => {
    const silent = silenced(machine, () => undefined);
    const cases = new Map<string, [string, Told[]]>();
    const taken = new Set<string>();
    for (const walk of walks) {
      for (const path of pathsOf(explore(pure(walk)))) {
        const trail = follow(silent, walk.input, path);
        const step = trail.steps.at(-1);
        if (step === undefined || cases.has(keyOf(step))) continue;
        // Walks with several items add few new arrows but many combinations, so only new arrows are recorded.
        if (isTogether(walk) && step.arrows.every((arrow) => taken.has(arrow))) continue;
        for (const arrow of step.arrows) taken.add(arrow);
        cases.set(keyOf(step), [nameOf(step), ledTo(trail)]);
      }
    }
    // What is ignored leads to nothing.
    await expectGolden(
      `arrows-of-${name}.txt`,
      [...cases.values()].filter(([, told]) => told.length > 0),
    );
    // A quarter of a minute alone, and several times that on a machine that is busy.
  }, 240_000);
});
