import { z } from 'zod';
import { machinesVersion, type Repairs, type SessionInput } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { resultBytesIn } from '../context/context-guard.ts';
import { check } from '../input/check.ts';
import { messageOf, PawlError } from '../input/errors.ts';
import { journalFormat, type SessionHead } from '../journal/journal.ts';
import { lazily } from '../platform/lazily.ts';
import { overridesIn } from '../vocabulary/overrides.ts';
import { sessionInput, startingConversation, unpricedIn } from './input.ts';
import type { SessionOptions } from './options.ts';

/** Returns what a new session begins with, and what was repaired in its messages. */
export function newHead(
  agent: Agent,
  sessionId: string,
  options: SessionOptions & Required<Pick<SessionOptions, 'clock'>>,
  call: SessionHead['call'] = null,
): { head: SessionHead; repairs: Repairs | null } {
  const { messages, repairs } = startingConversation(options);
  const input = sessionInput(agent, options.budget ?? {}, options.clock.now());
  const head = {
    format: journalFormat,
    machines: machinesVersion,
    sessionId,
    agent: agent.name,
    call,
    input,
    prompt: options.prompt ?? null,
    messages,
    overrides: overridesIn(options),
    metadata: Object.freeze({ ...options.metadata }),
    ...definedBy(agent),
    resultBytes: resultBytesIn(input.window, agent.limits),
  };
  return { head, repairs };
}

function definedBy({ format, tools, agents, mcpServers }: Agent): Pick<SessionHead, 'report' | 'tools' | 'servers'> {
  return { report: format.name, tools: [...tools.keys(), ...Object.keys(agents)], servers: Object.keys(mcpServers) };
}

/** Throws `machines_changed` unless these machines recorded the session (D-6). */
export function checkMachines({
  format,
  machines,
  sessionId,
}: Pick<SessionHead, 'format' | 'machines' | 'sessionId'>): void {
  if (format === journalFormat && machines === machinesVersion) return;
  const recorded = `format ${format}, machines ${machines}`;
  throw new PawlError(
    'machines_changed',
    `The session ${sessionId} was recorded by another version of Pawl (${recorded}; this one has format ${journalFormat}, machines ${machinesVersion}). Finish it with that version.`,
  );
}

/** The fields of a head that a resume or a fork reads. */
const headSchema = lazily(() => {
  const any = z.looseObject({});
  const bound = z.looseObject({ maxTurns: z.number(), maxRetries: z.number() });
  return z.looseObject({
    sessionId: z.string(),
    agent: z.string(),
    call: any.nullable(),
    input: z.looseObject({ at: z.number(), bound, budget: any, targets: z.array(z.string()) }),
    prompt: z.string().nullable(),
    messages: z.array(any),
    overrides: any.nullable(),
    metadata: any,
    report: z.string(),
    tools: z.array(z.string()),
    servers: z.array(z.string()),
    resultBytes: z.number(),
  });
});

/** Throws `machines_changed` (D-6), or `invalid_journal` with the fields that are missing or malformed. */
export function checkHead(head: SessionHead): void {
  checkMachines(head);
  try {
    check(headSchema(), head, 'head', 'invalid_journal');
  } catch (error) {
    const message = `The journal of the session ${head.sessionId} cannot be used: ${messageOf(error)}`;
    throw new PawlError('invalid_journal', message, { cause: error });
  }
}

/** Throws `agent_changed`, and names every difference, unless the agent can go on with a recorded session. */
export function checkAgent(agent: Agent, head: SessionHead): void {
  const { report, tools, servers } = definedBy(agent);
  const now: SessionInput = { ...sessionInput(agent, {}, head.input.at), budget: head.input.budget };
  const fields = (input: SessionInput): [string, unknown][] => [
    ['models', input.targets],
    ['limits.maxTurns', input.bound.maxTurns],
    ['limits.maxRetries', input.bound.maxRetries],
    ['limits.maxToolCallsPerTurn', input.maxToolCalls],
    ['finish', input.finish],
    ['the context window', input.window],
    ['the context windows of models', input.windows],
    ['prepareTurn or handoffs', input.plansTurns],
  ];
  const own = [
    ['name', agent.name, head.agent],
    ['report', report, head.report],
  ].filter(([, is, was]) => is !== was);
  const before = new Map(fields(head.input));
  const differences = [
    ...own.map(([field, is, was]) => differs(field, is, was)),
    ...fields(now).flatMap(([field, is]) =>
      JSON.stringify(is) === JSON.stringify(before.get(field)) ? [] : [differs(field, is, before.get(field))],
    ),
    ...missingNames('tool', head.tools, tools),
    ...unbudgeted(agent, now.budget),
    ...unpriced(agent, now.budget),
    ...missingNames('MCP server', head.servers, servers),
  ];
  if (differences.length === 0) return;
  const message = `The agent ${agent.name} is not the one that began the session ${head.sessionId}: ${differences.join('; ')}.`;
  throw new PawlError('agent_changed', message);
}

function differs(field: string | undefined, is: unknown, was: unknown): string {
  return `${field}: was ${JSON.stringify(was)}, is ${JSON.stringify(is)}`;
}

/** The request budget of a tree is part of what a session began with: without one, sub-agents would be unbounded (B-7). */
function unbudgeted({ agents }: Agent, { requests }: SessionInput['budget']): string[] {
  if (requests !== null || Object.keys(agents).length === 0) return [];
  return [`the sub-agents: was none, is ${JSON.stringify(Object.keys(agents))}`];
}

function unpriced(agent: Agent, { costUsd }: SessionInput['budget']): string[] {
  const found = costUsd === null ? [] : unpricedIn(agent);
  return found.map(
    (one) => `the price of ${one.model} is missing${one.agent === agent.name ? '' : ` in the agent ${one.agent}`}`,
  );
}

function missingNames(kind: string, before: readonly string[], now: readonly string[]): string[] {
  return before.filter((name) => !now.includes(name)).map((name) => `the ${kind} ${name} is missing`);
}
