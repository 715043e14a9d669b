import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { machinesVersion } from '../../machines/index.ts';
import type { Pictures } from '../../src/inspect/recorded/pictures.ts';
import { allNodes, drawings } from '../../test/graph/drawing.ts';
import { briefPictures } from '../draw/pictures.ts';

/** Builds the page of the inspector: its script, its style, and the drawings of the machines with what they mean. */
export async function buildInspector(): Promise<void> {
  const built = await build({
    configFile: false,
    logLevel: 'warn',
    define: { 'process.env.NODE_ENV': '"production"', 'import.meta.url': '""' },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      write: false,
      target: 'es2023',
      lib: { entry: 'src/inspect/page/main.tsx', formats: ['iife'], name: 'inspector' },
    },
  });
  const [bundle] = [built].flat();
  if (bundle === undefined || !('output' in bundle)) throw new Error('vite built nothing');
  const [{ code }] = bundle.output;
  mkdirSync('dist/inspector', { recursive: true });
  const style = readFileSync('src/inspect/page/style.css', 'utf8').replace(/\n\s*/g, '\n');
  const files = { 'page.js': code.trim(), 'page.css': style.trim(), 'pictures.json': JSON.stringify(await pictures()) };
  // A quarter of the size; each is read once.
  for (const [name, text] of Object.entries(files))
    writeFileSync(`dist/inspector/${name}.gz`, gzipSync(text, { level: 9 }));
}

async function pictures(): Promise<Pictures> {
  const all = drawings();
  return {
    machines: machinesVersion,
    drawings: await briefPictures(),
    states: Object.fromEntries(
      all.flatMap(({ root }) => allNodes(root).map(({ id, description, rules }) => [id, { description, rules }])),
    ),
    arrows: Object.fromEntries(all.flatMap(({ arrows }) => arrows.map(({ name, ...arrow }) => [name, arrow]))),
    rules: rules(),
  };
}

/** The sentences of the specification, by their ids. */
function rules(): Record<string, string> {
  const text = readFileSync('docs/specification.md', 'utf8');
  return Object.fromEntries(
    [...text.matchAll(/^- \*\*([A-Z]-\d+)\*\* ([\s\S]*?)(?=\n- |\n\n|\n#|(?![\s\S]))/gm)].map(
      ([, id = '', sentence = '']) => [
        id,
        sentence.replaceAll(/\s+- \*\*[A-Z]-\d[a-z]\*\*/g, '').replaceAll(/\s+/g, ' '),
      ],
    ),
  );
}
