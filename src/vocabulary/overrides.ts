import { z } from 'zod';
import { nonBlank, text } from '../input/shapes.ts';
import type { Limits } from './limits.ts';

/** What a session may set for itself. It narrows what its agent allows, and never widens it. */
export type SessionOverrides = {
  /** Instructions in place of the agent's. */
  instructions?: string;
  /** Limits, none above the agent's; the bound is theirs. */
  limits?: Partial<Limits>;
  /** Some of the agent's models, by target name (`provider:model`), in order of preference. */
  models?: readonly string[];
  /** The tools that the model is shown, by name: the agent's own, its sub-agents and those of MCP servers. */
  tools?: readonly string[];
};

export const overridesShape = {
  instructions: text.optional(),
  limits: z.unknown().optional(),
  models: z.array(nonBlank, { error: 'an array of target names' }).min(1, { error: 'at least one target' }).optional(),
  tools: z.array(nonBlank, { error: 'an array of tool names' }).optional(),
} satisfies Record<keyof SessionOverrides, z.ZodType>;

/** Extracts the overrides from a session's options; null if it sets none. */
export function overridesIn({ instructions, limits, models, tools }: SessionOverrides): SessionOverrides | null {
  const given = {
    ...(instructions !== undefined && { instructions }),
    ...(limits !== undefined && { limits }),
    ...(models !== undefined && { models }),
    ...(tools !== undefined && { tools }),
  };
  return Object.keys(given).length === 0 ? null : given;
}
