import { z } from 'zod';
import { type Budget, repairConversation, requestBound, type SessionInput, userMessage } from '../../machines/index.ts';
import { type Agent, requireAgent } from '../agent/definition.ts';
import { checkPriced } from '../agent/unpriced.ts';
import { contextWindow } from '../context/context-guard.ts';
import { check } from '../input/check.ts';
import { PawlError, unexpected } from '../input/errors.ts';
import { aFunction, nonBlank, valuesByName } from '../input/shapes.ts';
import { aJournal } from '../journal/given.ts';
import { budgetShape } from '../journal/shared-budget.ts';
import { parseMessages } from '../model/messages.ts';
import { lazily } from '../platform/lazily.ts';
import { metadataShape } from '../vocabulary/metadata.ts';
import { overridesShape } from '../vocabulary/overrides.ts';
import { commonOptions, sharedOptions } from './common-options.ts';
import type { ResumeOptions, SessionBudget, SessionOptions } from './options.ts';

export const budgetSchema = z.strictObject({ ...budgetShape, wallClockMs: budgetShape.tokens });

/** Texts that are not well-formed become others on their way to a store, and the keys of a database are short. */
export const sessionIdShape = nonBlank.refine((id) => id.isWellFormed() && !id.includes('\0') && id.length <= 500, {
  error: 'a well-formed text of at most 500 characters that is not blank and has no NUL',
});

const optionsSchema = z.strictObject(
  {
    prompt: z.unknown().optional(),
    messages: z.unknown().optional(),
    ...overridesShape,
    budget: z.unknown().optional(),
    ...sharedOptions,
    context: z.unknown().optional(),
    metadata: metadataShape.optional(),
    sessionId: sessionIdShape.optional(),
    onDelivery: aFunction.optional(),
    journal: aJournal.optional(),
    ...commonOptions,
  } satisfies Record<keyof SessionOptions, z.ZodType>,
  { error: ({ code }) => (code === 'invalid_type' ? 'an object with `prompt` or `messages`' : undefined) },
);

export const modelRenames = valuesByName(nonBlank, 'an object of names of models, by their recorded names');

const resumeSchema = lazily(() =>
  z.strictObject({
    journal: aJournal,
    ...sharedOptions,
    sessionId: nonBlank,
    context: z.unknown().optional(),
    onDelivery: aFunction.optional(),
    renamedModels: modelRenames.optional(),
    ...commonOptions,
  } satisfies Record<keyof ResumeOptions, z.ZodType>),
);

/** Returns the options as they are now, for a session to be resumed. Throws as `checkedOptions` does. */
export function checkedResumeOptions(agent: unknown, options: unknown): ResumeOptions {
  requireAgent(agent);
  return check<unknown>(resumeSchema(), options, 'options', 'invalid_options') as ResumeOptions;
}

/**
 * Returns the options as they are now: what was checked is what runs, whatever becomes of the caller's object. Throws for
 * anything but an agent and for unknown options, so that no option is silently ignored.
 */
export function checkedOptions(agent: unknown, options: unknown): SessionOptions {
  requireAgent(agent);
  return check<unknown>(optionsSchema, options, '', 'invalid_options', 'options') as SessionOptions;
}

/** Returns the conversation that a session starts with, repaired where needed (C-6). */
export function startingConversation({ prompt, messages = [] }: Pick<SessionOptions, 'prompt' | 'messages'>) {
  if (!Array.isArray(messages)) {
    throw unexpected('invalid_messages', 'messages', messages, 'an array of messages');
  }
  if (prompt === undefined && messages.length === 0) {
    throw new PawlError('invalid_options', 'Pass `prompt`, or at least one message in `messages`.');
  }
  if (prompt !== undefined && (typeof prompt !== 'string' || prompt.trim() === '')) {
    throw unexpected('invalid_options', 'prompt', prompt, 'a string that is not blank');
  }
  const repaired = repairConversation(parseMessages(messages));
  const changed = Object.values(repaired.repairs).some((count) => count > 0);
  if (prompt !== undefined) repaired.messages.push(userMessage(prompt));
  if (repaired.messages.length === 0)
    throw new PawlError('invalid_messages', '`messages` must hold at least one message with content; got none.');
  return { messages: repaired.messages, repairs: changed ? repaired.repairs : null };
}

/** Builds the input of the machines from the agent and the budget. */
export function sessionInput(agent: Agent, budget: SessionBudget, at: number): SessionInput {
  const { limits, definition } = agent;
  const {
    requests = null,
    tokens = null,
    costUsd = null,
    wallClockMs,
  } = check(budgetSchema, budget, 'budget', 'invalid_budget');
  const targets = agent.targets.map(({ name }) => name);
  checkPriced(agent, 'budget', costUsd);
  const limit: Budget = {
    requests: treeLimit(agent, requests),
    tokens,
    costUsd,
    deadlineAt: wallClockMs === undefined ? null : at + wallClockMs,
  };
  return {
    bound: { maxTurns: limits.maxTurns, maxRetries: limits.maxRetries },
    maxToolCalls: limits.maxToolCallsPerTurn,
    targets,
    finish: definition.finish ?? 'report',
    budget: limit,
    window: contextWindow(limits, longestReply(agent)),
    ...windowsOf(agent),
    plansTurns: agent.voices.some((voice) => voice.name !== null || voice.definition.prepareTurn !== undefined),
    ...(agent.compaction !== null && { compactsAt: agent.compaction.at }),
    at,
  };
}

/** The context windows of the targets that have one of their own, by name; nothing if none has. */
function windowsOf({ targets }: Agent): Pick<SessionInput, 'windows'> {
  const own = targets.flatMap(({ name, contextWindow: tokens }) => (tokens === null ? [] : [[name, tokens] as const]));
  return own.length === 0 ? {} : { windows: Object.fromEntries(own) };
}

/** Returns the most tokens that any of a session's agents lets a reply have; undefined if none says. */
function longestReply({ voices }: Agent): number | undefined {
  const most = voices.flatMap(({ definition }) => definition.settings?.maxOutputTokens ?? []);
  return most.length === 0 ? undefined : Math.max(...most);
}

/** Returns the request limit for a session tree (B-7). Without sub-agents `maxTreeRequests` is ignored. */
function treeLimit({ limits, agents }: Agent, requests: number | null): number | null {
  if (Object.keys(agents).length === 0) return requests;
  return Math.min(requests ?? Number.POSITIVE_INFINITY, limits.maxTreeRequests ?? 4 * requestBound(limits));
}
