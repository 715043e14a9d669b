import { expected, PawlError, reasonOf } from '../errors.ts';
import type { CheckAtOnce, Validation } from '../schema/schema.ts';
import type { Agent } from './definition.ts';

/** Checks a session's context for its agent, its tools and all sub-agents. Throws `invalid_options`. */
export function checkContext(agent: Agent, context: unknown): void {
  const own = contextOf(agent, context);
  for (const { checkContext: check, name } of agent.tools.values())
    if (check !== undefined) checked(check, own, `context (for the tool ${name})`);
  const { agents, definition } = agent;
  for (const other of [...Object.values(agents), ...Object.values(definition.handoffs ?? {})])
    checkContext(other, context);
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
