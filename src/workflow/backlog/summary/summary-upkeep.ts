/** What changed in a summary: an item came, or its status became another. Dates are as in `2026-01-31`. */
export type SummaryEvent = { date: string; id: string; title: string; what: string; added: boolean; finished: boolean };

/**
 * Keeps up what stands around the tables of a summary, as far as it is there: the date of the last update, the statistics,
 * and the list of recent activity. Nothing is added that people do not keep.
 */
export function keptUp(lines: readonly string[], event: SummaryEvent): string[] {
  const kept = lines.map((line) => (line.length > longest ? line : statisticAfter(dated(line, event), event)));
  return withActivity(kept, event);
}

/** Longer lines are no dates and no statistics. */
const longest = 200;

const updated = /^([\s>*_-]*(?:last[ _-]?updated?|updated)\s*[*_]*\s*:\s*[*_]*\s*)\d{4}-\d{2}-\d{2}/i;

function dated(line: string, { date }: SummaryEvent): string {
  return line.replace(updated, (_, before: string) => `${before}${date}`);
}

/** A statistic is a line of its own: `- **Total**: 12`, `Open Bugs: 3`. */
const statistic =
  /^(?<before>[\s>*_-]*(?<name>[A-Za-z]+)(?: [A-Za-z]+)?\s*[*_]*\s*:\s*[*_]*\s*)(?<count>\d+)(?<after>[\s*_]*)$/;

function statisticAfter(line: string, { added, finished }: SummaryEvent): string {
  const { before = '', name = '', count = '', after = '' } = statistic.exec(line)?.groups ?? {};
  const step = /^(?:total|all)$/i.test(name)
    ? Number(added)
    : /^(?:open|new|active|pending)$/i.test(name)
      ? Number(added) - Number(finished)
      : /^(?:completed?|resolved|done|closed|fixed)$/i.test(name)
        ? Number(finished)
        : 0;
  return step === 0 ? line : `${before}${Math.max(0, Number(count) + step)}${after}`;
}

/** Adds a line at the beginning of the list of recent activity, in the form of the lines that are there. */
function withActivity(lines: readonly string[], { date, id, title, what }: SummaryEvent): string[] {
  const heading = lines.findIndex((line) => /^#{2,6}\s+.*recent (?:activity|changes|updates)/i.test(line));
  if (heading === -1) return [...lines];
  const next = lines.findIndex((line, index) => index > heading && /^#{1,6}\s/.test(line));
  const end = next === -1 ? lines.length : next;
  const first = lines.findIndex((line, index) => index > heading && index < end && /^\s*[-*]\s/.test(line));
  const at = first === -1 ? heading + 1 : first;
  const sign = /^\s*([-*])/.exec(lines[first] ?? '')?.[1] ?? '-';
  const gap = first === -1 ? [''] : [];
  return [...lines.slice(0, at), ...gap, `${sign} ${date}: ${id} ${what}: ${title}`, ...lines.slice(at)];
}

const names: Record<string, RegExp> = {
  P0: /\b(?:critical|urgent)\b/i,
  P1: /\bhigh\b(?!-)/i,
  P2: /\bmedium\b(?!-)/i,
  P3: /\blow\b(?!-)/i,
};

/** Returns the line of the heading of a priority's section; -1 if the summary has none. */
export function sectionOf(lines: readonly string[], priority: string): number {
  const headed = (pattern: RegExp) => lines.findIndex((line) => /^#{2,6}\s/.test(line) && pattern.test(line));
  const own = headed(new RegExp(`\\b${priority}\\b`));
  return own !== -1 || names[priority] === undefined ? own : headed(names[priority]);
}

/** Returns a heading with one more, or one less, in its brackets: `## P1 (3)`. */
export function recounted(heading: string, step: 1 | -1): string {
  return heading.replace(/\((\d+)(?= ?(?:items?|bugs?|features?|actions?|open)?\)\s*$)/i, (_, count: string) => {
    return `(${Math.max(0, Number(count) + step)}`;
  });
}
