import type { Json } from './json.ts';
import type { Slug } from './slugs.ts';

/** The source of a session's report (F-5). Machines use the first two; only the entry point uses `synthetic`. */
export type ReportSource = 'tool_call' | 'text_fallback' | 'synthetic';

export type ReportSlug = Extract<
  Slug,
  'final_report_missing' | 'final_report_invalid_format' | 'final_report_schema_fail' | 'report_denied'
>;

/** A format validator's verdict on a report (F-1, F-2). `content` has the shape that the format defines. */
export type ReportVerdict =
  | { valid: true; content: Json }
  | { valid: false; slug: ReportSlug; reasons: string }
  /** The validator itself failed. The model is not at fault, so nothing collapses. */
  | { valid: false; slug: 'check_failed'; reasons: string };
