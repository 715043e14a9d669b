import { z } from 'zod';
import { type Budget, repairConversation, type SessionInput, userMessage } from '../machines/index.ts';
import { type Agent, check } from './define-agent.ts';
import { PawlError, shown } from './errors.ts';
import { parseMessages } from './model/messages.ts';
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

/** The conversation that a session starts with, put right where needed (C-6). */
export function inputMessages({ prompt, messages = [] }: SessionOptions) {
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
  const limit: Budget = { requests, tokens, costUsd, deadlineAt: wallClockMs === undefined ? null : at + wallClockMs };
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
