import type { SessionResult } from '../session/session.ts';

/** An error in the shape of OpenAI's. */
export function openaiError(message: string, type: string, code: string | null, param: string | null = null): object {
  return { error: { message, type, code, param } };
}

/** A session that did not succeed, told by its slugs and its report. */
export function failureOf({ slugs, report, failure: why }: SessionResult) {
  const detail = why?.detail == null ? '' : ` (${why.detail})`;
  const message = `${slugs.join(', ')}${detail}. ${String(report.content)}`;
  return { message, type: 'session_failed', code: slugs[0] ?? null };
}

export function failureBody(result: SessionResult): object {
  const { message, type, code } = failureOf(result);
  return openaiError(message, type, code);
}

export function answerText({ report }: SessionResult): string {
  const { content } = report;
  return typeof content === 'string' ? content : JSON.stringify(content);
}
