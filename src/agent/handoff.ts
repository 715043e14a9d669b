import { z } from 'zod';
import { check } from '../input/check.ts';
import { PawlError } from '../input/errors.ts';
import { aFunction } from '../input/shapes.ts';
import type { SchemaFor } from '../schema/schema.ts';
import type { CatalogTool } from '../tools/catalog-tool.ts';
import { handoffTool } from '../tools/handoff-tool.ts';
import { type Agent, anAgent, type Handoff, isAgent } from './definition.ts';

const handoffSchema = z.strictObject({
  agent: anAgent,
  input: z.custom<SchemaFor<unknown>>().optional(),
  onHandoff: aFunction.optional(),
} satisfies Record<keyof Handoff, z.ZodType>);

/** Types `onHandoff` by `input`. Throws `invalid_agent` for other fields. */
export function handoff<Input>(given: Handoff<Input>): Handoff {
  check<unknown>(handoffSchema, given, '', 'invalid_agent');
  return given as Handoff;
}

/** Returns the agent of an entry of `handoffs`. */
export function handedAgent(entry: Agent | Handoff): Agent {
  return isHandoff(entry) ? entry.agent : entry;
}

/** Whether an entry of `handoffs` says more than its agent. */
function isHandoff(entry: unknown): entry is Handoff {
  return typeof entry === 'object' && entry !== null && 'agent' in entry && !isAgent(entry);
}

/** Returns the tool of an entry of `handoffs`. Throws for an entry that is not one, by its field. */
export function handoffToolOf(name: string, entry: Agent | Handoff, field: string): CatalogTool {
  if (!isHandoff(entry)) return handoffTool(name, entry.definition.description);
  check<unknown>(handoffSchema, entry, field, 'invalid_agent');
  const { agent, input, onHandoff } = entry;
  try {
    return { ...handoffTool(name, agent.definition.description, { input, onHandoff }), meaning: entry };
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    throw new PawlError(error.code, `\`${field}.input\`: ${error.message}`, { cause: error });
  }
}
