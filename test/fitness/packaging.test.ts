import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const core = join(process.cwd(), 'dist/src/index.js');

/** Prints the packages, the built-in modules and the files of Pawl that an import loads. */
const modulesLoaded = `
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({ load(url, context, next) {
  const [, name] = url.match(/.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/) ?? [];
  loaded.add(name ?? (url.startsWith('node:') ? url : url.replace(/.*\\/dist\\//, 'pawl/')));
  return next(url, context);
} });
await import(process.argv[1]);
console.log(JSON.stringify([...loaded]));
`;

function loadedBy(file: string): string[] {
  const args = ['--input-type=module', '--eval', modulesLoaded, join(process.cwd(), file)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

/** Pictures, and the machines in TypeScript, are only in the repository: a third of the tarball. */
const inRepository = /^(docs\/pictures|machines|visualizations)(\/|$)/;

describe('the package', () => {
  it("import 'pawl' loads the machines, zod and the helpers of `ai`, and nothing that only some sessions need", () => {
    const helpers = loadedBy('node_modules/@ai-sdk/provider-utils/dist/index.js');
    const ofAi = loadedBy('node_modules/ai/dist/index.js');
    const foreign = (file: string, known: readonly string[]) =>
      loadedBy(file).filter((name) => !known.includes(name) && !name.startsWith('pawl/'));
    expect(foreign('dist/src/index.js', ['xstate', 'fast-deep-equal', ...helpers])).toEqual([]);
    expect(foreign('dist/src/ui/index.js', ['xstate', 'fast-deep-equal', ...ofAi])).toEqual([]);
    const machines = loadedBy('dist/machines/index.js').filter((name) => !name.startsWith('pawl/'));
    expect(machines).toEqual(['xstate']);
  });

  it('no entry point loads the command', () => {
    for (const entry of [
      'index',
      'testing/index',
      'torture/index',
      'workflow/index',
      'workspace/index',
      'ui/index',
      'inspect/index',
      'openai/index',
      'otel/open-telemetry',
    ])
      expect([entry, loadedBy(`dist/src/${entry}.js`).filter((name) => /cli|command/.test(name))]).toEqual([entry, []]);
  });

  it('has no source maps, which were two fifths of it: the modules are as they were written, but for their types', () => {
    expect(globSync('dist/**/*.map')).toEqual([]);
    for (const file of globSync('dist/**/*.js')) expect(readFileSync(file, 'utf8')).not.toContain('sourceMappingURL');
  });

  it('an old Node is refused with one sentence', () => {
    const old = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });";
    const args = ['--import', `data:text/javascript,${encodeURIComponent(old)}`];
    const sentence = 'Pawl needs Node 22.13 or later; this is Node 20.20.2.';
    const main = spawnSync(process.execPath, [...args, 'dist/src/cli/main.js', '--version'], { encoding: 'utf8' });
    expect([main.status, main.stderr]).toEqual([2, `pawl: ${sentence}\n`]);
    const imported = `import('${core}').catch(({ message }) => console.log(message))`;
    const { stdout } = spawnSync(process.execPath, [...args, '--eval', imported], { encoding: 'utf8' });
    expect(stdout).toBe(`${sentence}\n`);
  });

  it('llms.txt names each document', () => {
    const named = [...readFileSync('llms.txt', 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(([, file]) => file);
    const documents = globSync(['docs/*.md', 'docs/guides/*.md']).map((file) => file.replaceAll('\\', '/'));
    expect(documents.filter((file) => !named.includes(file))).toEqual([]);
    expect(named.filter((file = '') => !existsSync(file))).toEqual([]);
  });

  it('no link in the tarball leads nowhere', () => {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const [{ files }]: [{ files: { path: string }[] }] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }));
    const paths = files.map(({ path }) => path);
    const dead = paths.filter((path) => /\.(md|svg)$/.test(path)).flatMap((path) => deadLinks(path, paths));
    expect(dead).toEqual([]);
  });
});

function deadLinks(path: string, paths: readonly string[]): string[] {
  const text = readFileSync(path, 'utf8').replace(/```.*?```/gs, '');
  const links = [...text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)|href="([^"#]+)"/g)].map(
    ([, one, other]) => one ?? other,
  );
  return links
    .filter((link) => link !== undefined && !/^[a-z]+:/.test(link))
    .map((link) => normalize(join(dirname(path), link ?? '')).replace(/\/$/, ''))
    .filter((target) => !inRepository.test(target))
    .filter((target) => !paths.some((one) => one === target || one.startsWith(`${target}/`)))
    .map((target) => `${path}: ${target}`);
}
