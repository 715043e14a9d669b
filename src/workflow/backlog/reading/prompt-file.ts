import { withoutCode } from './fences.ts';

/** What the head of a PROMPT.md says of its item. */
export type PromptFacts = { title: string | null; description: string; fields: ReadonlyMap<string, string> };

/** Lines at the beginning that are looked at for fields. */
const headLines = 60;
const descriptionLength = 2_000;

/** Characters of a line in which fields are looked for. */
const mostInLine = 1_000;

const bold = /\*\*\s*([A-Za-z][A-Za-z _-]{1,30}?)\s*(?::\s*\*\*\s*:?|\*\*\s*:)/g;
const plainField =
  /^[-*+\s]*(priority|status|component|type|depends(?:[ _]on)?|dependencies|blocked[ _]by|blocks|created)\s*:/i;

/**
 * Reads the head of a PROMPT.md: its title, and fields such as `**Priority**: P1 **Status**: new`, by their names in small
 * letters.
 */
export function promptFacts(text: string): PromptFacts {
  const lines = linesOf(text);
  const heading = lines.findIndex((line) => /^#\s/.test(line));
  const head = linesOfHead(lines);
  const fields = new Map<string, string>();
  const told = head.filter((line) => !line.startsWith('#'));
  for (const [at, line] of told.entries()) {
    for (const [name, value] of fieldsIn(line)) {
      const whole = value === '' && ofItems.test(name) ? listBelow(told, at) : value;
      if (whole !== '' && !fields.has(name)) fields.set(name, whole);
    }
  }
  const title = heading === -1 ? null : titleOf(lines[heading] ?? '');
  return { title, description: descriptionIn(lines, heading).slice(0, descriptionLength), fields };
}

const priorityField =
  /^((?:.{0,200}?\*\*\s*priority\s*(?::\s*\*\*\s*:?|\*\*\s*:)|[-*+\s]*priority\s*:)\s*)(?:P[0-3]|critical|urgent|high|medium|low)\b/i;

/** Replaces the priority in the head of a text, if there is one. */
export function withPriority(text: string, priority: string): string {
  return withField(text, priorityField, priority);
}

function withField(text: string, field: RegExp, value: string): string {
  const lines = text.split('\n');
  const told = linesOfHead(linesOf(text));
  const at = told.findIndex((line) => !line.startsWith('#') && field.test(line.slice(0, mostInLine)));
  const line = lines[at];
  return line === undefined ? text : lines.with(at, line.replace(field, `$1${value}`)).join('\n');
}

const statusField =
  /^((?:.{0,200}?\*\*\s*status\s*(?::\s*\*\*\s*:?|\*\*\s*:)|[-*+\s]*status\s*:)\s*)(\w[\w -]{0,40}?)(?=\s*(?:\*\*|[|·,;(]|$))/i;

/** Returns the status in the head of a text, or null. */
export function statusInHead(text: string): string | null {
  const told = linesOfHead(linesOf(text)).filter((line) => !line.startsWith('#'));
  return told.flatMap((line) => statusField.exec(line.slice(0, mostInLine))?.[2] ?? [])[0] ?? null;
}

/** Replaces the status in the head of a text, if there is one. */
export function withStatus(text: string, status: string): string {
  return withField(text, statusField, status);
}

/** Fields that name other items. */
const ofItems = /^(?:depend|blocked by$|blocks$)/;

/** An item of a list that begins with an id. Its signs may be indented. */
const itemWithId = /^(\s*)[-*+]\s+(?:\[.\]\s+)?([[`*_]*[A-Za-z]{2,12}-\d+\b.*)$/;

/** Returns the items below a line that is the name of a list of ids, as one line; empty without any. */
function listBelow(lines: readonly string[], at: number): string {
  // The items of a list that stands in another are indented deeper.
  const [, indent = null] = /^(\s*)[-*+]\s/.exec(lines[at] ?? '') ?? [];
  const below = lines.slice(lines[at + 1]?.trim() === '' ? at + 2 : at + 1).map((line) => itemWithId.exec(line));
  const end = below.findIndex((item) => item === null || (indent !== null && (item[1] ?? '').length <= indent.length));
  return below
    .slice(0, end === -1 ? below.length : end)
    .map((item) => item?.[2])
    .join(', ');
}

/** What stands between the rules of front matter; a rule at the beginning of other texts is one. */
const frontMatter = /^(?:$|#|\s|-\s|[\w-]+\s*:)/;

/** The lines of a text, without code, and without the comments of its front matter, which are no headings. */
function linesOf(text: string): string[] {
  const lines = withoutCode(text.split(/\r?\n/));
  const isRule = (line: string) => line.trimEnd() === '---';
  const end = isRule(lines[0] ?? '') ? lines.findIndex((line, index) => index > 0 && isRule(line)) : -1;
  const isFront = lines.slice(1, Math.max(1, end)).every((line) => frontMatter.test(line));
  return lines.map((line, index) => (isFront && index < end && line.startsWith('#') ? '' : line));
}

/** The lines up to the second heading. */
function linesOfHead(lines: readonly string[]): readonly string[] {
  const heading = lines.findIndex((line) => /^#\s/.test(line));
  const second = lines.findIndex((line, index) => index > heading && /^#{1,6}\s/.test(line));
  return lines.slice(0, Math.min(second === -1 ? lines.length : second, headLines));
}

function fieldsIn(whole: string): [string, string][] {
  const line = whole.slice(0, mostInLine);
  const marks = [...line.matchAll(bold)];
  if (marks.length === 0) {
    const name = plainField.exec(line);
    return name === null
      ? []
      : [[(name[1] ?? '').toLowerCase().replaceAll('_', ' '), valueIn(line.slice(name[0].length))]];
  }
  return marks.map((mark, index): [string, string] => {
    const end = marks[index + 1]?.index ?? line.length;
    const value = valueIn(line.slice(mark.index + mark[0].length, end));
    return [(mark[1] ?? '').toLowerCase().replaceAll('_', ' '), value];
  });
}

/** A value without the signs that separate it from the next field. */
function valueIn(text: string): string {
  return text
    .trim()
    .replace(/^:\s*/, '')
    .replace(/[|·,;]+$/, '')
    .trim();
}

/** Returns a heading's title without the item's id: `# FEAT-004: Early exits` -> `Early exits`. */
function titleOf(heading: string): string | null {
  const title = heading
    .replace(/^#+\s*/, '')
    .replace(/^[A-Z]+-\d+\s*(?:[:–—-]\s*)?/i, '')
    .trim();
  return title === '' ? null : title;
}

/** The first paragraph that is no heading and holds no fields. */
function descriptionIn(lines: readonly string[], heading: number): string {
  const begin = lines.findIndex(
    (line, index) =>
      index > heading && line.trim() !== '' && !/^[#>|-]/.test(line.trim()) && fieldsIn(line).length === 0,
  );
  if (begin === -1) return '';
  const end = lines.findIndex((line, index) => index > begin && (line.trim() === '' || /^#/.test(line)));
  return lines.slice(begin, end === -1 ? lines.length : end).join('\n');
}
