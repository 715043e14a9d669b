/**
 * `npm run build`: the package in `dist/`. Each module costs time when it is loaded, so what `pawl` needs is one chunk.
 * `tsc` writes the declarations.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { type Plugin, rolldown } from 'rolldown';
import { buildInspector } from './inspector.ts';

type Package = {
  exports: Record<string, string | { default: string }>;
  bin: Record<string, string>;
  browser: Record<string, string>;
};

const { exports, bin, browser }: Package = JSON.parse(readFileSync('package.json', 'utf8'));
const built = [
  ...Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default])),
  ...Object.values(bin),
  // Apart from the file that refuses an old Node, which could not parse it.
  './dist/src/cli/command.js',
  // Rooms that need Node have files with fixed names, which the field `browser` replaces.
  ...Object.entries(browser).flat(),
];
const nameOf = (file: string) => file.replace(/^\.\/dist\/(.*)\.js$/, '$1');

/** V8 reads a file with any character beyond ASCII at two bytes a character, which makes the import 3 % slower. */
const ascii: Plugin = {
  name: 'ascii',
  renderChunk: (code) => {
    if (/\\[\u0080-\uffff]/.test(code)) throw new Error('a character beyond ASCII follows a backslash');
    // Without the flag `u`, these are UTF-16 units, as in an escape.
    const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
    return { code: code.replace(/[\u0080-\uffff]/g, escaped), map: null };
  },
};

rmSync('dist', { recursive: true, force: true });
const bundle = await rolldown({
  input: Object.fromEntries(built.map((file) => [nameOf(file), `./${nameOf(file)}.ts`])),
  platform: 'node',
  // The helpers of the transformation become part of the bundle.
  external: (id) => /^[^./]/.test(id) && !id.startsWith('@oxc-project/'),
  tsconfig: false,
  transform: { target: 'es2024' },
  plugins: [ascii],
});
await bundle.write({
  dir: 'dist',
  format: 'esm',
  chunkFileNames: 'chunks/[name]-[hash].js',
  // Node prints the whole line that threw an error.
  minify: false,
  codeSplitting: {
    groups: [
      { name: 'supported', test: /platform\/supported\.ts$/, priority: 3 },
      { name: 'machines', test: /\/machines\/index\.ts$/, priority: 2 },
      { name: 'core', test: /\/src\/index\.ts$/, priority: 1 },
    ],
  },
});
await bundle.close();
await buildInspector();
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
