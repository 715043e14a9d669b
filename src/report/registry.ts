import { PawlError, shown } from '../errors.ts';
import { type AnySchema, compileSchema, type SchemaOutput } from '../model/schema.ts';
import type { ReportFormat } from './format.ts';
import { jsonFormat } from './json.ts';
import { slackFormat } from './slack.ts';
import { markdownFormat, textFormat } from './text.ts';

/** How an agent's report is to look: one of the formats here, or one of the user's own. `schema` belongs to `json`. */
export type ReportDefinition = {
  format: 'text' | 'markdown' | 'json' | 'slack' | ReportFormat;
  schema?: AnySchema;
};

/** The content of an accepted report. */
export type ReportOf<R extends ReportDefinition> = R extends { format: 'text' | 'markdown' }
  ? string
  : R extends { format: 'json'; schema: infer S }
    ? SchemaOutput<S>
    : unknown;

const formatNames = ['text', 'markdown', 'json', 'slack'] as const;

/** The format of a definition; `invalid_format` and `invalid_schema` where there is none. */
export function reportFormat(definition: ReportDefinition): ReportFormat {
  const { format, schema } = definition;
  if (schema !== undefined && format !== 'json') {
    throw new PawlError(
      'invalid_format',
      `report.schema is given with the format ${shown(typeof format === 'string' ? format : format.name)}: it is allowed with json alone.`,
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
    default:
      if (isFormat(format)) return format;
      throw new PawlError(
        'invalid_format',
        `report.format is ${shown(format)}: allowed are ${formatNames.join(', ')}, or an object with name, description, contentSchema, validate and parseText.`,
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
    'validate' in value &&
    typeof value.validate === 'function' &&
    'parseText' in value &&
    typeof value.parseText === 'function'
  );
}
