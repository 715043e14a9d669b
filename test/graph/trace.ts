import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Slug, slugs } from '../../machines/index.ts';

/** A source file that may cite rules or slugs. */
type File = { path: string; text: string };

export function files(folder: string): File[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), 'utf8') }));
}

const code = () => [...files('machines'), ...files('src')];
const tests = () => files('test').filter(({ path }) => path.endsWith('.test.ts'));

/** The titles of a file's tests: the first argument of `it` and `describe`, or of what their `each` returns. */
export function titles(text: string): string[] {
  const calls =
    /(?:\b(?:it|describe)(?:\.\w+)*|\))\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)\s*,/g;
  return [...text.matchAll(calls)].map(([, single, double, template]) => single ?? double ?? template ?? '');
}

export type RuleTrace = { id: string; planned: boolean; where: string[]; shownBy: string[] };

/** Returns each specification rule with the files that implement it, and the test files with a title that cites it. */
export function ruleTraces(): RuleTrace[] {
  const specification = readFileSync('docs/specification.md', 'utf8');
  const all = code();
  const shown = tests().map(({ path, text }) => ({ path, titles: titles(text) }));
  return [...specification.matchAll(/^- \*\*([A-Z]-\d+)\*\* ((?:.|\n(?!- |\n))*)/gm)].map(([, id = '', text = '']) => {
    const cited = new RegExp(`\\b${id}[a-z]?\\b`);
    return {
      id,
      planned: text.includes('(planned'),
      where: all.filter(({ text: body }) => cited.test(body)).map(({ path }) => path),
      shownBy: shown.filter(({ titles: all }) => all.some((title) => cited.test(title))).map(({ path }) => path),
    };
  });
}

export type SlugTrace = { slug: Slug; madeIn: string[]; reachedBy: string[] };

/**
 * Returns each slug with the files that produce it, and the tests that reach it over HTTP or on a path. Table rows and
 * types do not produce a slug.
 */
export function slugTraces(): SlugTrace[] {
  const makers = code()
    .filter(({ path }) => !/^machines\/contract\/(session-)?slugs\.ts$/.test(path))
    .map(({ path, text }) => ({ path, text: withoutTypes(text) }));
  const reaching = tests().filter(({ path }) => !path.startsWith('test/fitness/'));
  return slugs.map((slug) => {
    const quoted = new RegExp(`['"\`]${slug}['"\`]`);
    const named = new RegExp(`\\b${slug}\\b`);
    return {
      slug,
      madeIn: makers.filter(({ text }) => quoted.test(text)).map(({ path }) => path),
      reachedBy: reaching.filter(({ text }) => named.test(text)).map(({ path }) => path),
    };
  });
}

/** The text without comments, and without the types that name slugs. */
function withoutTypes(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    .replace(/Extract<\s*Slug,[^>]*>/g, '')
    .replace(/^(?:export )?type \w+(?:<[^=]*>)? =[\s\S]*?;$/gm, '');
}
