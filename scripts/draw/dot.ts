import { cellId, edgeId, stateId } from '../../src/inspect/recorded/picture-ids.ts';
import { type Arrow, type Drawing, eventText, type Node } from '../../test/graph/drawing.ts';

const ink = '#1f2430';
const quiet = '#6b7280';
const briefSize = 12;
/** A font whose widths Graphviz knows. The picture adds fallback fonts. */
const font = 'Arial';
const fills: Record<Node['kind'], [string, string]> = {
  root: ['#ffffff', '#d1d5db'],
  compound: ['#f8fafc', '#94a3b8'],
  state: ['#eef2ff', '#6366f1'],
  choice: ['#fff7ed', '#f59e0b'],
  final: ['#ecfdf5', '#10b981'],
  badEnd: ['#fef2f2', '#dc2626'],
  elsewhere: ['#ffffff', '#94a3b8'],
};

/** What a drawing says of a state, of an arrow that stays in it, and of one that leaves it; and how close they stand. */
type Words = {
  head(drawing: Drawing): string[];
  state(node: Node): string[];
  /** What stands below the arrows that stay in a state. */
  below(node: Node): string[];
  stay(arrow: Arrow): string[];
  edge(arrow: Arrow): string[];
  tip(node: Node): string;
  space: string;
};

const whole: Words = {
  head: ({ title, description }) => [bold(title, 20), small(wrapped(description, 90), 12)],
  state: stateText,
  below: ({ rules }) => (rules.length === 0 ? [] : [small(rules.join(' '), 9, '#4338ca')]),
  stay: stayText,
  edge: edgeText,
  tip: ({ description }) => description,
  space: 'nodesep=0.55, ranksep=0.75, pad=0.3',
};

/** Names, events and guards in one size, for a page that has the rest beside it. */
const brief: Words = {
  head: () => [],
  state: ({ key }) => [bold(key, briefSize)],
  below: () => [],
  stay: (arrow) => [small(`↺ ${[eventText(arrow.event), guardOf(arrow)].join(' ').trim()}`, briefSize, ink)],
  edge: (arrow) => [
    ...(arrow.event === '' ? [] : [small(eventText(arrow.event), briefSize, colorOf(arrow) === broken ? broken : ink)]),
    ...(guardOf(arrow) === '' ? [] : [small(guardOf(arrow), briefSize, '#b45309')]),
  ],
  tip: (node) => [node.description, ...doesIn(node), node.rules.join(' ')].filter((text) => text !== '').join('\n'),
  space: 'nodesep=0.25, ranksep=0.4, pad=0.1',
};

/** Returns a machine in Graphviz's DOT language: as a whole, or names, events and guards alone. */
export function dotOf(drawing: Drawing, length: 'whole' | 'brief' = 'whole'): string {
  const words = length === 'whole' ? whole : brief;
  const { root, arrows } = drawing;
  // Transitions that stay in a state are listed inside it.
  const inside = (id: string) =>
    arrows
      .filter((arrow) => arrow.source === id && arrow.target === null)
      .flatMap((arrow) => findable(arrow, words.stay(arrow)));
  const lines = [
    'digraph {',
    `graph [compound=true, rankdir=TB, ${words.space}, splines=spline, fontname="${font}", fontcolor="${ink}", labelloc=t, label=${label(words.head(drawing))}];`,
    `node [fontname="${font}", fontsize=12, fontcolor="${ink}", style="rounded,filled", shape=box, penwidth=1.3, margin="0.42,0.14"];`,
    `edge [fontname="${font}", fontsize=10, fontcolor="${ink}", arrowsize=0.7, penwidth=1.2];`,
    ...(root.initial === null
      ? []
      : [
          `"__start" [shape=circle, width=0.16, fixedsize=true, label="", style=filled, fillcolor="${ink}"];`,
          `"__start" -> ${target(root.initial, root)} [${border('lhead', root.initial, root).join('')}];`,
        ]),
    ...wholeNote(inside(root.id)),
    ...root.children.flatMap((child) => nodeLines(child, words, inside)),
    ...bundled(arrows).map((bundle) => edgeLine(bundle, words, root)),
    '}',
  ];
  return lines.join('\n');
}

type Inside = (id: string) => string[];

const shapes: Partial<Record<Node['kind'], string>> = {
  choice: 'shape=octagon, style="filled"',
  final: 'peripheries=2',
  badEnd: 'peripheries=2',
  elsewhere: 'shape=box, style="rounded,dashed"',
};

function wholeNote(stays: readonly string[]): string[] {
  if (stays.length === 0) return [];
  return [
    `"__whole" [style="rounded,filled", fillcolor="#ffffff", color="#d1d5db", label=${label([small('in every state', 10), ...stays])}];`,
  ];
}

function nodeLines(node: Node, words: Words, inside: Inside): string[] {
  const text = [...words.state(node), ...inside(node.id), ...words.below(node)];
  const [fill, line] = fills[node.kind];
  if (node.kind !== 'compound') {
    const shape = shapes[node.kind] ?? 'shape=box';
    return [
      `"${node.id}" [id="${stateId(node.id)}", ${shape}, fillcolor="${fill}", color="${line}", tooltip="${escaped(words.tip(node))}", label=${label(text)}];`,
    ];
  }
  return [
    `subgraph "cluster_${node.id}" {`,
    `id="${stateId(node.id)}"; style="rounded,filled"; fillcolor="${fill}"; color="${line}"; penwidth=1.3; margin=22; label=${label(text)};`,
    // Arrows to and from a compound state attach to a point inside it.
    `"__in_${node.id}" [shape=point, width=0.08, color="${quiet}", label=""];`,
    ...(node.initial === null ? [] : [`"__in_${node.id}" -> "${node.initial}" [color="${quiet}", arrowsize=0.5];`]),
    ...node.children.flatMap((child) => nodeLines(child, words, inside)),
    '}',
  ];
}

/** What happens on entering a state, in it, and on leaving it. */
function doesIn({ entry, invokes, exit }: Node): string[] {
  return [
    ...entry.map((action) => `entry / ${action}`),
    ...invokes.map((invoke) => `invokes ${invoke}`),
    ...exit.map((action) => `exit / ${action}`),
  ];
}

function stateText(node: Node): string[] {
  const does = doesIn(node);
  return [
    bold(node.key, 13),
    ...(node.description === '' ? [] : [small(wrapped(node.description, 34), 10)]),
    ...(does.length === 0 ? [] : [small(does.join('\n'), 10, ink)]),
  ];
}

/** Merges arrows between the same two states into one line with all their texts: parallel lines are hard to follow. */
function bundled(arrows: readonly Arrow[]): [Arrow, ...Arrow[]][] {
  const bundles = new Map<string, [Arrow, ...Arrow[]]>();
  for (const arrow of arrows) {
    if (arrow.target === null) continue;
    const key = `${arrow.source} ${arrow.target}`;
    const bundle = bundles.get(key);
    if (bundle === undefined) bundles.set(key, [arrow]);
    else bundle.push(arrow);
  }
  return [...bundles.values()];
}

function edgeLine(bundle: [Arrow, ...Arrow[]], words: Words, root: Node): string {
  const [{ source, target: to }] = bundle;
  const colors = [...new Set(bundle.map((arrow) => colorOf(arrow)))];
  const [first = ink, ...others] = colors;
  const color = others.length === 0 ? first : mixed;
  const rows = bundle.flatMap((arrow, index) => [
    ...(index === 0 ? [] : [rule, gap]),
    ...findable(arrow, words.edge(arrow)),
  ]);
  const attributes = [
    `id="${edgeId(source, to)}"`,
    `color="${color}"`,
    `label=${label(rows, 9)}`,
    ...border('ltail', source, root),
    ...border('lhead', to, root),
  ];
  return `${target(source, root)} -> ${target(to, root)} [${attributes.join(', ')}];`;
}

/** Returns the attribute that ends an arrow at the border of a compound state. */
function border(end: 'lhead' | 'ltail', id: string | null, root: Node): string[] {
  return id !== null && isCompound(id, root) ? [`${end}="cluster_${id}"`] : [];
}

const [atOnce, broken, mixed] = ['#f59e0b', '#b91c1c', '#475569'];

/** Colors an arrow by whether it is immediate, a defect, or other. */
function colorOf(arrow: Arrow): string {
  return arrow.event === '' ? atOnce : arrow.event.startsWith('xstate.error') ? broken : mixed;
}

/** The guard of an arrow; of several for one event, they are tried in the order of their numbers. */
function guardOf({ guard, place }: Arrow): string {
  const text = place === 'else' ? 'else' : guard;
  return text === '' ? '' : `${typeof place === 'number' ? `${place}. ` : ''}[${text}]`;
}

/** Rule ids have a line of their own: a font wider than Arial would lay them over the words. */
function stayText(arrow: Arrow): string[] {
  const { event, actions, rules } = arrow;
  const words = [eventText(event), guardOf(arrow), actions.length === 0 ? '' : `/ ${actions.join(', ')}`];
  const text = wrapped(`↺ ${words.filter((word) => word !== '').join(' ')}`, 40);
  return [small(text, 10, ink), ...(rules.length === 0 ? [] : [small(rules.join(' '), 9, '#4338ca')])];
}

function edgeText(arrow: Arrow): string[] {
  const { event, actions, rules } = arrow;
  const color = colorOf(arrow) === mixed ? ink : colorOf(arrow);
  const guard = guardOf(arrow);
  return [
    ...(event === '' ? [] : [`<font color="${color}">${bold(eventText(event), 10)}</font>`]),
    ...(guard === '' ? [] : [small(guard, 10, '#b45309')]),
    ...(actions.length === 0 ? [] : [small(`/ ${actions.join('\n/ ')}`, 9)]),
    ...(rules.length === 0 ? [] : [small(rules.join(' '), 9, '#4338ca')]),
  ];
}

function target(id: string | null, root: Node): string {
  return id !== null && isCompound(id, root) ? `"__in_${id}"` : `"${id}"`;
}

function isCompound(id: string, node: Node): boolean {
  return node.children.some((child) => (child.id === id && child.kind === 'compound') || isCompound(id, child));
}

/** Parts the labels of parallel arrows. */
const rule = '<hr/>';
const gap = '<font point-size="7"> </font>';

/** Returns an arrow's rows as one row with an id, by which a page finds it. */
function findable({ machine, number, name }: Arrow, rows: readonly string[]): string[] {
  if (rows.length === 0 || name === '') return [...rows];
  const cell = `<td id="${cellId(machine, number)}" title="${escaped(name)}">${table(rows)}</td>`;
  return [`<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>${cell}</tr></table>`];
}

/** Returns rows of text with a margin of `margin` points on the left and right. */
function label(rows: readonly string[], margin = 0): string {
  if (rows.length === 0) return '""';
  return `<${table(rows, margin)}>`;
}

function table(rows: readonly string[], margin = 0): string {
  const side = margin === 0 ? '' : `<td width="${margin}"></td>`;
  const lines = rows.map((row) => (row === rule ? '<hr/>' : `<tr>${side}<td>${row}</td>${side}</tr>`));
  return `<table border="0" cellborder="0" cellspacing="0" cellpadding="1">${lines.join('')}</table>`;
}

const bold = (text: string, size: number) => `<font point-size="${size}"><b>${escaped(text)}</b></font>`;
const small = (text: string, size: number, color = quiet) =>
  `<font point-size="${size}" color="${color}">${escaped(text).replaceAll('\n', '<br/>')}</font>`;

function wrapped(text: string, width: number): string {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + word.length >= width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
