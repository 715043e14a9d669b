import type { JSONSchema7 } from '@ai-sdk/provider';
import { jsonSchema } from '@ai-sdk/provider-utils';
import type { FlexibleSchema } from 'ai';
import { compileForeign } from '../../schema/foreign-schema.ts';

/** Returns the schema of an input that another party wrote. Throws if it cannot be used. */
export function inputFromOutside(input: JSONSchema7): FlexibleSchema<Record<string, unknown>> {
  const compiled = compileForeign(input);
  return jsonSchema<Record<string, unknown>>(input, {
    validate: async (value) => {
      const checked = await compiled.validate(value);
      return checked.valid
        ? { success: true, value: value as Record<string, unknown> }
        : { success: false, error: new Error(checked.reasons) };
    },
  });
}
