import type { FilePart } from '../../machines/index.ts';
import { PawlError, shown, unexpected } from '../input/errors.ts';
import type { JsonOf } from '../platform/plain-json.ts';
import { type AnySchema, compileSchema, type SchemaOutput } from '../schema/schema.ts';
import { filesFormat } from './files.ts';
import type { ReportFormat } from './format.ts';
import { jsonFormat } from './json.ts';
import { slackFormat } from './slack.ts';
import { markdownFormat, textFormat } from './text.ts';

/** The format of an agent's report, built-in or user-defined. `schema` applies to `json` only. */
export type ReportDefinition = {
  format: 'text' | 'markdown' | 'json' | 'slack' | 'files' | ReportFormat;
  schema?: AnySchema;
};

/** The type of an accepted report's content. It is JSON, also where the schema makes something else of it. */
export type ReportOf<R extends ReportDefinition> = R extends { format: 'text' | 'markdown' }
  ? string
  : R extends { format: 'json'; schema: infer S }
    ? JsonOf<SchemaOutput<S>>
    : R extends { format: 'files' }
      ? FilePart[]
      : unknown;

const formatNames = ['text', 'markdown', 'json', 'slack', 'files'] as const;

/** Returns the format of a definition. Throws `invalid_format` or `invalid_schema` if it is invalid. */
export function reportFormat(definition: ReportDefinition): ReportFormat {
  const { format, schema } = definition;
  if (schema !== undefined && format !== 'json') {
    throw new PawlError(
      'invalid_format',
      `\`report.schema\` needs the format "json"; got ${shown(isFormat(format) ? format.name : format)}.`,
    );
  }
  switch (format) {
    case 'text':
      return textFormat;
    case 'markdown':
      return markdownFormat;
    case 'json':
      return jsonFormat(schema === undefined ? null : compileSchema(schema, 'report.schema'));
    case 'slack':
      return slackFormat;
    case 'files':
      return filesFormat;
    default:
      if (isFormat(format)) return format;
      throw unexpected(
        'invalid_format',
        'report.format',
        format,
        `one of ${formatNames.join(', ')}, or an object with name, description, contentSchema (a JSON Schema), validate and parseText`,
      );
  }
}

function isFormat(value: unknown): value is ReportFormat {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'description' in value &&
    'contentSchema' in value &&
    typeof value.contentSchema === 'object' &&
    value.contentSchema !== null &&
    !('~standard' in value.contentSchema) &&
    'validate' in value &&
    typeof value.validate === 'function' &&
    'parseText' in value &&
    typeof value.parseText === 'function'
  );
}
