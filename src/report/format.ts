import type { JSONSchema7 } from '@ai-sdk/provider';
import type { ReportSlug } from '../../machines/contract/report.ts';
import type { FilePart, Json, JsonObject, ReportVerdict } from '../../machines/index.ts';
import { inTime, type TaskLimits } from '../host/deadline.ts';
import { messageOf } from '../input/errors.ts';
import { inexactNumber, plainJson } from '../platform/plain-json.ts';

/** A format's verdict on a report: the accepted content, or the reasons for rejecting it. */
export type ContentVerdict = ReportVerdict | Promise<ReportVerdict>;

/**
 * A report format (F-1). `validate` gets the `content` of the model's final_report call, `undefined` if missing.
 * `parseText` turns a plain-text reply into such content (F-4). Neither may throw for a bad report.
 */
export type ReportFormat = {
  name: string;
  /** One or two sentences that describe a report in this format to the model. */
  description: string;
  /** JSON Schema of `content`. */
  contentSchema: JSONSchema7 | PromiseLike<JSONSchema7>;
  validate(content: unknown): ContentVerdict;
  parseText(text: string): { ok: true; content: unknown } | { ok: false; reasons: string };
  /** Turns the files of a plain reply, such as images, into such content; without it they are only mentioned. */
  parseFiles?(files: readonly FilePart[]): unknown;
};

/** `parseText` of the formats whose reports are JSON: the text must be only JSON, whose numbers are exact. */
export function parseJsonText(text: string): ReturnType<ReportFormat['parseText']> {
  try {
    const content: unknown = JSON.parse(text);
    const inexact = inexactNumber(text);
    return inexact === null ? { ok: true, content } : { ok: false, reasons: inexact };
  } catch (error) {
    return { ok: false, reasons: `the whole text must be JSON: ${messageOf(error)}` };
  }
}

/** Judges the report in the input of a final_report call. The model's own verdict on its success is ignored (F-6). */
export function judgeCall(format: ReportFormat, input: JsonObject, limits: TaskLimits): Promise<ReportVerdict> {
  return judged(format, () => format.validate(input.content), limits);
}

/** Judges the content of a report that the application put in the place of another (G-3). */
export function judgeContent(format: ReportFormat, content: unknown, limits: TaskLimits): Promise<ReportVerdict> {
  return judged(format, () => format.validate(content), limits);
}

/** Judges a plain reply, a text or files, as a report (F-4). */
export function judgeReply(
  format: ReportFormat,
  text: string,
  files: readonly FilePart[],
  limits: TaskLimits,
): Promise<ReportVerdict> {
  const judge = () => {
    if (format.parseFiles !== undefined) return format.validate(format.parseFiles(files));
    const said = text.trim() === '' ? files.map(({ mediaType }) => `[${mediaType}]`).join('\n') : text;
    const parsed = format.parseText(said);
    return parsed.ok ? format.validate(parsed.content) : invalidFormat(parsed.reasons);
  };
  return judged(format, judge, limits);
}

/** Judges with user code. If it throws, hangs or returns no verdict, the model is not at fault (N-1). */
async function judged(
  { name }: ReportFormat,
  validate: () => ContentVerdict,
  limits: TaskLimits,
): Promise<ReportVerdict> {
  try {
    const verdict = await inTime(limits, 'it was not checked in time', validate);
    if (!isVerdict(verdict)) return checkFailed(`the format ${name} returned no verdict on it`);
    return verdict.valid ? acceptedVerdict(plainJson(verdict.content)) : verdict;
  } catch (error) {
    return checkFailed(`the format ${name} failed on it: ${messageOf(error)}`);
  }
}

const reportSlugs: readonly unknown[] = [
  'final_report_missing',
  'final_report_invalid_format',
  'final_report_schema_fail',
] satisfies Exclude<ReportSlug, 'report_denied'>[];

function isVerdict(verdict: unknown): boolean {
  if (typeof verdict !== 'object' || verdict === null || !('valid' in verdict)) return false;
  if (verdict.valid === true) return 'content' in verdict && verdict.content !== undefined;
  const isReasoned = 'reasons' in verdict && typeof verdict.reasons === 'string';
  return verdict.valid === false && isReasoned && 'slug' in verdict && reportSlugs.includes(verdict.slug);
}

function checkFailed(reasons: string): ReportVerdict {
  return { valid: false, slug: 'check_failed', reasons };
}

export function acceptedVerdict(content: Json): ReportVerdict {
  return { valid: true, content };
}

export function missingReport(reasons: string): ReportVerdict {
  return { valid: false, slug: 'final_report_missing', reasons };
}

export function invalidFormat(reasons: string): ReportVerdict {
  return { valid: false, slug: 'final_report_invalid_format', reasons };
}

export function schemaFail(reasons: string): ReportVerdict {
  return { valid: false, slug: 'final_report_schema_fail', reasons };
}
