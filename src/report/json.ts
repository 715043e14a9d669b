import { plainJson, valueAt } from '../platform/plain-json.ts';
import type { CompiledSchema, Validation } from '../schema/schema.ts';
import { parsedWhole, withValueAt } from '../schema/text-of-json.ts';
import type { Path } from '../schema/validation.ts';
import { acceptedVerdict, missingReport, parseJsonText, type ReportFormat, schemaFail } from './format.ts';

/** How often a text within a text is taken for what it is the JSON of. */
const mostParses = 4;

/**
 * Validates a report. A text that the schema refuses is judged by what it is the JSON of (F-2c): the content itself, or a
 * field of it. Nothing else is changed, and the reasons are those for what the model sent.
 */
async function validatedWhole(schema: CompiledSchema, content: unknown): Promise<Validation> {
  const asSent = await schema.validate(content);
  let [judged, value] = [asSent, content];
  for (let parses = 0; parses < mostParses && !judged.valid; parses += 1) {
    const texts = (judged.paths ?? []).filter((path) => parsedWhole(valueAt(value, path)) !== undefined);
    if (texts.length === 0) return asSent;
    value = texts.reduce<unknown>((whole, path) => withParsed(whole, path), value);
    judged = await schema.validate(value);
  }
  return judged.valid ? judged : asSent;
}

function withParsed(whole: unknown, path: Path): unknown {
  const parsed = parsedWhole(valueAt(whole, path));
  return parsed === undefined ? whole : withValueAt(whole, path, parsed);
}

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
      const validation = await validatedWhole(schema, content);
      return validation.valid ? acceptedVerdict(plainJson(validation.value)) : schemaFail(validation.reasons);
    },
    parseText: parseJsonText,
  };
}
