import type { JSONSchema7 } from '@ai-sdk/provider';
import type { Json, JsonObject, ReportVerdict } from '../../machines/index.ts';

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

  constructor(format: ReportFormat) {
    this.format = format;
  }

  /** The report in the input of a final_report call. What the model says of its own success is left aside (F-6). */
  async ofCall(input: JsonObject): Promise<ReportVerdict> {
    return this.format.validate(input.content);
  }

  async ofText(text: string): Promise<ReportVerdict> {
    const parsed = this.format.parseText(text);
    return parsed.ok ? this.format.validate(parsed.content) : invalidFormat(parsed.reasons);
  }
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
