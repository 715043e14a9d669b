import { z } from 'zod';
import { machinesVersion, type Repairs, type SessionInput } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { unpricedIn } from '../agent/unpriced.ts';
import { resultBytesIn } from '../context/context-guard.ts';
import { check } from '../input/check.ts';
import { messageOf, PawlError } from '../input/errors.ts';
import { journalFormat, type SessionHead } from '../journal/journal.ts';
import { lazily } from '../platform/lazily.ts';
import { overridesIn } from '../vocabulary/overrides.ts';
import { sessionInput, startingConversation } from './input.ts';
import type { SessionOptions } from './options.ts';

/** What a head is made of: the options that are written down, and what is known of the session besides. */
type HeadOptions = Omit<SessionOptions, 'sharedBudget' | 'clock'> &
  Required<Pick<SessionOptions, 'clock'>> &
  Pick<SessionHead, 'chat' | 'sharedBudget'>;

/** Returns what a new session begins with, and what was repaired in its messages. */
export function newHead(
  agent: Agent,
  sessionId: string,
  options: HeadOptions,
  call: SessionHead['call'] = null,
): { head: SessionHead; repairs: Repairs | null } {
  const { messages, repairs } = startingConversation(options);
  const { sharedBudget } = options;
  const own = sessionInput(agent, options.budget ?? {}, options.clock.now());
  const input = sharedBudget === undefined ? own : { ...own, sharesBudget: true };
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
    ...(options.chat !== undefined && { chat: options.chat }),
    ...(sharedBudget !== undefined && { sharedBudget }),
  };
  return { head, repairs };
}

function definedBy({ format, tools, agents, mcpServers }: Agent): Pick<SessionHead, 'report' | 'tools' | 'servers'> {
  return { report: format.name, tools: [...tools.keys(), ...Object.keys(agents)], servers: Object.keys(mcpServers) };
}

/** Throws `machines_changed` for a session whose entries have another format, which this version cannot read (D-6). */
export function checkFormat({ format, sessionId }: Pick<SessionHead, 'format' | 'sessionId'>): void {
  if (format === journalFormat) return;
  const which = format > journalFormat ? 'a later version' : 'an earlier version';
  throw new PawlError(
    'machines_changed',
    `The session ${sessionId} was recorded by ${which} of Pawl: its entries have the format ${format}, and this version reads the format ${journalFormat}.`,
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
  checkFormat(head);
  try {
    check(headSchema(), head, 'head', 'invalid_journal');
  } catch (error) {
    const message = `The journal of the session ${head.sessionId} cannot be used: ${messageOf(error)}`;
    throw new PawlError('invalid_journal', message, { cause: error });
  }
}

/**
 * Throws `agent_changed`, and names every difference, unless the past of a recorded session is true of the agent (D-6). The
 * bound, the limits and the context window of a session stay those that it began with.
 */
export function checkAgent(agent: Agent, head: SessionHead): void {
  const { report, tools, servers } = definedBy(agent);
  const { targets, finish, plansTurns } = sessionInput(agent, {}, head.input.at);
  const was = head.input;
  const differences = [
    ...differs('name', agent.name, head.agent),
    ...differs('report', report, head.report),
    ...differs('finish', finish, was.finish),
    // Turns of a session that is not planned would have what `prepareTurn` takes away.
    ...(plansTurns && !was.plansTurns ? ['prepareTurn or handoffs: had none, has some'] : []),
    ...missingNames('model', was.targets, targets),
    ...missingNames('tool', head.tools, tools),
    ...unbudgeted(agent, was.budget),
    ...unpriced(agent, was.budget),
    ...missingNames('MCP server', head.servers, servers),
  ];
  if (differences.length === 0) return;
  const message = `The agent ${agent.name} is not the one that began the session ${head.sessionId}: ${differences.join('; ')}.`;
  throw new PawlError('agent_changed', message);
}

function differs(field: string, is: string, was: string): string[] {
  return is === was ? [] : [`${field}: was ${JSON.stringify(was)}, is ${JSON.stringify(is)}`];
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
