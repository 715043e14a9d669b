/** Bundles the session that runs in the first page of the site. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';

/** Leaves out what package.json leaves out for browsers, here of the sources. */
function withoutNode(root: string): Plugin {
  const { browser } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    browser: Record<string, string>;
  };
  const absent = new Set(Object.keys(browser).map((path) => path.replace('./dist/', '').replace(/\.js$/, '.ts')));
  return {
    name: 'without-node',
    setup({ onResolve }) {
      onResolve({ filter: /^\./ }, ({ path, importer }) => {
        const file = relative(root, join(dirname(importer), path));
        return absent.has(file) ? { path: join(root, 'src/platform/absent.ts') } : undefined;
      });
    },
  };
}

export async function bundleLive(root: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [join(root, 'site/live/main.ts')],
    outfile,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    plugins: [withoutNode(root)],
    logLevel: 'error',
  });
}
