import type { JSONSchema7 } from '@ai-sdk/provider';
import type { ReportSlug } from '../../machines/contract/report.ts';
import type { Json, JsonObject, ReportVerdict } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import { timely } from '../timely.ts';

/** What a format says of a report's content: the content as it counts, or why it does not. */
export type ContentVerdict = ReportVerdict | Promise<ReportVerdict>;

/**
 * A report format (F-1). `validate` gets what the model put into `content` of its final_report call, `undefined` where it
 * put nothing; `parseText` turns a plain-text reply into such content (F-4). Neither may throw for a bad report.
 */
export type ReportFormat = {
  name: string;
  /** One or two sentences for the model: what a report in this format is. */
  description: string;
  /** JSON Schema of `content`. */
  contentSchema: JSONSchema7 | PromiseLike<JSONSchema7>;
  validate(content: unknown): ContentVerdict;
  parseText(text: string): { ok: true; content: unknown } | { ok: false; reasons: string };
};

/** What the entry point and the model effect ask of a format. */
export class ReportValidator {
  private readonly format: ReportFormat;
  private readonly timeoutMs: number;

  constructor(format: ReportFormat, timeoutMs: number) {
    this.format = format;
    this.timeoutMs = timeoutMs;
  }

  /** The report in the input of a final_report call. What the model says of its own success is left aside (F-6). */
  ofCall(input: JsonObject, signal: AbortSignal): Promise<ReportVerdict> {
    return this.guarded(() => this.format.validate(input.content), signal);
  }

  ofText(text: string, signal: AbortSignal): Promise<ReportVerdict> {
    return this.guarded(() => {
      const parsed = this.format.parseText(text);
      return parsed.ok ? this.format.validate(parsed.content) : invalidFormat(parsed.reasons);
    }, signal);
  }

  /** A validator of a user's that throws or hangs rejects the report: it was not accepted, and the reason is told. */
  private async guarded(validate: () => ContentVerdict, signal: AbortSignal): Promise<ReportVerdict> {
    try {
      const verdict = await timely(
        this.timeoutMs,
        validate(),
        'the check of the report did not finish in time',
        signal,
      );
      return isVerdict(verdict) ? verdict : schemaFail(`the format ${this.format.name} gave no verdict on the report`);
    } catch (error) {
      return schemaFail(`the report could not be checked: ${messageOf(error)}`);
    }
  }
}

const reportSlugs: readonly unknown[] = [
  'final_report_missing',
  'final_report_invalid_format',
  'final_report_schema_fail',
] satisfies ReportSlug[];

function isVerdict(verdict: unknown): boolean {
  if (typeof verdict !== 'object' || verdict === null || !('valid' in verdict)) return false;
  if (verdict.valid === true) return 'content' in verdict && verdict.content !== undefined;
  const isReasoned = 'reasons' in verdict && typeof verdict.reasons === 'string';
  return verdict.valid === false && isReasoned && 'slug' in verdict && reportSlugs.includes(verdict.slug);
}

export function accepted(content: Json): ReportVerdict {
  return { valid: true, content };
}

export function missing(reasons: string): ReportVerdict {
  return { valid: false, slug: 'final_report_missing', reasons };
}

export function invalidFormat(reasons: string): ReportVerdict {
  return { valid: false, slug: 'final_report_invalid_format', reasons };
}

export function schemaFail(reasons: string): ReportVerdict {
  return { valid: false, slug: 'final_report_schema_fail', reasons };
}
