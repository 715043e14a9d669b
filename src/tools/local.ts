import type { ModelMessage, ToolSet } from 'ai';
import type { ToolOutput } from '../../machines/index.ts';
import { check, likeness } from '../input/check.ts';
import { PawlError, shown, unexpected } from '../input/errors.ts';
import { milliseconds, nonBlank } from '../input/shapes.ts';
import { isRecord, plainJson } from '../platform/plain-json.ts';
import { withoutExtraFields } from '../schema/forbidden-fields.ts';
import { type AnySchema, type CheckAtOnce, type CompiledSchema, checkAtOnce, compileSchema } from '../schema/schema.ts';
import type { OfferedTool } from '../vocabulary/offered-tool.ts';
import { contentPiece, type SdkOutput, toModelMessages } from '../vocabulary/sdk-messages.ts';
import { type CallContext, type CatalogTool, later, type ToolContext } from './catalog-tool.ts';
import { fixedName, providerTool } from './provider-tools.ts';
import { CachedTool, type ToolCache } from './running/cache.ts';
import { type RecoveryFields, recovering } from './running/recovering.ts';

type SdkTool = ToolSet[string];

/**
 * A plain function as a tool. The model may pass it any JSON object, and only the function itself checks that object.
 * The type is declared as a method so that its parameter is bivariant: functions with a narrower input type fit too.
 */
export type FunctionTool = { call(input: unknown, context: ToolContext): unknown }['call'];

/** An AI SDK tool without `execute`: its calls are answered from outside (`Session.answer`). */
export type ClientTool = {
  description?: unknown;
  title?: string | undefined;
  strict?: boolean | undefined;
  inputSchema: AnySchema;
  execute?: undefined;
};

/** What Pawl reads of a tool beside the AI SDK's fields. */
type OwnFields = RecoveryFields & {
  /** See the function `idempotent`. */
  idempotent?: boolean;
  /** The tool's own timeout in ms, in place of `limits.toolTimeoutMs`. */
  timeoutMs?: number;
  /** The queue of the agent's `queues` in which its calls wait, with those of all sessions of the process. */
  queue?: string;
  /** Whether its values are used again; default: never. */
  cache?: ToolCache;
  /** Returns what a person is to see of a call before the decision, such as a diff. */
  preview?(input: unknown): string | Promise<string>;
};

/** A local tool from the user: an unmodified AI SDK `tool()`, or a plain function. */
export type LocalTool = (SdkTool | ClientTool | FunctionTool) & OwnFields;

/**
 * Declares that a tool may run twice with the effect of one run: after a crash, a call that was in flight runs again
 * instead of being answered `interrupted` (D-4). Both runs get the same `idempotencyKey` in their context. Throws
 * `invalid_tool`.
 */
export function idempotent<Tool extends LocalTool>(tool: Tool): Tool & { idempotent: true } {
  const given: unknown = tool;
  if (typeof given !== 'function' && !isRecord(given))
    throw unexpected('invalid_tool', 'tool', given, 'an AI SDK tool or a function');
  if (typeof tool === 'function') return Object.assign(tool.bind(null) as Tool, tool, { idempotent: true as const });
  return { ...tool, ...allFieldsOf(tool), idempotent: true };
}

const methods = ['execute', 'needsApproval', 'toModelOutput', 'onInputAvailable', 'preview', 'reconcile', 'undo'];

/**
 * Returns the fields of a tool, with its methods bound to it: an instance of a class has them in its prototypes, and they
 * may need its private fields.
 */
function allFieldsOf(tool: object): object {
  const fields = new Map<string, unknown>();
  for (let at = tool; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      const field: unknown = Reflect.get(tool, name);
      fields.set(name, methods.includes(name) && typeof field === 'function' ? field.bind(tool) : field);
    }
  }
  fields.delete('constructor');
  return Object.fromEntries(fields);
}

/** Adapts a local tool. Throws `invalid_tool` or `invalid_schema`, naming the unusable part. */
export function localTool(name: string, given: LocalTool): CatalogTool {
  if (typeof given === 'function') return functionAsTool(name, given);
  if (typeof given !== 'object' || given === null) {
    throw unexpected('invalid_tool', `tools.${name}`, given, 'an AI SDK tool or a function');
  }
  // A client-side tool has some of the fields.
  const definition = given as SdkTool & OwnFields;
  for (const field of ['onInputStart', 'onInputDelta'] as const) {
    if (definition[field] === undefined) continue;
    throw new PawlError('invalid_tool', `\`tools.${name}.${field}\` is not supported; remove it.`);
  }
  if (typeof definition.description === 'function') {
    const what = 'must be a text: a function of it is not supported, since all sessions of an agent share its tools';
    throw new PawlError('invalid_tool', `\`tools.${name}.description\` ${what}.`);
  }
  checkFields(name, definition);
  // They are called as methods of their tool, which may be an instance of a class.
  const { execute, toModelOutput, idempotent: isIdempotent } = definition;
  const { takesText = false, resultItem, isRemote } = checkedProviderTool(name, definition);
  const isClientSide = execute === undefined && !isRemote;
  if (isClientSide && definition.timeoutMs !== undefined) {
    const message = `\`tools.${name}.timeoutMs\` needs \`execute\`; without it, \`limits.clientToolTimeoutMs\` applies.`;
    throw new PawlError('invalid_tool', message);
  }
  if (isClientSide && definition.type === 'provider') {
    throw unexpected('invalid_tool', `tools.${name}.execute`, execute, 'a function that runs the tool');
  }
  if (isClientSide && toModelOutput !== undefined) {
    const message = `\`tools.${name}.toModelOutput\` needs \`execute\`; without it, the call is answered from outside.`;
    throw new PawlError('invalid_tool', message);
  }
  const compiled = compileSchema(definition.inputSchema, `tools.${name}.inputSchema`);
  const schema = definition.type === 'provider' ? compiled : withoutExtraFields(compiled);
  const checkContext =
    definition.contextSchema === undefined
      ? undefined
      : checkAtOnce(definition.contextSchema, `tools.${name}.contextSchema`);
  return {
    ...(checkContext !== undefined && { checkContext }),
    takesText,
    ...(definition.type === 'provider' && definition.supportsDeferredResults === true && { isDeferred: true }),
    ...(resultItem !== undefined && { resultItem }),
    ...ownTimeout(name, definition),
    ...sharing(name, definition),
    ...(isIdempotent === true && { afterCrash: 'repeat' }),
    ...(isRemote && { isRemote }),
    ...recovering(definition, (context) => contextFor(context, checkContext)),
    // Only the waiting begins again.
    ...(isClientSide && { isClientSide, afterCrash: 'repeat' }),
    name,
    kind: 'real',
    offered: later(offeredTool(name, definition, schema)),
    validate: (input) => schema.validate(takesText ? input.text : input),
    needsApproval: (input, context) => approvalNeeded(definition, input, sdkOptions(context, checkContext)),
    ...(definition.onInputAvailable !== undefined && {
      announce: (input, context) => definition.onInputAvailable?.({ input, ...sdkOptions(context, checkContext) }),
    }),
    ...(definition.preview !== undefined && { preview: async (input) => String(await definition.preview?.(input)) }),
    execute: (input, context) => definition.execute?.(input, sdkOptions(context, checkContext)),
    ...(resultItem !== undefined && {
      toModelOutput: async (output) => ({ type: 'json', value: JSON.parse(JSON.stringify(output) ?? 'null') }),
    }),
    ...(toModelOutput !== undefined && {
      toModelOutput: async (output, input, toolCallId) =>
        modelOutput(await toModelOutput.call(definition, { toolCallId, input, output })),
    }),
  };
}

const fieldTypes: Readonly<Record<string, readonly [types: readonly string[], what: string]>> = {
  description: [['string'], 'a text'],
  strict: [['boolean'], 'a boolean'],
  idempotent: [['boolean'], 'a boolean'],
  needsApproval: [['boolean', 'function'], 'a boolean or a function'],
  execute: [['function'], 'a function that runs the tool'],
  toModelOutput: [['function'], 'a function'],
  onInputAvailable: [['function'], 'a function'],
  preview: [['function'], 'a function that returns a text'],
  reconcile: [['function'], 'a function that says what became of a call'],
  undo: [['function'], 'a function that takes back what a call did'],
};
/** Fields without which a tool would run as its author does not want it to. */
const cautions = ['needsApproval', 'idempotent', 'timeoutMs', 'toModelOutput', 'reconcile'];

/** Throws `invalid_tool` for a field of the wrong type, and for one that is probably a misspelled caution. */
function checkFields(name: string, definition: object): void {
  for (const [field, [types, what]] of Object.entries(fieldTypes)) {
    const value: unknown = Reflect.get(definition, field);
    const isAbsent = value === undefined || (value === null && (field === 'description' || field === 'strict'));
    if (!isAbsent && !types.includes(typeof value))
      throw unexpected('invalid_tool', `tools.${name}.${field}`, value, what);
  }
  // An instance of a class may have any fields, and so may a tool that has the caution.
  if (Object.getPrototypeOf(definition) !== Object.prototype) return;
  const missing = cautions.filter((caution) => !(caution in definition));
  for (const field of Object.keys(definition)) {
    const meant = cautions.includes(field) ? undefined : missing.find((one) => likeness(one, field) > 0.8);
    if (meant !== undefined)
      throw new PawlError('invalid_tool', `Unknown field \`tools.${name}.${field}\`. Did you mean \`${meant}\`?`);
  }
}

function ownTimeout(name: string, { timeoutMs }: OwnFields): { timeoutMs?: number } {
  if (timeoutMs === undefined) return {};
  return { timeoutMs: check(milliseconds, timeoutMs, `tools.${name}.timeoutMs`, 'invalid_tool') };
}

/** What the calls of a tool share with those of other sessions. */
function sharing(name: string, { queue, cache }: OwnFields): Pick<CatalogTool, 'queue' | 'cache'> {
  return {
    ...(queue !== undefined && { queue: check(nonBlank, queue, `tools.${name}.queue`, 'invalid_tool') }),
    ...(cache !== undefined && { cache: new CachedTool(['tool', name], cache, `tools.${name}.cache`, 'invalid_tool') }),
  };
}

type ProviderRole = { isRemote: boolean; takesText?: boolean; resultItem?: CatalogTool['resultItem'] };

/** Returns what a provider-defined tool needs. Throws `invalid_tool`, by its id, if an agent cannot have it. */
function checkedProviderTool(name: string, definition: SdkTool): ProviderRole {
  if (definition.type !== 'provider') return { isRemote: false };
  const { id, args, isProviderExecuted } = definition;
  const { isRemote, refusal, takesText, resultItem } = providerTool(id);
  const fixed = fixedName(id);
  const named = fixed === null || fixed === name ? null : `the model calls it "${fixed}", so give it this name`;
  const reason = refusal?.(args) ?? named;
  if (reason !== null) throw new PawlError('invalid_tool', `\`tools.${name}\` (${id}) cannot be used: ${reason}.`);
  return {
    isRemote: isRemote?.(args) ?? isProviderExecuted === true,
    ...(takesText !== undefined && { takesText }),
    ...(resultItem !== undefined && { resultItem }),
  };
}

/** Whether a call needs approval. A thenable becomes a native promise. */
function approvalNeeded(
  definition: SdkTool,
  input: unknown,
  options: ReturnType<typeof sdkOptions>,
): boolean | Promise<boolean> {
  if (typeof definition.needsApproval !== 'function') return definition.needsApproval === true;
  const needed: unknown = definition.needsApproval(input, options);
  // Only false lets a call skip approval: a function that says nothing has forgotten to.
  const asked = (value: unknown) => value !== false;
  return needed instanceof Object && 'then' in needed ? Promise.resolve(needed).then(asked) : asked(needed);
}

/** Builds the options that the SDK passes to a tool; messages are converted only if the tool reads them. */
function sdkOptions({ callId, signal, messages, context, ...more }: CallContext, check: CheckAtOnce | undefined) {
  return {
    ...more,
    toolCallId: callId,
    abortSignal: signal,
    context: contextFor(context, check),
    get messages(): ModelMessage[] {
      return toModelMessages(messages());
    },
  };
}

/** Returns what a tool takes of the session's context, which the session has checked. */
function contextFor(context: unknown, check: CheckAtOnce | undefined): Record<string, unknown> {
  const taken = check?.(context);
  const value = taken?.valid ? taken.value : context;
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function functionAsTool(name: string, run: FunctionTool & OwnFields): CatalogTool {
  return {
    ...ownTimeout(name, run),
    ...sharing(name, run),
    ...(run.idempotent === true && { afterCrash: 'repeat' }),
    ...recovering(run, (context) => context),
    name,
    kind: 'real',
    offered: { type: 'function', name, inputSchema: { type: 'object' } },
    validate: (input) => ({ valid: true, value: input }),
    execute: (input, context) => run(input, context),
  };
}

async function offeredTool(name: string, definition: SdkTool, schema: CompiledSchema): Promise<OfferedTool> {
  if (definition.type === 'provider') return { type: 'provider', name, id: definition.id, args: definition.args };
  const { strict, inputExamples, providerOptions } = definition;
  const description = typeof definition.description === 'string' ? definition.description : undefined;
  return {
    type: 'function',
    name,
    inputSchema: await schema.jsonSchema,
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
    ...(inputExamples !== undefined && { inputExamples }),
    ...(providerOptions !== undefined && { providerOptions }),
  };
}

/** Converts an SDK output to the conversation's format: JSON, with files as data or URLs. */
function modelOutput(output: SdkOutput): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: output.value };
    case 'json':
    case 'error-json':
      return { type: output.type, value: plainJson(JSON.parse(JSON.stringify(output.value) ?? 'null')) };
    case 'execution-denied':
      return output.reason === undefined ? { type: output.type } : { type: output.type, reason: output.reason };
    case 'content':
      return { type: 'content', value: output.value.map(contentPiece) };
    default:
      throw new TypeError(`toModelOutput returned an unknown output: ${shown(output satisfies never)}`);
  }
}
