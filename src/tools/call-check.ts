import type { CallFacts, JsonObject } from '../../machines/index.ts';
import { inTime, type TaskLimits } from '../host/deadline.ts';
import { messageOf } from '../input/errors.ts';
import type { AnsweredCall } from '../observe/calls/past-calls.ts';
import { valueAt } from '../platform/plain-json.ts';
import { parsedWhole } from '../schema/text-of-json.ts';
import { after, type Validation } from '../schema/validation.ts';
import type { CallContext, CatalogTool } from './catalog-tool.ts';
import type { Policies } from './policies.ts';

export const validationTimeoutText = 'the input check did not finish in time';

/** A call whose input is a whole object, while it is checked. */
export type CheckedCall = {
  tool: CatalogTool;
  input: JsonObject;
  facts: CallFacts;
  /** The input as the tool's schema makes it; set by the first step. */
  value: unknown;
  policies: Policies | null;
  /** Validates the input of an earlier call, for the policies. */
  validated: (past: AnsweredCall) => Validation | Promise<Validation> | undefined;
  context: CallContext;
  /** How long the tool may take to say whether a call needs approval. */
  limits: TaskLimits;
  /** Keeps the validated input until the tool runs. */
  keep: (value: unknown) => void;
};

/** A step of the check: the facts that settle the call, or null if the next step decides. */
type Step = (call: CheckedCall) => CallFacts | null | Promise<CallFacts | null>;

const steps: readonly Step[] = [validate, refuse, judge, approve];

/** Takes the steps until one settles the call (C-5): synchronously, unless user code returns a promise. */
export function settled(call: CheckedCall, from = 0): CallFacts | Promise<CallFacts> {
  const step = steps[from];
  return step === undefined ? call.facts : after(step(call), (facts) => facts ?? settled(call, from + 1));
}

function validate(call: CheckedCall): ReturnType<Step> {
  return after(call.tool.validate(call.input), (validation) => {
    if (!validation.valid) return { ...call.facts, input: 'invalid', detail: explained(call.input, validation) };
    call.value = validation.value;
    return null;
  });
}

/** Returns why an input is invalid. Nothing is guessed for tools: a text of JSON in place of an object is told of. */
function explained(input: JsonObject, { reasons, paths = [] }: Extract<Validation, { valid: false }>): string {
  const text = paths.find((path) => isObject(parsedWhole(valueAt(input, path))));
  return text === undefined ? reasons : `${reasons}. At ${text.join('.')}: send the object, not a string of it.`;
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null;

/** Settles the calls to Pawl's own tools that run nothing, and those that the session refuses in any case. */
function refuse({ tool, input, facts }: CheckedCall): CallFacts | null {
  if (tool.kind === 'progress') return { ...facts, detail: String(input.message ?? '') };
  if (tool.refusal !== undefined) return { ...facts, refusal: tool.refusal };
  return tool.kind === 'batch' ? facts : null;
}

/** Asks the policies. From here on, the validated input is what is approved and run. */
function judge({ tool, input, facts, value, policies, validated, context, keep }: CheckedCall): ReturnType<Step> {
  keep(value);
  const { callId, name } = facts;
  const asked = { callId, name, input: tool.takesText === true ? input : value };
  return after(policies?.judge(asked, validated, context.signal) ?? null, (denial) =>
    denial === null ? null : { ...facts, refusal: denial },
  );
}

function approve({ tool, value, facts, context, limits }: CheckedCall): ReturnType<Step> {
  return after(needsApproval(tool, value, context, limits), (needed) =>
    typeof needed === 'boolean'
      ? { ...facts, needsApproval: needed }
      : { ...facts, refusal: { slug: 'check_failed', reason: needed.reason } },
  );
}

/** Checks whether a call needs approval. If the check fails, the call is refused: the model cannot fix it. */
function needsApproval(
  tool: CatalogTool,
  input: unknown,
  context: CallContext,
  limits: TaskLimits,
): boolean | { reason: string } | Promise<boolean | { reason: string }> {
  const broken = (error: unknown) => ({
    reason: `Cannot tell whether the call needs approval: ${messageOf(error)}`,
  });
  try {
    const needed = tool.needsApproval?.(input, context) ?? false;
    if (!(needed instanceof Promise)) return needed;
    return inTime(limits, 'the check did not finish in time', () => needed).catch(broken);
  } catch (error) {
    return broken(error);
  }
}
