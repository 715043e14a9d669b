import { TerminalError } from '@restatedev/restate-sdk';
import { z } from 'zod';
import type { Json } from '../../machines/index.ts';
import { checkContext } from '../agent/context.ts';
import type { Agent } from '../agent/definition.ts';
import { narrowed } from '../agent/narrow.ts';
import { secretsOf } from '../agent/secrets.ts';
import { systemClock } from '../host/clock.ts';
import { check } from '../input/check.ts';
import { messageOf, PawlError } from '../input/errors.ts';
import type { SessionMessage } from '../journal/journal.ts';
import { depthProblem } from '../platform/plain-json.ts';
import { newHead } from '../session/head.ts';
import { sessionIdShape } from '../session/input.ts';
import type { SessionOptions } from '../session/options.ts';
import { type Lineage, root } from '../session/sub-agents/lineage.ts';
import { metadataShape } from '../vocabulary/metadata.ts';
import { overridesIn, overridesShape, type SessionOverrides } from '../vocabulary/overrides.ts';
import { tooLarge } from './payload.ts';

/** What starts a session: the body of `run`. It is stored, `context` included, so it is JSON. */
export type RestateRequest = Pick<SessionOptions, 'prompt' | 'messages' | 'budget' | 'context' | 'metadata'> &
  SessionOverrides & {
    agent: string;
    /** For a sub-agent: the tools that lead to it from the agent, each with the session that called it. */
    path?: readonly { tool: string; sessionId: string }[];
  };

const text = z.string({ error: 'a string' });

const requestSchema = z.strictObject({
  agent: z.string({ error: 'the name of an agent' }),
  ...overridesShape,
  prompt: z.unknown().optional(),
  messages: z.unknown().optional(),
  budget: z.unknown().optional(),
  context: z.unknown().optional(),
  metadata: metadataShape.optional(),
  path: z.array(z.strictObject({ tool: text, sessionId: text })).optional(),
} satisfies Record<keyof RestateRequest, z.ZodType>);

const textOrNull = z.string({ error: 'a string or null' }).nullable();

const messages = [
  z.strictObject({
    type: z.literal('session.steer'),
    text: text.trim().min(1, { error: 'a string that is not blank' }),
  }),
  z.strictObject({ type: z.literal('session.stop') }),
  z.strictObject({ type: z.literal('session.abort'), reason: text }),
  z.strictObject({
    type: z.literal('approve'),
    callId: text,
    approved: z.boolean({ error: 'true or false' }),
    reason: textOrNull,
    sessionId: textOrNull,
  }),
  z.strictObject({
    type: z.literal('answer'),
    callId: text,
    // It came as JSON.
    output: z.custom<Json>((output) => output !== undefined, { error: 'a JSON value' }),
    isError: z.boolean({ error: 'true or false' }),
    sessionId: textOrNull,
  }),
] as const;
const types = messages.map(({ shape }) => shape.type.value).join(', ');
const messageSchema = z.discriminatedUnion('type', messages, { error: `one of: ${types}` });

export function checkMessage(message: unknown): SessionMessage {
  checkDepth(message);
  return refused(() => check(messageSchema, message, 'message', 'invalid_options'));
}

/** Returns the agent that a request names, and its place among the sub-agents. */
export function requestedAgent(
  agents: ReadonlyMap<string, Agent>,
  request: RestateRequest,
): { agent: Agent; lineage: Lineage } {
  checkDepth(request);
  const { agent: name, path = [] } = refused(() => check(requestSchema, request, 'request', 'invalid_options'));
  const whole = agents.get(name);
  let agent = whole && refused(() => narrowed(whole, overridesIn(request)));
  let lineage: Lineage = root;
  for (const { tool, sessionId } of path) {
    if (agent === undefined) break;
    lineage = {
      parentSessionId: sessionId,
      depth: lineage.depth + 1,
      maxDepth: Math.min(lineage.maxDepth, agent.limits.maxDepth),
      secrets: secretsOf(agent.definition, lineage.secrets),
      // They run elsewhere.
      resultAbove: () => null,
    };
    agent = Object.hasOwn(agent.agents, tool) ? agent.agents[tool] : undefined;
  }
  if (agent !== undefined) return { agent, lineage };
  const wanted = [name, ...path.map(({ tool }) => tool)].join('/');
  throw new TerminalError(`Unknown agent "${wanted}". Agents: ${[...agents.keys()].join(', ')}.`, {
    errorCode: 404,
  });
}

/** Returns what a session begins with. Bad input ends the invocation. */
export function begunWith(agent: Agent, sessionId: string, request: RestateRequest, mostBytes: number) {
  // The id of a sub-agent's session is that of the session above with its call's.
  if (request.path === undefined) refused(() => check(sessionIdShape, sessionId, 'sessionId', 'invalid_options'));
  // The check of a context may change it, but a step may run again.
  const { prompt, messages, budget, context, metadata } = refused(() => structuredClone(request));
  refused(() => checkContext(agent, context));
  const options = {
    clock: systemClock,
    ...(prompt !== undefined && { prompt }),
    ...(messages !== undefined && { messages }),
    ...(budget !== undefined && { budget }),
    ...(metadata !== undefined && { metadata }),
  };
  const begun = refused(() => newHead(agent, sessionId, options));
  const why = tooLarge(begun, mostBytes);
  if (why !== null) throw new TerminalError(`The input ${why}.`, { errorCode: 413 });
  return begun;
}

/** What the engine keeps is read and written by functions that call themselves for each level. */
function checkDepth(given: unknown): void {
  const why = depthProblem(given);
  if (why !== null) throw new TerminalError(`The input cannot be read: ${why}.`, { errorCode: 400 });
}

/** Turns an error for bad input into one that ends the invocation. The engine retries any other error. */
function refused<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    throw new TerminalError(messageOf(error), { errorCode: 400 });
  }
}
