import { plainJson } from '../platform/plain-json.ts';
import type { CompiledSchema } from '../schema/schema.ts';
import { accepted, missing, parseJsonText, type ReportFormat, schemaFail } from './format.ts';

/**
 * JSON that satisfies the schema; sets become lists and bigints texts. Without a schema, any JSON except null. A text reply
 * must be only JSON.
 */
export function jsonFormat(schema: CompiledSchema | null): ReportFormat {
  return {
    name: 'json',
    description: 'Your complete result as JSON that satisfies the content schema.',
    contentSchema: schema?.jsonSchema ?? {},
    validate: async (content) => {
      if (content === undefined) return missing('content is missing');
      if (typeof content === 'string' && content.trim() === '') return missing('content is blank');
      if (schema === null) return content === null ? missing('content is null') : accepted(plainJson(content));
      const validation = await schema.validate(content);
      return validation.valid ? accepted(plainJson(validation.value)) : schemaFail(validation.reasons);
    },
    parseText: parseJsonText,
  };
}
