import type { ApiOperation, operationTool } from '../../src/tools/service/openapi-operation.ts';
import { service } from './service.ts';

type Made = {
  description: string;
  inputSchema: { jsonSchema: unknown };
  execute(input: object, context: object): unknown;
};

/** The tool of an operation of an OpenAPI document, a POST of `/x`. */
export const madeBy = (toolOf: typeof operationTool, operation: object, more: object = {}) =>
  toolOf({
    api: {},
    path: '/x',
    method: 'POST',
    operation,
    shared: [],
    baseUrl: 'https://a.example',
    auth: undefined,
    policy: { allowPrivate: true },
    needsApproval: false,
    ...more,
  } as ApiOperation) as unknown as Made | null;

export const parameter = (name: string, more: object = {}) => ({
  ...{ name, in: 'query', schema: { type: 'string' } },
  ...more,
});
export const bodyOf = (type: string, schema: object, more: object = {}, encoding: object = {}) => ({
  requestBody: { content: { [type]: { schema, encoding } }, ...more },
});

/** What a service receives when the operation is called with this input. */
export async function receivedBy(toolOf: typeof operationTool, operation: object, input: object, more: object = {}) {
  await using server = await service((_, response) => response.end());
  await madeBy(toolOf, operation, { baseUrl: server.url, ...more })?.execute(input, {});
  const [request] = server.received;
  if (request === undefined) throw new Error('nothing was sent');
  return request;
}
