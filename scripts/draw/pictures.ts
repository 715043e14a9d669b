import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { takenArrows } from '../../test/graph/coverage.ts';
import { drawings } from '../../test/graph/drawing.ts';
import { dotOf } from './dot.ts';
import { mermaidOf, tableOf } from './text.ts';

/** Returns the content of every file in `visualizations/`, by file name. */
export async function pictures(): Promise<Map<string, string>> {
  const graphviz = await Graphviz.load();
  const svg = (dot: string) =>
    `${graphviz
      .dot(dot)
      .replace(/<!--[\s\S]*?-->\n?/g, '')
      .replace(/<!DOCTYPE[\s\S]*?>\n?/, '')
      .replaceAll('font-family="Arial"', 'font-family="Arial,Helvetica,Liberation Sans,sans-serif"')
      .trim()}\n`;
  const files = new Map<string, string>();
  for (const drawing of drawings()) {
    files.set(`${drawing.name}.svg`, svg(dotOf(drawing, null)));
    files.set(`${drawing.name}.coverage.svg`, svg(dotOf(drawing, takenArrows(drawing.name))));
    files.set(`${drawing.name}.mmd`, mermaidOf(drawing));
    files.set(`${drawing.name}.table.md`, tableOf(drawing));
    files.set(`${drawing.name}.json`, `${JSON.stringify(drawing.config, null, 2)}\n`);
  }
  return files;
}
