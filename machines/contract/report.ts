import type { Json } from './json.ts';
import type { Slug } from './slugs.ts';

/** Where a session's report came from (F-5). Machines know the first two; the entry point alone makes the third. */
export type ReportSource = 'tool_call' | 'text_fallback' | 'synthetic';

export type ReportSlug = Extract<
  Slug,
  'final_report_missing' | 'final_report_invalid_format' | 'final_report_schema_fail'
>;

/** What a format's validator says of a report (F-1, F-2). `content` is the report as the format defines it. */
export type ReportVerdict = { valid: true; content: Json } | { valid: false; slug: ReportSlug; reasons: string };
