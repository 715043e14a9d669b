import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { drawings, partsOf } from '../../test/graph/drawing.ts';
import { dotOf } from './dot.ts';
import { compact, floorsPicture, nestedPicture, twoLevels } from './overviews.ts';
import { mermaidOf, tableOf } from './text.ts';

/** Returns the content of every file of `npm run draw` in `visualizations/`, by file name. */
export async function pictures(): Promise<Map<string, string>> {
  const svg = await drawer();
  const files = new Map<string, string>();
  for (const drawing of drawings()) {
    for (const part of partsOf(drawing)) files.set(`${part.name}.svg`, svg(dotOf(part)));
    if (partsOf(drawing).length > 1) files.set(`${drawing.name}.svg`, svg(twoLevels(drawing)));
    files.set(`${drawing.name}.mmd`, mermaidOf(drawing));
    files.set(`${drawing.name}.table.md`, tableOf(drawing));
    files.set(`${drawing.name}.json`, `${JSON.stringify(drawing.config, null, 2)}\n`);
  }
  for (const drawing of drawings())
    if (drawing.name === 'session') files.set('session-overview.svg', svg(compact(drawing)));
  files.set('nested.svg', nestedPicture(drawings()));
  files.set('floors.svg', floorsPicture());
  return files;
}

/** The drawings for the page, by name. */
export async function briefPictures(): Promise<Record<string, string>> {
  const svg = await drawer();
  const parts = drawings().flatMap(partsOf);
  return Object.fromEntries(parts.map((part) => [part.name, svg(dotOf(part, 'brief'))]));
}

async function drawer(): Promise<(dot: string) => string> {
  const graphviz = await Graphviz.load();
  return (dot) => {
    const widths = widthsIn(JSON.parse(graphviz.layout(dot, 'json', 'dot')));
    const drawn = graphviz
      .layout(dot, 'svg', 'dot')
      .replace(/<!--[\s\S]*?-->\n?/g, '')
      .replace(/<!DOCTYPE[\s\S]*?>\n?/, '')
      .replaceAll('font-family="Arial"', 'font-family="Arial,Helvetica,Liberation Sans,DejaVu Sans,sans-serif"')
      .trim();
    return `${held(drawn, widths)}\n`;
  };
}

type Drawn = { op: string; pt?: [number, number]; width?: number };
type Objects = { _ldraw_?: Drawn[] };

/** The widths that Graphviz gave its texts, by their place. */
function widthsIn({ objects = [], edges = [], ...graph }: Objects & { objects?: Objects[]; edges?: Objects[] }) {
  const widths = new Map<string, number>();
  for (const { _ldraw_: drawn = [] } of [graph, ...objects, ...edges]) {
    for (const { op, pt, width } of drawn) {
      if (op === 'T' && pt !== undefined && width !== undefined) widths.set(`${pt[0]} ${-pt[1]}`, width);
    }
  }
  return widths;
}

/** Centers each text where it was measured and holds it to that width, so that it stays in its box in any font. */
function held(svg: string, widths: ReadonlyMap<string, number>): string {
  return svg.replace(/text-anchor="(\w+)" x="([^"]*)" y="([^"]*)"/g, (whole, anchor, x, y) => {
    const width = widths.get(`${Number(x)} ${Number(y)}`);
    if (width === undefined || width === 0) return whole;
    const center = anchor === 'start' ? Number(x) + width / 2 : Number(x);
    const length = `textLength="${width}" lengthAdjust="spacingAndGlyphs"`;
    return `text-anchor="middle" x="${center.toFixed(2)}" y="${y}" ${length}`;
  });
}
