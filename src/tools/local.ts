import type { ModelMessage, ToolSet } from 'ai';
import type { ToolOutput } from '../../machines/index.ts';
import { PawlError, shown } from '../errors.ts';
import { contentPiece, type SdkOutput } from '../model/content-piece.ts';
import { toModelMessages } from '../model/messages.ts';
import type { OfferedTool } from '../model/request-model.ts';
import { type CompiledSchema, compileSchema } from '../model/schema.ts';
import { type CatalogTool, later, type ToolContext } from './catalog.ts';

type SdkTool = ToolSet[string];

/**
 * A plain function as a tool: the model may give it any JSON object, and nothing checks that but the function.
 * The parameter is a method's, which TypeScript compares both ways: a function that says what it expects can be given too.
 */
export type FunctionTool = { call(input: unknown, context: ToolContext): unknown }['call'];

/** A local tool as a user gives it: an AI SDK `tool()` as it is, or a plain function. */
export type LocalTool = SdkTool | FunctionTool;

/** Adapts a local tool; `invalid_tool` and `invalid_schema` name what cannot be used. */
export function localTool(name: string, definition: LocalTool): CatalogTool {
  if (typeof definition === 'function') return functionAsTool(name, definition);
  if (typeof definition !== 'object' || definition === null) {
    throw new PawlError(
      'invalid_tool',
      `tools.${name} is ${shown(definition)}: allowed are AI SDK tools and functions.`,
    );
  }
  for (const field of ['contextSchema', 'onInputStart', 'onInputDelta'] as const) {
    if (definition[field] === undefined) continue;
    throw new PawlError('invalid_tool', `tools.${name}.${field} is set, which is not supported: leave it out.`);
  }
  const { execute, needsApproval, toModelOutput, onInputAvailable } = definition;
  if (!['undefined', 'boolean', 'function'].includes(typeof needsApproval)) {
    throw new PawlError(
      'invalid_tool',
      `tools.${name}.needsApproval is ${shown(needsApproval)}: a boolean or a function is allowed.`,
    );
  }
  if (typeof execute !== 'function' && !(definition.type === 'provider' && definition.isProviderExecuted)) {
    throw new PawlError(
      'invalid_tool',
      `tools.${name}.execute is ${shown(execute)}: a function is needed to run the tool.`,
    );
  }
  const schema = compileSchema(definition.inputSchema, `tools.${name}.inputSchema`);
  return {
    name,
    kind: 'real',
    offered: later(offeredTool(name, definition, schema)),
    validate: (input) => schema.validate(input),
    needsApproval: (input, context) => approvalNeeded(needsApproval, input, context),
    execute: async (input, context) => {
      const options = sdkOptions(context);
      await onInputAvailable?.({ input, ...options });
      return execute?.(input, options);
    },
    toModelOutput:
      toModelOutput === undefined
        ? null
        : async (output, input, toolCallId) => modelOutput(await toModelOutput({ toolCallId, input, output })),
    judgeReport: null,
  };
}

/** A promise of a kind of its own is made one of ours. */
function approvalNeeded(
  needsApproval: SdkTool['needsApproval'],
  input: unknown,
  context: ToolContext,
): boolean | Promise<boolean> {
  if (typeof needsApproval !== 'function') return needsApproval === true;
  const needed: unknown = needsApproval(input, sdkOptions(context));
  // Only a clear no lets a call pass unasked.
  const asked = (value: unknown) => value !== false && value !== undefined;
  return needed instanceof Object && 'then' in needed ? Promise.resolve(needed).then(asked) : asked(needed);
}

/** What the SDK tells a tool; the messages are translated only for a tool that looks at them. */
function sdkOptions({ callId, signal, messages }: ToolContext) {
  return {
    toolCallId: callId,
    abortSignal: signal,
    context: {},
    get messages(): ModelMessage[] {
      return toModelMessages(messages());
    },
  };
}

function functionAsTool(name: string, run: FunctionTool): CatalogTool {
  return {
    name,
    kind: 'real',
    offered: { type: 'function', name, inputSchema: { type: 'object' } },
    validate: (input) => ({ valid: true, value: input }),
    needsApproval: () => false,
    execute: (input, context) => run(input, context),
    toModelOutput: null,
    judgeReport: null,
  };
}

async function offeredTool(name: string, definition: SdkTool, schema: CompiledSchema): Promise<OfferedTool> {
  if (definition.type === 'provider') return { type: 'provider', name, id: definition.id, args: definition.args };
  const { description, strict, inputExamples, providerOptions } = definition;
  const text = typeof description === 'function' ? description({ context: {} }) : description;
  return {
    type: 'function',
    name,
    inputSchema: await schema.jsonSchema,
    ...(text !== undefined && { description: text }),
    ...(strict !== undefined && { strict }),
    ...(inputExamples !== undefined && { inputExamples }),
    ...(providerOptions !== undefined && { providerOptions }),
  };
}

/** The SDK's shapes of a result, as the conversation keeps them: as JSON, files as data or URLs. */
function modelOutput(output: SdkOutput): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: output.value };
    case 'json':
    case 'error-json':
      return { type: output.type, value: JSON.parse(JSON.stringify(output.value) ?? 'null') };
    case 'execution-denied':
      return output.reason === undefined ? { type: output.type } : { type: output.type, reason: output.reason };
    case 'content':
      return { type: 'content', value: output.value.map(contentPiece) };
    default:
      throw new TypeError(`toModelOutput gave ${shown(output satisfies never)}, which is no output`);
  }
}
