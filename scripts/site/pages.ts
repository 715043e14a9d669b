/** Makes the pages of the site out of the repository's documents: each link leads to a page, or to a file. */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, posix, relative } from 'node:path';

/** What becomes a page, in the order of `llms-full.txt`. */
export const documents = (root: string): string[] =>
  globSync(
    [
      'README.md',
      'docs/**/*.md',
      'machines/README.md',
      'examples/README.md',
      'visualizations/*.md',
      'CHANGELOG.md',
      'SECURITY.md',
    ],
    { cwd: root },
  )
    .map((path) => path.replaceAll('\\', '/'))
    .sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));

const order = ['README.md', 'docs/README.md', 'docs/concepts.md', 'docs/guides/', 'docs/', 'machines/', 'examples/'];
const rank = (path: string) => {
  const at = order.findIndex((beginning) => path.startsWith(beginning));
  return at === -1 ? order.length : at;
};

/** Files of code that are shown as pages, since documents link to them. */
const code = new Set(['.ts', '.tsx', '.js', '.css', '.json', '.yml', '.mjs', '.py']);

/** The page of a file: `README.md` is the index of its folder, that of the repository the overview. */
function pageOf(path: string): string {
  if (path === 'README.md') return 'overview.md';
  if (basename(path) === 'README.md') return posix.join(posix.dirname(path), 'index.md');
  return extname(path) === '.md' ? path : `${path}.md`;
}

/** Writes the pages and returns how many there are. Throws for a link that leads nowhere. */
export function writePages(root: string, out: string): number {
  rmSync(out, { recursive: true, force: true });
  const wanted = new Set<string>();
  const problems: string[] = [];
  const all = documents(root);
  const write = (path: string, text: string) => {
    const file = join(out, pageOf(path));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const path of all) {
    const text = readFileSync(join(root, path), 'utf8');
    write(
      path,
      linksIn(text, (link) => {
        const [target = '', hash = ''] = link.split('#');
        if (target === '' || /^[a-z]+:/.test(target)) return link;
        const to = posix.normalize(posix.join(posix.dirname(path), target)).replace(/\/$/, '');
        const full = join(root, to);
        if (!existsSync(full)) {
          problems.push(`${path}: ${link}`);
          return link;
        }
        const page = placeOf(root, to);
        if (page === null) return `/${publish(root, out, to)}`;
        if (page !== to || !all.includes(to)) wanted.add(page);
        const here = posix.dirname(pageOf(path));
        const way = posix.relative(here, pageOf(page));
        return `${way.startsWith('.') ? way : `./${way}`}${hash === '' ? '' : `#${hash}`}`;
      }),
    );
  }
  for (const path of wanted) {
    if (all.includes(path)) continue;
    const full = join(root, path);
    if (!existsSync(full)) write(path, listOf(root, dirname(path)));
    else write(path, `# ${path}\n\n\`\`\`\`${extname(path).slice(1)}\n${readFileSync(full, 'utf8')}\`\`\`\`\n`);
  }
  if (problems.length > 0) throw new Error(`links that lead nowhere:\n${problems.join('\n')}`);
  return all.length + wanted.size;
}

/** The document, the file of code or the folder that a link leads to; null for a picture or another file. */
function placeOf(root: string, to: string): string | null {
  if (statSync(join(root, to)).isDirectory()) return `${to}/README.md`;
  return extname(to) === '.md' || code.has(extname(to)) ? to : null;
}

/** A page that lists the files of a folder. */
function listOf(root: string, folder: string): string {
  const names = globSync('*', { cwd: join(root, folder) }).sort();
  return `# ${folder}\n\n${names.map((name) => `- \`${name}\``).join('\n')}\n`;
}

/** Copies a file as it is, and returns its place. */
function publish(root: string, out: string, path: string): string {
  const file = join(out, 'public', path);
  mkdirSync(dirname(file), { recursive: true });
  cpSync(join(root, path), file);
  return path;
}

/** Changes the links and pictures of a document, but none within code; braces would be expressions of Vue. */
function linksIn(text: string, change: (link: string) => string): string {
  return text
    .split(/(^ *```[\s\S]*?^ *```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : outsideOfCode(part, change)))
    .join('');
}

function outsideOfCode(text: string, change: (link: string) => string): string {
  return text
    .split(/(`[^`\n]+`)/)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part
            .replaceAll(/(?<=\]\()([^)\s]+)(?=\))/g, (link) => change(link))
            .replaceAll(/<(?!br ?\/?>)/g, '&lt;')
            .replaceAll('{{', '&#123;&#123;'),
    )
    .join('');
}

/** All documents as one text, for a model. */
export function fullText(root: string): string {
  return documents(root)
    .filter((path) => !path.startsWith('docs/decisions/') && !path.startsWith('visualizations/'))
    .map((path) => `<!-- ${relative('.', path)} -->\n\n${readFileSync(join(root, path), 'utf8').trim()}\n`)
    .join('\n');
}
