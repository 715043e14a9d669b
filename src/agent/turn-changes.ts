import { z } from 'zod';
import type { ContextWindow, Counters, JsonObject, Message, ToolChoice } from '../../machines/index.ts';
import { check } from '../input/check.ts';
import { type PawlError, unexpected } from '../input/errors.ts';
import { nonBlank, text } from '../input/shapes.ts';
import { lazily } from '../platform/lazily.ts';
import { builtInNames } from '../vocabulary/built-ins.ts';
import { type ModelSettings, settingsSchema } from '../vocabulary/settings.ts';

/** What `prepareTurn` receives about the next turn. */
export type TurnPreparation<Context = unknown> = {
  /** From 1. */
  turn: number;
  /** Only the report will be permitted (B-5). */
  isLastTurn: boolean;
  /** The conversation so far. */
  messages: readonly Message[];
  /** What the session was given as its `context`. */
  context: Context;
  /** The session's counters up to now. */
  counters: Counters;
  /** Aborts when the session is aborted, and after `limits.prepareTimeoutMs`. */
  signal: AbortSignal;
};

/** What one turn does differently (T-7). Whatever is left out stays as the session has it. */
export type TurnChanges = {
  /**
   * Names of the session's tools that the turn may call; built-in tools are always permitted. The other tools are still
   * offered, because the tool list leads the prefix that providers cache: a notice lists the permitted ones, and a call to
   * any other is answered with `tool_not_permitted` (B-5).
   */
  activeTools?: readonly string[];
  /** `planned` offers only `activeTools`, which invalidates the cached prefix. Default: all tools are offered. */
  offer?: 'planned';
  /**
   * `required`: the model must call a tool; `{ tool }`: this one. Does not hold on the last turn, nor where only the report is
   * offered (B-5b). Default: the model decides.
   */
  toolChoice?: 'auto' | 'required' | { tool: string };
  /** Instructions in place of the agent's. */
  instructions?: string;
  /** The models that may be tried, by target name (`provider:model`), in the order to try them. */
  models?: readonly string[];
  /** Settings in addition to the agent's, without `headers`. */
  settings?: Omit<ModelSettings, 'headers'>;
};

/**
 * Called before each turn. It runs again if the process dies meanwhile. An error, a late return or a name that the
 * session lacks ends the session with `turn_not_prepared`.
 */
export type PrepareTurn<Context = unknown> = {
  call(turn: TurnPreparation<Context>): TurnChanges | undefined | Promise<TurnChanges | undefined>;
}['call'];

const changesSchema = lazily(() =>
  z.strictObject({
    activeTools: z.array(nonBlank, { error: 'an array of tool names' }).optional(),
    offer: z.literal('planned', { error: 'planned' }).optional(),
    toolChoice: z
      .union([z.enum(['auto', 'required']), z.strictObject({ tool: nonBlank })], {
        error: "'auto', 'required' or { tool }",
      })
      .optional(),
    instructions: text.optional(),
    models: z
      .array(nonBlank, { error: 'an array of target names' })
      .min(1, { error: 'at least one target' })
      .optional(),
    settings: settingsSchema.omit({ headers: true }).optional(),
  } satisfies Record<keyof TurnChanges, z.ZodType>),
);

/** What a session has, for a turn to choose from. */
export type Choice = {
  tools: ReadonlySet<string>;
  /** Indices of targets, by name. */
  targets: ReadonlyMap<string, number>;
  window: ContextWindow;
};

export type CheckedChanges = {
  tools: string[] | null;
  /** Whether the requests offer these tools alone. */
  offersThese: boolean;
  targets: number[] | null;
  instructions: string | null;
  settings: JsonObject | null;
  toolChoice: ToolChoice | null;
};

/** Checks what `prepareTurn` returned. Throws `invalid_options` for anything that the session does not have. */
export function checkedChanges(returned: unknown, { tools, targets, window }: Choice): CheckedChanges {
  const { activeTools, offer, toolChoice, instructions, models, settings } = check(
    changesSchema(),
    returned ?? {},
    '',
    'invalid_options',
  );
  for (const [index, name] of (activeTools ?? []).entries())
    if (!tools.has(name)) throw notAmong(`activeTools[${index}]`, name, 'the tools of this turn', tools);
  const forced = typeof toolChoice === 'object' ? toolChoice.tool : null;
  const others = (activeTools ?? [...tools]).filter((name) => !builtInNames.includes(name));
  // With nothing but the report to call, forcing is refused by some providers, and by us if there is no report to call.
  const isPointless = toolChoice === 'required' && others.length === 0;
  if (forced !== null) {
    const permitted = [...tools].filter((name) => builtInNames.includes(name) || (activeTools?.includes(name) ?? true));
    if (!permitted.includes(forced)) throw notAmong('toolChoice.tool', forced, 'the tools of this turn', permitted);
  }
  const indices = models?.map((name, index) => {
    const target = targets.get(name);
    if (target === undefined) throw notAmong(`models[${index}]`, name, 'the models of this turn', targets.keys());
    return target;
  });
  const { maxOutputTokens } = settings ?? {};
  if (window.windowTokens !== null && maxOutputTokens !== undefined && maxOutputTokens > window.reserveTokens) {
    const most = `at most ${window.reserveTokens}, which the context guard keeps free for the reply`;
    throw unexpected('invalid_options', 'settings.maxOutputTokens', maxOutputTokens, most);
  }
  return {
    tools: activeTools ?? null,
    offersThese: offer === 'planned',
    targets: indices ?? null,
    instructions: instructions ?? null,
    settings: settings === undefined ? null : (JSON.parse(JSON.stringify(settings)) as JsonObject),
    toolChoice: toolChoice === 'auto' || isPointless ? null : (toolChoice ?? null),
  };
}

function notAmong(field: string, name: string, what: string, known: Iterable<string>): PawlError {
  const list = [...known].join(', ') || 'none';
  return unexpected('invalid_options', field, name, `one of ${what} (${list})`);
}
