/**
 * Returns the similarity of two items, from 0 to 1: that of their titles, or 0.7 of that of their descriptions if higher. Only
 * titles of the same text, but for case, space and punctuation, have 1.
 */
export function similarity(one: Described, other: Described): number {
  if (plainText(one.title) === plainText(other.title)) return 1;
  const titles = Math.min(mostOfOthers, textSimilarity(one.title, other.title));
  if (one.description.trim() === '' || other.description.trim() === '') return titles;
  return Math.max(titles, 0.7 * textSimilarity(one.description, other.description));
}

/** The same words in another order have all pieces in common. */
const mostOfOthers = 0.99;

function plainText(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[.,;:!?'"()]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

export type Described = { title: string; description: string };

/** Returns the share of trigrams that two texts have in common (Sørensen–Dice), ignoring case. */
function textSimilarity(one: string, other: string): number {
  const left = pieces(one);
  const right = pieces(other);
  let total = 0;
  let common = 0;
  for (const [piece, count] of left) {
    total += count;
    common += Math.min(count, right.get(piece) ?? 0);
  }
  for (const count of right.values()) total += count;
  return total === 0 ? 0 : (2 * common) / total;
}

function pieces(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const padded = `  ${word} `;
    for (let start = 0; start + 3 <= padded.length; start += 1) {
      const piece = padded.slice(start, start + 3);
      counts.set(piece, (counts.get(piece) ?? 0) + 1);
    }
  }
  return counts;
}
