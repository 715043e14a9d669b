import { z } from 'zod';
import { policyShape } from '../../http/http-policy.ts';
import { check } from '../../input/check.ts';
import { onNode } from '../../input/on-node.ts';
import { lazily } from '../../platform/lazily.ts';
import type { LocalTool } from '../local.ts';
import type { OpenApiOptions } from './openapi-options.ts';

const names = z.array(z.string(), { error: 'an array of operations' }).optional();
const optionsSchema = lazily(() =>
  z.strictObject({
    include: names,
    exclude: names,
    baseUrl: z.string({ error: 'a URL' }).optional(),
    auth: z.unknown().optional(),
    needsApproval: z
      .union([z.boolean(), z.array(z.string())], { error: 'a boolean or an array of operations' })
      .optional(),
    ...policyShape,
  } satisfies Record<keyof OpenApiOptions, z.ZodType>),
);

/**
 * Creates tools from the operations of an OpenAPI 3.0 or 3.1 document, by operation id. `document` is the document or
 * the path of its file (JSON or YAML). References to other files are not followed. Rejects with `invalid_tool` for an
 * invalid document.
 */
export async function openApiTools(
  document: string | object,
  options: OpenApiOptions = {},
): Promise<Record<string, LocalTool>> {
  check(optionsSchema(), options, '', 'invalid_tool', 'options');
  const { documentTools } = await onNode('`openApiTools`', () => import('./openapi-document.ts'));
  return documentTools(document, options);
}
