import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slugs } from '../../machines/index.ts';

const root = join(import.meta.dirname, '../..');
/** Inside the project, so that its packages resolve. */
const folder = join(root, 'reports/documents');
const guides = readdirSync(join(root, 'docs/guides')).map((file) => `docs/guides/${file}`);
const blocks = ['README.md', 'skills/pawl/SKILL.md', ...guides].flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ''], index) => ({
    name: `${file.replace(/\W/g, '-')}-${index + 1}.ts`,
    code,
  })),
);

/** The program of the README, whose agent the guides import. */
const program = blocks.find(({ code }) => code.includes('const result'))?.code ?? '';
const librarian = `${program.split('const result')[0]}\nexport { agent };\n`;

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  for (const { name, code } of blocks)
    writeFileSync(join(folder, name), code.includes('import ') ? code : `${code}export {};`);
  for (const name of ['librarian', 'summarizer', 'worker', 'tester'])
    writeFileSync(join(folder, `${name}.ts`), librarian);
  const entry = (file: string) => [join(root, 'src', file)];
  const paths = {
    pawl: entry('index.ts'),
    'pawl/machines': [join(root, 'machines/index.ts')],
    'pawl/testing': entry('testing/index.ts'),
    'pawl/torture': entry('torture/index.ts'),
    'pawl/testing/fast-check': entry('testing/fast-check.ts'),
    'pawl/ui': entry('ui/index.ts'),
    'pawl/openai': entry('openai/index.ts'),
    'pawl/acp': entry('acp/index.ts'),
    'pawl/otel': entry('otel/open-telemetry.ts'),
    'pawl/postgres': entry('journal/postgres/postgres.ts'),
    'pawl/restate': entry('restate/restate-agents.ts'),
    'pawl/inspect': entry('inspect/index.ts'),
    'pawl/workflow': entry('workflow/index.ts'),
    'pawl/workspace': entry('workspace/index.ts'),
  };
  const compilerOptions = { noUnusedLocals: false, paths };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*.ts'] }),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the code in the README and the guides', () => {
  it('is complete and passes the type checker', () => {
    expect(blocks.length).toBeGreaterThan(8);
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' });
    expect(stdout).toBe('');
  });

  it('counts the names of failures', () => {
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(`every failure has one of ${slugs.length} names`);
  });

  it('says of other loops what the comparison found', () => {
    const comparison = readFileSync(join(root, 'docs/comparison.md'), 'utf8');
    const rows = comparison.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    const found = rows
      .filter(([, , settings]) => settings === 'defaults')
      .map(([, , , , right, , claimed]) => [right, claimed]);
    const [own, ...others] = found.map((row) => row.map(Number));
    const span = (column: number) => {
      const all = others.map((row) => row[column] ?? 0);
      return `${Math.min(...all)} to ${Math.max(...all)}`;
    };
    const said = readFileSync(join(root, 'README.md'), 'utf8').replaceAll('\n', ' ');
    expect(others.length).toBe(5);
    expect(said).toContain(`Pawl did ${own?.[0]} right and claimed ${own?.[1]} that were not done`);
    expect(said).toContain(`did ${span(0)} right and claimed ${span(1)}.`);
  });

  it.each(readdirSync(join(root, 'examples/moving')).filter((name) => name.endsWith('.js')))(
    'shows the program %s as it is run, in the guide that leads from other libraries',
    (name) => {
      const text = readFileSync(join(root, 'examples/moving', name), 'utf8');
      expect(readFileSync(join(root, 'docs/guides/moving.md'), 'utf8')).toContain(`\`\`\`js\n${text}\`\`\``);
    },
  );

  it('prints the result that the README shows', () => {
    const code = program
      .replace("'pawl'", JSON.stringify(join(root, 'src/index.ts')))
      .replace("'pawl/testing'", JSON.stringify(join(root, 'src/testing/index.ts')));
    const file = join(folder, 'readme.mts');
    writeFileSync(file, code);
    const said = execFileSync(process.execPath, [file], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(said.trim()).toBe("succeeded { found: true, shelf: 'J-12' } 3");
  }, 30_000);
});

it('the documents are wrapped at 120 columns', () => {
  const documents = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      file.endsWith('.md') &&
      /^(docs\/(?!verification|slugs|logging|comparison|events)|machines\/|[A-Z]+\.md$)/.test(file),
  );
  expect(documents.length).toBeGreaterThan(30);
  const long = documents.flatMap((file) => {
    const prose = readFileSync(join(root, file), 'utf8').replace(/^```[\s\S]*?^```/gm, '');
    return prose.split('\n').filter((line) => line.length > 120 && !line.startsWith('|') && !line.includes(']('));
  });
  expect(long).toEqual([]);
});
