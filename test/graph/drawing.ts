import { readdirSync, readFileSync } from 'node:fs';
import {
  attemptMachine,
  itemMachine,
  sessionMachine,
  toolCallMachine,
  turnMachine,
  workflowMachine,
} from '../../machines/index.ts';
import { arrowName, guardText } from '../../src/inspect/recorded/arrow-names.ts';
import type { PicturedArrow } from '../../src/inspect/recorded/pictures.ts';

/** The source of the pictures: the real machines, read into plain nodes and arrows. */

export type Node = {
  id: string;
  key: string;
  /** A `badEnd` is a final state of what did not succeed; an `elsewhere` stands for what another picture shows. */
  kind: 'root' | 'compound' | 'state' | 'choice' | 'final' | 'badEnd' | 'elsewhere';
  description: string;
  rules: string[];
  invokes: string[];
  entry: string[];
  exit: string[];
  tags: string[];
  initial: string | null;
  children: Node[];
};

export type Arrow = PicturedArrow & {
  /** The arrow's name in the walks over all paths. */
  name: string;
  /** Its place among the arrows of its state for one event, from 1; `else` for the last without a guard; null if alone. */
  place: number | 'else' | null;
};

export type Drawing = {
  name: string;
  title: string;
  description: string;
  root: Node;
  arrows: Arrow[];
  config: unknown;
};

type AnyNode = {
  id: string;
  key: string;
  type: string;
  description?: string;
  meta?: { rules?: string[] };
  tags: string[];
  entry: readonly unknown[];
  exit: readonly unknown[];
  invoke: readonly { id: string; src: unknown }[];
  initial?: { target: readonly { id: string }[] };
  always?: readonly AnyTransition[];
  transitions: Map<string, readonly AnyTransition[]>;
  states: Record<string, AnyNode>;
};
type AnyTransition = {
  source: { id: string };
  target?: readonly { id: string }[];
  eventType: string | null;
  guard?: unknown;
  actions: readonly unknown[];
};

export const machines = {
  session: sessionMachine,
  turn: turnMachine,
  attempt: attemptMachine,
  'tool-call': toolCallMachine,
  workflow: workflowMachine,
  item: itemMachine,
};

export function drawings(): Drawing[] {
  return Object.entries(machines).map(([name, machine]) => {
    const root = machine.root as unknown as AnyNode;
    const rules = rulesByName(name);
    const arrows: Arrow[] = [];
    const node = read(root, true, (list) => {
      for (const [index, transition] of list.entries()) {
        const place = list.length === 1 ? null : transition.guard === undefined ? 'else' : index + 1;
        arrows.push({ ...arrowOf(transition, rules), machine: name, number: arrows.length, place });
      }
    });
    return {
      name,
      title: machine.id,
      description: root.description ?? '',
      root: node,
      arrows,
      config: plainConfig(machine.config),
    };
  });
}

/** The finals of what did not succeed. */
const badEnds = /^(?:failed|aborted|exhausted|exitedEarly)$/;

/** Reads a state; `note` gets the transitions for each of its events, in the order in which they are tried. */
function read(node: AnyNode, isRoot: boolean, note: (transitions: readonly AnyTransition[]) => void): Node {
  for (const list of node.transitions.values()) note(list);
  note(node.always ?? []);
  const children = Object.values(node.states).map((child) => read(child, false, note));
  // Without an arrow that needs no guard, the machine may stay there.
  const isChoice = node.always?.some(({ guard }) => guard === undefined) ?? false;
  return {
    id: node.id,
    key: node.key,
    kind: isRoot
      ? 'root'
      : node.type === 'final'
        ? badEnds.test(node.key)
          ? 'badEnd'
          : 'final'
        : children.length > 0
          ? 'compound'
          : isChoice
            ? 'choice'
            : 'state',
    description: node.description ?? '',
    rules: node.meta?.rules ?? [],
    invokes: node.invoke.map(({ id }) => id),
    entry: node.entry.map(actionText),
    exit: node.exit.map(actionText),
    tags: node.tags,
    initial: node.initial?.target[0]?.id ?? null,
    children,
  };
}

function arrowOf(transition: AnyTransition, rules: Map<string, string[]>): Omit<Arrow, 'machine' | 'number' | 'place'> {
  const { source, target, eventType, guard, actions } = transition;
  const names = actions.map(actionText);
  const guardName = guard === undefined ? '' : guardText(guard);
  const cited = [...guardName.split(/[^A-Za-z]+/), ...names.map((name) => name.split('(')[0] ?? '')].flatMap(
    (name) => rules.get(name) ?? [],
  );
  return {
    source: source.id,
    target: target?.[0]?.id ?? null,
    event: eventType ?? '',
    guard: guardName,
    actions: names,
    rules: [...new Set(cited)],
    name: arrowName(transition),
  };
}

function actionText(action: unknown): string {
  if (typeof action === 'string') return action;
  if (typeof action === 'function') return action.name;
  const { type, params } = action as { type: string; params?: unknown };
  if (typeof params !== 'object' || params === null) return type;
  const told = Object.values(params).filter((value) => typeof value === 'string');
  return told.length === 0 ? type : `${type}(${told.join(', ')})`;
}

/** Maps each function name to the rule ids that its docstring cites. */
function rulesByName(machine: string): Map<string, string[]> {
  const files = [
    ...readdirSync(`machines/${machine}`)
      .filter((name) => name.endsWith('.rules.ts'))
      .map((name) => `machines/${machine}/${name}`),
    'machines/contract/limits.ts',
    'machines/contract/targets.ts',
  ];
  const found = new Map<string, string[]>();
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    for (const [, doc = '', name = ''] of text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*export function (\w+)/g)) {
      const ids = [...doc.matchAll(/\b([BTCNFSPWD]-\d+)[a-z]?\b/g)].map(([, id = '']) => id);
      if (ids.length > 0) found.set(name, [...new Set(ids)]);
    }
  }
  return found;
}

/** Returns the configuration as plain JSON for import into Stately Studio. Functions become names. */
function plainConfig(config: unknown): unknown {
  const plain = (key: string, value: unknown) => (typeof value === 'function' ? guardOrNamed(value, key) : value);
  return JSON.parse(JSON.stringify(config, plain));
}

/** A function without a name, such as one that a mutation tool has wrapped, has that of its field. */
function guardOrNamed(value: { guards?: unknown[]; name: string }, field: string): unknown {
  return value.guards === undefined ? { type: value.name || field } : guardText(value);
}

/** Returns an event's readable name. */
export function eventText(event: string): string {
  if (event === '') return '';
  const actor = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event);
  if (actor !== null) return `${actor[2]} ${actor[1] === 'done' ? 'done' : 'broke'}`;
  return event;
}

export function allNodes(node: Node): Node[] {
  return [node, ...node.children.flatMap(allNodes)];
}

/**
 * Splits a drawing with states tagged `settling` and `ending` into pictures. Each shows the states that its arrows enter in
 * the others, and one arrow into each state that the others enter.
 */
export function partsOf(drawing: Drawing): Drawing[] {
  const parts = new Map(allNodes(drawing.root).map(({ id, tags }) => [id, partTags.find((tag) => tags.includes(tag))]));
  if ([...parts.values()].every((tag) => tag === undefined)) return [drawing];
  return (['queue', ...partTags] as const).map((name) =>
    part(drawing, name, (id) => (parts.get(id) ?? 'queue') === name),
  );
}

/** The states of a part carry its tag; those without one are the queue. */
const partTags = ['settling', 'ending'] as const;
const partTitles = { queue: 'the queue', settling: 'the items in progress', ending: 'the ending' };

function part(drawing: Drawing, name: keyof typeof partTitles, isHere: (id: string) => boolean): Drawing {
  const { root, arrows } = drawing;
  const isInside = (id: string | null) => id === null || id === root.id || isHere(id);
  const own = arrows.filter(({ source }) => source === root.id || isHere(source));
  const leaving = own.flatMap(({ target }) => (target !== null && !isInside(target) ? [target] : []));
  const entered = new Set(
    arrows.flatMap(({ source, target }) =>
      source !== root.id && !isHere(source) && target !== null && isHere(target) ? [target] : [],
    ),
  );
  const here = root.children.filter(({ id }) => isHere(id));
  const others = root.children.filter(({ id }) => leaving.includes(id)).map(elsewhere);
  const origin = elsewhere({ ...root, id: `${root.id}.elsewhere`, key: 'another picture', description: '' });
  const entering = [...entered].map(
    (target): Arrow => ({
      source: origin.id,
      target,
      event: '',
      guard: '',
      actions: [],
      rules: [],
      name: '',
      machine: drawing.name,
      number: -1,
      place: null,
    }),
  );
  const begins = root.initial !== null && isHere(root.initial);
  return {
    ...drawing,
    name: `${drawing.name}-${name}`,
    title: `${drawing.title}: ${partTitles[name]}`,
    root: {
      ...root,
      initial: begins ? root.initial : null,
      children: [...here, ...others, ...(entering.length > 0 ? [origin] : [])],
    },
    arrows: [...own, ...entering],
  };
}

function elsewhere(node: Node): Node {
  return { ...node, kind: 'elsewhere', entry: [], exit: [], invokes: [], rules: [], tags: [], children: [] };
}
