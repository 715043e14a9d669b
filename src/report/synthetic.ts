import type { Counters, Failure } from '../../machines/index.ts';
import { replyText, type Slug, slugTable } from '../../machines/index.ts';
import type { TurnRecord } from '../observe/records.ts';
import { counted, headOf } from '../platform/text.ts';

const quotedBytes = 4_000;

const openings = {
  failed: 'The session failed: no report was accepted.',
  aborted: 'The session was aborted before a report was accepted.',
  suspended: 'The session was suspended before a report was accepted.',
};

/**
 * Builds the report for a session without an accepted one (F-5): attempts, reasons for failure and their counts, advice
 * and the model's last text. `clean` removes secrets (S-5), before a text is cut.
 */
export function syntheticReport(
  status: 'failed' | 'aborted' | 'suspended',
  prompt: string | null,
  failure: Failure,
  counters: Counters,
  turns: readonly TurnRecord[],
  clean: (text: string) => string,
): string {
  const { slugs, retryAt, detail } = failure;
  const sections = [
    openings[status],
    prompt === null ? '' : `Prompt: ${headOf(clean(prompt), 500)}`,
    `Reasons: ${slugs.map((slug) => `${slug} (${slugTable[slug].person})`).join('; ')}.`,
    detail === null ? '' : `Last fault: ${clean(detail)}`,
    `Attempted: ${counted(counters.turns, 'turn')}, ${counted(counters.requests, 'request')}, ${counted(counters.failedAttempts, 'failed attempt')}, ${counted(counters.toolCalls.executed, 'executed tool call')}.`,
    failedAttempts(turns),
    retryAt === null ? '' : `The provider accepts requests again at ${new Date(retryAt).toISOString()}.`,
    ...slugs.flatMap((slug) => slugTable[slug].advice ?? []),
    lastText(turns, clean),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

/** Returns the reasons for the failed attempts, with counts. */
function failedAttempts(turns: readonly TurnRecord[]): string {
  const counts = new Map<Slug, number>();
  for (const { attempts } of turns) {
    for (const slug of attempts.flatMap((attempt) => attempt.slugs)) counts.set(slug, (counts.get(slug) ?? 0) + 1);
  }
  if (counts.size === 0) return '';
  return `Failed attempts by reason: ${[...counts].map(([slug, count]) => `${slug} x ${count}`).join(', ')}.`;
}

/** Why the application does not want a text to be shown: it denied it, or its check failed. */
const withheld: readonly Slug[] = ['report_denied', 'reply_denied', 'check_failed'];

/** Returns the last text of the model that no check kept back. */
function lastText(turns: readonly TurnRecord[], clean: (text: string) => string): string {
  const texts = turns
    .flatMap(({ attempts }) => attempts)
    .filter(({ slugs }) => !slugs.some((slug) => withheld.includes(slug)))
    .flatMap(({ reply }) => (reply === null ? [] : [replyText(reply)]));
  const last = texts.findLast((text) => text.trim() !== '');
  return last === undefined ? '' : `Last text from the model:\n${headOf(clean(last), quotedBytes)}`;
}
