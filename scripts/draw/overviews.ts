import { type Drawing, eventText, type Node, partsOf } from '../../test/graph/drawing.ts';
import { floors } from '../../test/graph/floors.ts';

/** Pictures that show how the parts belong together. Those of boxes need no layout; those in DOT get it from Graphviz. */

const [ink, quiet, blue, line] = ['#1f2430', '#6b7280', '#4338ca', '#94a3b8'];
const font = 'font-family="Arial,Helvetica,Liberation Sans,DejaVu Sans,sans-serif"';

type Box = { x: number; y: number; width: number; height: number; fill: string; stroke?: string };

const box = ({ x, y, width, height, fill, stroke = line }: Box) =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="${fill}" stroke="${stroke}"/>`;

/** A line of text that keeps to its box in any font: it is squeezed only if a font is wider than expected. */
function written(
  x: number,
  y: number,
  text: string,
  { size = 11, color = ink, bold = false, anchor = 'start' } = {},
): string {
  const weight = bold ? ' font-weight="bold"' : '';
  return `<text x="${x}" y="${y}" font-size="${size}" fill="${color}" text-anchor="${anchor}"${weight}>${escaped(text)}</text>`;
}

function svg(width: number, height: number, title: string, parts: readonly string[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" ${font}>
<title>${escaped(title)}</title>
<rect width="${width}" height="${height}" fill="white"/>
${parts.join('\n')}
</svg>
`;
}

/** Breaks a text into lines of at most so many characters. */
function lines(text: string, most: number): string[] {
  const found: string[] = [''];
  for (const word of text.split(' ')) {
    const last = found.at(-1) ?? '';
    if (last !== '' && last.length + word.length >= most) found.push(word);
    else found[found.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return found;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The rooms of src/ on their floors, the highest on top. */
export function floorsPicture(): string {
  const [width, margin] = [960, 12];
  let y = margin;
  const parts = floors.toReversed().flatMap((rooms) => {
    const own = (width - 2 * margin - (rooms.length - 1) * margin) / rooms.length;
    const texts = rooms.map(({ holds }) => lines(holds, Math.floor(own / 6.6)));
    const height = 36 + 15 * Math.max(...texts.map(({ length }) => length));
    const top = y;
    y += height + margin;
    return rooms.flatMap(({ name }, column) => {
      const x = margin + column * (own + margin);
      return [
        box({ x, y: top, width: own, height, fill: '#f8fafc' }),
        written(x + 12, top + 22, name, { size: 14, bold: true }),
        ...(texts[column] ?? []).map((text, index) => written(x + 12, top + 40 + index * 15, text, { color: quiet })),
      ];
    });
  });
  const base = [
    box({ x: margin, y, width: width - 2 * margin, height: 44, fill: '#eef2ff', stroke: '#6366f1' }),
    written(margin + 12, y + 27, 'machines/', { size: 14, bold: true }),
    written(margin + 120, y + 27, 'decides and never acts: every room may import it, and it imports none', {
      color: quiet,
    }),
  ];
  return svg(width, y + 44 + margin, 'The rooms of src/, floor by floor', [...parts, ...base]);
}

/** What each of the nested machines says about the bound. */
const levels: readonly { machine: string; bound: string; rules: string }[] = [
  { machine: 'session', bound: 'at most maxTurns turns; maxTurns may shrink and never grows', rules: 'B-2 B-3 B-4' },
  { machine: 'turn', bound: 'at most maxRetries attempts, the first included; it alone waits', rules: 'B-2 T-3 P-3' },
  {
    machine: 'attempt',
    bound: 'exactly one LLM request, and one answer to each call of its reply',
    rules: 'B-2 C-1 T-1',
  },
  { machine: 'tool-call', bound: 'exactly one answer, whatever happens', rules: 'C-1' },
];

/** What surrounds the machines, from left to right, and what passes to the right and back. */
const around: readonly { name: string; holds: string; on?: [to: string, back: string] }[] = [
  { name: 'folds', holds: 'conversation, counters, log, events: all that is known', on: ['', '← facts'] },
  { name: 'machines', holds: 'decide; they see no clock, chance, disk or network', on: ['effects →', '← deliveries'] },
  { name: 'host', holds: 'the one door: requests out, results and commands in', on: ['requests →', '← deliveries'] },
  { name: 'driver', holds: 'performs effects: models, tools, waits, approvals', on: ['marks →', '← replay'] },
  { name: 'journal', holds: 'deliveries in order: a crash loses nothing' },
];

/** The parts around the machines in a row, with what passes between two neighbours. */
function surroundings(width: number, margin: number, y: number): string[] {
  const gap = 84;
  const own = (width - 2 * margin - (around.length - 1) * gap) / around.length;
  return around.flatMap(({ name, holds, on }, index) => {
    const x = margin + index * (own + gap);
    const middle = x + own + gap / 2;
    const [to, back] = on ?? ['', ''];
    return [
      box({ x, y, width: own, height: 88, fill: name === 'machines' ? '#eef2ff' : '#f8fafc', stroke: '#6366f1' }),
      written(x + 10, y + 22, name, { size: 14, bold: true }),
      ...lines(holds, Math.floor(own / 6)).map((text, at) =>
        written(x + 10, y + 40 + at * 14, text, { size: 10, color: quiet }),
      ),
      ...[to, back].map((text, at) =>
        written(middle, y + 38 + at * 20, text, { size: 10, color: blue, anchor: 'middle' }),
      ),
    ];
  });
}

/** The four nested machines, with the bound written on them, and below them what surrounds the machines. */
export function nestedPicture(drawings: readonly Drawing[]): string {
  const [width, step, margin] = [960, 96, 16];
  const height = 60 + levels.length * step + 40;
  const parts = levels.flatMap(({ machine, bound, rules }, depth) => {
    const drawing = drawings.find(({ name }) => name === machine);
    const x = margin + depth * 26;
    const y = 54 + depth * step;
    const inner = width - 2 * x;
    const ends =
      drawing === undefined ? [] : drawing.root.children.filter(({ kind }) => kind === 'final' || kind === 'badEnd');
    const fill = depth % 2 === 0 ? '#f8fafc' : '#eef2ff';
    return [
      box({ x, y, width: inner, height: height - y - margin - depth * 8, fill, stroke: '#6366f1' }),
      written(x + 16, y + 26, machine.replace('-', ' '), { size: 16, bold: true }),
      written(x + 16, y + 48, drawing?.description ?? '', { color: quiet }),
      written(x + 16, y + 70, bound, { size: 13 }),
      written(x + 16, y + 86, rules, { size: 10, color: blue }),
      written(x + inner - 16, y + 26, `ends ${ends.map(({ key }) => key).join(', ')}`, { color: quiet, anchor: 'end' }),
    ];
  });
  const title = written(margin, 32, 'A session sends at most maxTurns x maxRetries requests', { size: 18, bold: true });
  const below = surroundings(width, margin, height + 8);
  return svg(width, height + 112, 'The four nested machines, the bound, and what surrounds them', [
    title,
    ...parts,
    ...below,
  ]);
}

/** A machine on two levels, in DOT: its parts, and the states in each. Only arrows between states that differ are drawn. */
export function twoLevels(drawing: Drawing): string {
  const parts = partsOf(drawing);
  const isHere = ({ kind }: Node) => kind !== 'elsewhere';
  const clusters = parts.map(({ name, title, root }) => {
    const nodes = root.children.filter(isHere).map(({ id, key, kind }) => {
      const [fill, color] =
        kind === 'badEnd' ? ['#fef2f2', '#dc2626'] : kind === 'final' ? ['#ecfdf5', '#10b981'] : ['#eef2ff', '#6366f1'];
      return `"${id}" [label="${key}", fillcolor="${fill}", color="${color}"];`;
    });
    return `subgraph "cluster_${name}" { label="${title}"; style="rounded,filled"; fillcolor="#f8fafc"; color="${line}"; fontsize=14; ${nodes.join(' ')} }`;
  });
  const states = new Set(parts.flatMap(({ root }) => root.children.filter(isHere).map(({ id }) => id)));
  /** The state of the first level that a state belongs to. */
  const outer = (id: string) => [...states].find((one) => id === one || id.startsWith(`${one}.`)) ?? null;
  const drawn = new Set<string>();
  for (const { source, target } of drawing.arrows) {
    const [from, to] = [outer(source), target === null ? null : outer(target)];
    if (from !== null && to !== null && from !== to) drawn.add(`"${from}" -> "${to}";`);
  }
  return `digraph {
graph [rankdir=TB, nodesep=0.35, ranksep=0.45, pad=0.3, fontname="Arial", fontsize=14, fontcolor="${ink}", labelloc=t, label="${drawing.title}\\n${drawing.description}"];
node [shape=box, style="rounded,filled", fontname="Arial", fontsize=12, fontcolor="${ink}", margin="0.3,0.1"];
edge [color="${quiet}", arrowsize=0.6];
${clusters.join('\n')}
${[...drawn].join('\n')}
}`;
}

/** A machine on one screen, in DOT: its states by name, and on each arrow only what decides. */
export function compact({ title, description, root, arrows }: Drawing): string {
  const fill = ({ kind }: Node) =>
    kind === 'badEnd'
      ? 'fillcolor="#fef2f2", color="#dc2626"'
      : kind === 'final'
        ? 'fillcolor="#ecfdf5", color="#10b981"'
        : kind === 'choice'
          ? 'fillcolor="#fff7ed", color="#f59e0b", shape=octagon'
          : 'fillcolor="#eef2ff", color="#6366f1"';
  const nodeLines = (node: Node): string[] =>
    node.kind === 'compound'
      ? [
          `subgraph "cluster_${node.id}" { label="${node.key}"; style="rounded,filled"; fillcolor="#f8fafc"; color="${line}"; fontsize=13;`,
          ...node.children.flatMap(nodeLines),
          '}',
        ]
      : [`"${node.id}" [label="${node.key}", ${fill(node)}];`];
  const compounds = new Set(root.children.filter(({ kind }) => kind === 'compound').map(({ id }) => id));
  const bundles = new Map<string, string[]>();
  for (const { source, target, event, guard, place } of arrows) {
    if (target === null || source === root.id || compounds.has(source)) continue;
    const why = place === 'else' ? 'else' : guard;
    const text = [eventText(event), why === '' ? '' : `[${why}]`].filter((one) => one !== '').join(' ');
    const key = `"${source}" -> "${target}"`;
    bundles.set(key, [...(bundles.get(key) ?? []), ...(text === '' ? [] : [text])]);
  }
  const edges = [...bundles].map(
    ([ends, texts]) => `${ends} [label="${texts.map((text) => `    ${text}    `).join('\\n')}"];`,
  );
  return `digraph {
graph [rankdir=TB, nodesep=0.3, ranksep=0.32, pad=0.2, fontname="Arial", fontsize=13, fontcolor="${ink}", labelloc=t, label="${title}\\n${description}"];
node [shape=box, style="rounded,filled", fontname="Arial", fontsize=12, fontcolor="${ink}", margin="0.22,0.06", height=0.3];
edge [color="${quiet}", fontname="Arial", fontsize=9, fontcolor="${ink}", arrowsize=0.6];
${root.children.flatMap(nodeLines).join('\n')}
${edges.join('\n')}
}`;
}
