import { type Slug, slugTable, unionOfSlugs } from './slugs.ts';

export const noticePrefix = 'system notice: ';

export type NoticeOccasion = {
  /** Why the previous attempt failed; empty on a turn's first attempt. */
  failed: readonly Slug[];
  /** What the application says about a reply that it denied (G-2); null for any other. */
  denial: string | null;
  /** Only the report is permitted. `lastTurnSlugs` holds the causes other than the number of turns. */
  reportOnly: boolean;
  /** The names of the tools that the turn may call, if its requests offer more; else null. */
  permits: readonly string[] | null;
  lastTurnSlugs: readonly Slug[];
  finish: 'report' | 'text';
  turn: number;
  attempt: number;
  maxAttempts: number;
};

/** Composes a request's notice, or null (N-1, N-2): what went wrong, why the turn made no progress, what to do now. */
export function composeNotice(occasion: NoticeOccasion): string | null {
  if (occasion.failed.length === 0 && !occasion.reportOnly && occasion.permits === null) return null;
  const sentences: string[] = [];
  if (occasion.failed.length > 0) {
    const rows = occasion.failed.map((slug) => slugTable[slug]);
    sentences.push(
      `${listed(rows.map((row) => row.happened))} (${occasion.failed.join(', ')}).`,
      `Turn ${occasion.turn} did not progress, because no tool was executed and no ${occasion.finish === 'text' ? 'answer' : 'final report'} was accepted.`,
    );
    if (occasion.denial !== null) sentences.push(`The reason: ${occasion.denial}`);
    if (!occasion.reportOnly) {
      sentences.push(...new Set(occasion.failed.map((slug) => todoOf(slug, occasion.finish))));
    }
  }
  if (occasion.reportOnly) sentences.push(...lastTurnAdvice(occasion));
  else if (occasion.permits !== null) sentences.push(permitted(occasion.permits));
  if (occasion.attempt > 1) sentences.push(`This is attempt ${occasion.attempt} of ${occasion.maxAttempts}.`);
  return `${noticePrefix}${sentences.join(' ')}`;
}

function todoOf(slug: Slug, finish: NoticeOccasion['finish']): string {
  const { todo, todoByText = todo } = slugTable[slug];
  return finish === 'text' ? todoByText : todo;
}

function permitted(names: readonly string[]): string {
  return names.length === 0
    ? 'In this turn, do not call a tool.'
    : `In this turn, only these tools may be called: ${names.join(', ')}.`;
}

function lastTurnAdvice({ failed, lastTurnSlugs, finish }: NoticeOccasion): string[] {
  const causes = unionOfSlugs(lastTurnSlugs).filter((slug) => !failed.includes(slug));
  const reasons = causes.map((slug) => slugTable[slug].happened);
  const because = reasons.length > 0 ? ` because ${listed(reasons)} (${causes.join(', ')})` : '';
  const report =
    finish === 'text'
      ? 'Do not call a tool; reply with your complete answer as text.'
      : 'Do not call any other tool; call final_report now, with your complete result.';
  return [`This is the last turn${because}.`, report];
}

function listed(parts: readonly string[]): string {
  return parts.join('; and ');
}
