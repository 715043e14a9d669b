import { z } from 'zod';
import {
  type Budget,
  type Counters,
  repairConversation,
  requestBound,
  type SessionInput,
  userMessage,
} from '../machines/index.ts';
import type { Agent } from './agent-definition.ts';
import { check } from './check.ts';
import { PawlError, shown } from './errors.ts';
import { parseMessages } from './model/messages.ts';
import { aFunction, commonOptions } from './option-schemas.ts';
import type { SessionBudget, SessionOptions } from './session.ts';

const defaultReserveTokens = 4_096;

const least = 'a number above 0 is allowed';
const budgetSchema = z.strictObject({
  requests: z
    .int({ error: 'an integer of at least 1 is allowed' })
    .min(1, { error: 'an integer of at least 1 is allowed' })
    .optional(),
  tokens: z.number({ error: least }).positive({ error: least }).optional(),
  costUsd: z.number({ error: least }).positive({ error: least }).optional(),
  wallClockMs: z.number({ error: least }).positive({ error: least }).optional(),
});

const sessionId = 'a text that is not blank is allowed';
const optionsSchema = z.strictObject({
  prompt: z.unknown().optional(),
  messages: z.unknown().optional(),
  budget: z.unknown().optional(),
  sessionId: z.string({ error: sessionId }).regex(/\S/, { error: sessionId }).optional(),
  onDelivery: aFunction.optional(),
  ...commonOptions,
} satisfies Record<keyof SessionOptions, z.ZodType>);

export function isAgent(agent: unknown): agent is Agent {
  return typeof agent === 'object' && agent !== null && 'targets' in agent && 'definition' in agent;
}

/** Refuses what is no agent, and options that are not known: nothing is accepted and ignored. */
export function checkOptions(agent: unknown, options: unknown): void {
  if (!isAgent(agent)) {
    throw new PawlError('invalid_options', `the agent is ${shown(agent)}: one made by defineAgent is allowed.`);
  }
  if (typeof options !== 'object' || options === null) {
    throw new PawlError(
      'invalid_options',
      `the options are ${shown(options)}: an object with prompt or messages is needed.`,
    );
  }
  check(optionsSchema, options, '', 'invalid_options');
}

/** What a budget leaves for a sub-agent, beside its requests: a little of each at least, so that it can report. */
export function budgetLeft(
  { tokens, costUsd, deadlineAt }: Budget,
  spent: Counters['tree'],
  at: number,
): Omit<SessionBudget, 'requests'> {
  return {
    ...(tokens !== null && { tokens: Math.max(1, tokens - spent.tokens.input - spent.tokens.output) }),
    ...(costUsd !== null && { costUsd: Math.max(Number.EPSILON, costUsd - (spent.costUsd ?? 0)) }),
    ...(deadlineAt !== null && { wallClockMs: Math.max(1, deadlineAt - at) }),
  };
}

/** The conversation that a session starts with, put right where needed (C-6). */
export function inputMessages({ prompt, messages = [] }: SessionOptions) {
  if (!Array.isArray(messages)) {
    throw new PawlError('invalid_messages', `messages is ${shown(messages)}: an array of messages is allowed.`);
  }
  if (prompt === undefined && messages.length === 0) {
    throw new PawlError('invalid_options', 'prompt is undefined and messages is empty: one of them is needed.');
  }
  if (prompt !== undefined && (typeof prompt !== 'string' || prompt.trim() === '')) {
    throw new PawlError('invalid_options', `prompt is ${shown(prompt)}: a text that is not blank is allowed.`);
  }
  const repaired = repairConversation(parseMessages(messages));
  const changed = Object.values(repaired.repairs).some((count) => count > 0);
  if (prompt !== undefined) repaired.messages.push(userMessage(prompt));
  return { messages: repaired.messages, repairs: changed ? repaired.repairs : null };
}

/** What the machines are told of the agent and the budget. */
export function sessionInput(agent: Agent, budget: SessionBudget, at: number): SessionInput {
  const { limits, definition } = agent;
  const {
    requests = null,
    tokens = null,
    costUsd = null,
    wallClockMs,
  } = check(budgetSchema, budget, 'budget', 'invalid_budget');
  const targets = agent.targets.map(({ name }) => name);
  if (costUsd !== null) {
    const unpriced = targets.find((name) => definition.pricing?.[name] === undefined);
    if (unpriced !== undefined) {
      throw new PawlError(
        'invalid_budget',
        `budget.costUsd is ${costUsd}, and ${unpriced} has no price: pricing is needed for every model of the agent.`,
      );
    }
  }
  const limit: Budget = {
    requests: treeLimit(agent, requests),
    tokens,
    costUsd,
    deadlineAt: wallClockMs === undefined ? null : at + wallClockMs,
  };
  const windowTokens = limits.contextWindow;
  const reserve = definition.settings?.maxOutputTokens ?? defaultReserveTokens;
  return {
    bound: { maxTurns: limits.maxTurns, maxRetries: limits.maxRetries },
    maxToolCalls: limits.maxToolCallsPerTurn,
    targets,
    finish: definition.finish ?? 'report',
    budget: limit,
    window: {
      windowTokens,
      reserveTokens: windowTokens === null ? 0 : Math.min(reserve, Math.floor(windowTokens / 4)),
    },
    at,
  };
}

/** Requests of a session and all below it (B-7); of one without sub-agents the bound alone holds. */
function treeLimit({ limits, definition }: Agent, requests: number | null): number | null {
  if (Object.keys(definition.agents ?? {}).length === 0) return requests;
  return Math.min(requests ?? Number.POSITIVE_INFINITY, limits.maxTreeRequests ?? 4 * requestBound(limits));
}
