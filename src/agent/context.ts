import { expected, PawlError, reasonOf } from '../input/errors.ts';
import type { CheckAtOnce, Validation } from '../schema/schema.ts';
import type { Agent } from './definition.ts';
import { hasTool } from './handoffs.ts';

/**
 * Checks a session's context for its agent, those that it may hand over to, their tools and all sub-agents. A tool gets
 * the context as the schema of the agent that speaks makes it, so one that several have is checked for each. Throws
 * `invalid_options`.
 */
export function checkContext({ voices, tools, agents }: Agent, context: unknown): void {
  for (const voice of voices) {
    const { definition, checkContext: check } = voice;
    const own = contextOf({ name: definition.name, checkContext: check }, context);
    for (const tool of tools.values())
      if (tool.checkContext !== undefined && hasTool(voice, tool))
        checked(tool.checkContext, own, `context (for the tool ${tool.name})`);
  }
  for (const agent of Object.values(agents)) checkContext(agent, context);
}

/** Returns the context as the agent's schema makes it; without a schema, as it is. Throws `invalid_options`. */
export function contextOf(
  { name, checkContext: check }: Pick<Agent, 'name' | 'checkContext'>,
  context: unknown,
): unknown {
  return check === null ? context : checked(check, context, `context (for the agent ${name})`);
}

function checked(check: CheckAtOnce, context: unknown, field: string): unknown {
  let validation: Validation;
  try {
    validation = check(context);
  } catch (error) {
    throw new PawlError('invalid_options', `\`${field}\` cannot be checked: ${reasonOf(error)}.`, { cause: error });
  }
  if (validation.valid) return validation.value;
  throw new PawlError('invalid_options', `${expected(field, context, 'what its schema says')} ${validation.reasons}`);
}
