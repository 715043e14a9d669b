import { Marked } from 'marked';
import { escapedHtml, htmlDocument, policyHash } from '../../../platform/node-only/html.ts';

const style = `
:root { color-scheme: light dark; --line: #d4d4d8; --quiet: #52525b; --code: #f4f4f5; }
@media (prefers-color-scheme: dark) { :root { --line: #3f3f46; --quiet: #a1a1aa; --code: #27272a; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; }
td:first-child { white-space: nowrap; }
pre { background: var(--code); padding: .8rem; overflow-x: auto; border-radius: 4px; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
li { overflow-wrap: anywhere; }
`;

const policy = `default-src 'none'; style-src '${policyHash(style)}'; base-uri 'none'; form-action 'none'`;

/** Agents write parts of the report, so HTML is shown as text, an image as a link, and only web links are links. */
const markdown = new Marked({
  renderer: {
    html: ({ text }) => escapedHtml(text),
    // After some tags, marked considers text to be escaped already.
    text(token) {
      return 'tokens' in token && token.tokens ? this.parser.parseInline(token.tokens) : escapedHtml(token.raw);
    },
    image: ({ href, text }) => link(href, escapedHtml(text === '' ? href : text)),
    link({ href, tokens }) {
      return link(href, this.parser.parseInline(tokens));
    },
  },
});

/** Returns a Markdown document as an HTML document, which loads and runs nothing. */
export function htmlOf(title: string, text: string): string {
  const body = `<main>\n${markdown.parse(text, { async: false })}</main>`;
  return htmlDocument({ title, policy, style, body });
}

function link(href: string, shown: string): string {
  return /^https?:\/\//i.test(href) ? `<a href="${escapedHtml(href)}" rel="noreferrer">${shown}</a>` : shown;
}
