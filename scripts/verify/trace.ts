import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { slugs } from '../../machines/index.ts';

/** A source file that may cite rules or slugs. */
type File = { path: string; text: string };

function files(folder: string): File[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), 'utf8') }));
}

const code = () => [...files('machines'), ...files('src')];
const tests = () => files('test');

export type RuleTrace = { id: string; planned: boolean; where: string[]; shownBy: string[] };

/** Returns each rule of the specification with the files that implement it and the tests that cite it. */
export function ruleTraces(): RuleTrace[] {
  const specification = readFileSync('docs/specification.md', 'utf8');
  const all = code();
  const shown = tests();
  return [...specification.matchAll(/^- \*\*([A-Z]-\d)\*\* (.*)$/gm)].map(([, id = '', text = '']) => {
    const pattern = new RegExp(`\\b${id}\\b`);
    const cites = ({ text: body }: File) => pattern.test(body);
    return {
      id,
      planned: text.includes('(planned'),
      where: all.filter(cites).map(({ path }) => path),
      shownBy: shown.flatMap(({ path, text: body }) => {
        const count = [
          ...body.matchAll(
            new RegExp(`(?:it|describe)(?:\\.each[\\s\\S]{0,2000}?)?\\(\\s*[\`'"][^\`'"]*\\b${id}\\b`, 'g'),
          ),
        ].length;
        return count > 0 || pattern.test(body) ? [path] : [];
      }),
    };
  });
}

export type SlugTrace = { slug: string; madeIn: string[]; reachedBy: string[] };

/** Returns each slug with the files that make it and the tests that reach it over HTTP or on a path. */
export function slugTraces(): SlugTrace[] {
  const makers = code().filter(({ path }) => !/contract\/(slugs|notice)\.ts$|report\/synthetic\.ts$/.test(path));
  const reaching = tests().filter(({ path }) => /test\/(scenarios|paths|properties|machines)\//.test(path));
  const quoted = (slug: string) => new RegExp(`['"\`]${slug}['"\`]|\\b${slug}:|['"\`, ]${slug}[,'"\` ]`);
  return slugs.map((slug) => ({
    slug,
    madeIn: makers.filter(({ text }) => quoted(slug).test(text)).map(({ path }) => path),
    reachedBy: reaching.filter(({ text }) => quoted(slug).test(text)).map(({ path }) => path),
  }));
}
