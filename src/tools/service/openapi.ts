import { z } from 'zod';
import { check } from '../../agent/check.ts';
import { onNode } from '../../platform/node.ts';
import { lazily } from '../../schema/lazily.ts';
import type { LocalTool } from '../local.ts';
import { type HttpPolicy, policyShape } from './http-policy.ts';
import type { RestAuth } from './rest-auth.ts';

export type OpenApiOptions = HttpPolicy & {
  /** Operations to include: ids, or `GET /pets/{id}`; default: all. */
  include?: readonly string[];
  /** Operations to leave out. */
  exclude?: readonly string[];
  /** The base URL of the service; default: the document's first server. */
  baseUrl?: string;
  /** A key without a name is sent as the document's own key scheme requires. */
  auth?: RestAuth | { key: string };
  /** Operations that need approval; default: none. */
  needsApproval?: boolean | readonly string[];
};

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
  const { toolsOf } = await onNode('`openApiTools`', () => import('./openapi-document.ts'));
  return toolsOf(document, options);
}
