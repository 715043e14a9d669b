import { plainJson } from '../platform/plain-json.ts';
import type { CompiledSchema } from '../schema/schema.ts';
import { acceptedVerdict, missingReport, parseJsonText, type ReportFormat, schemaFail } from './format.ts';

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
      if (content === undefined) return missingReport('content is missing');
      if (typeof content === 'string' && content.trim() === '') return missingReport('content is blank');
      if (schema === null)
        return content === null ? missingReport('content is null') : acceptedVerdict(plainJson(content));
      const validation = await schema.validate(content);
      return validation.valid ? acceptedVerdict(plainJson(validation.value)) : schemaFail(validation.reasons);
    },
    parseText: parseJsonText,
  };
}
