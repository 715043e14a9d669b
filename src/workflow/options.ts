import { z } from 'zod';
import type { WorkflowFact, WorkflowLimits } from '../../machines/index.ts';
import { checkContext } from '../agent/context.ts';
import { type Agent, isAgent } from '../agent/definition.ts';
import type { Clock } from '../host/clock.ts';
import { check } from '../input/check.ts';
import { messageOf, PawlError, unexpected } from '../input/errors.ts';
import { aFunction, count } from '../input/shapes.ts';
import { aJournal } from '../journal/given.ts';
import type { Journal } from '../journal/journal.ts';
import type { EventListener } from '../observe/events.ts';
import type { LoggerOption } from '../observe/log/logger.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { commonOptions } from '../session/common-options.ts';
import { budgetSchema } from '../session/input.ts';
import type { SessionBudget, SessionOptions } from '../session/options.ts';
import type { ApprovalDecision, ApprovalQuestion } from './run/agents.ts';
import type { WorkflowAgents } from './run/parts.ts';

/** A fact of a run, with the run's name and the time. */
export type WorkflowEvent = WorkflowFact & { run: string; at: number };

/** Limits of a run; `maxTries`: the runs that may fail at an item before it is left to a person. */
export type RunLimits = WorkflowLimits & { maxTries: number };

export type WorkflowOptions = {
  /** The folder of the backlog, or of a project with one below it. */
  backlog: string;
  agents: WorkflowAgents;
  /**
   * Default: ends after 3 failures in a row, works on all items, and tries an unavailable agent 3 times. After `maxTries` (2)
   * runs that failed at an item, it is left to a person. With `concurrency` above 1, up to that many items are in
   * progress at once, each in its own git work tree; `process` and `test` must then be `{ name, load }` or functions.
   */
  limits?: Partial<RunLimits>;
  /**
   * The budget that all sessions of the run share. Once it is spent, the run takes no further item. A run that continues
   * after a crash starts with a full budget. Default: none.
   */
  budget?: SessionBudget;
  /** Ends the run: the running sessions are aborted, their items stay open, and the report is written. */
  signal?: AbortSignal;
  /** The logger of the run and its sessions; default: pino at level warn on stderr. */
  logger?: LoggerOption;
  onEvent?: (event: WorkflowEvent) => unknown;
  /** Called with the events of every session of the run. */
  onSessionEvent?: EventListener;
  /** Decides on tool calls that need approval. Default: a run is unattended, so they are denied. */
  approve?: (question: ApprovalQuestion) => ApprovalDecision | Promise<ApprovalDecision>;
  /** Spans and metrics of the sessions, such as `openTelemetry()` of `pawl/otel`. */
  telemetry?: Telemetry;
  /**
   * Where the run and its sessions are written down, to be looked at, such as that of an `inspector()`; `run`, `role` and
   * `item` are in their metadata. A run that dies continues from its backlog, not from here. Default: nowhere.
   */
  journal?: Journal;
  /** An XState inspection observer for the run and its sessions. */
  inspect?: NonNullable<SessionOptions['inspect']>;
  /** The clock, for tests; default: the system's. */
  clock?: Clock;
  /** Returns a number in [0, 1) for the jitter of the backoff, for tests; default: `Math.random`. */
  random?: () => number;
};

const limitsSchema = z.strictObject({
  maxConsecutiveFailures: count.default(3),
  maxItems: count.nullable().default(null),
  maxAgentTries: count.default(3),
  maxTries: count.default(2),
  concurrency: count.default(1),
});
const optionsSchema = z.strictObject({
  backlog: z.unknown().optional(),
  agents: z.strictObject(
    {
      scan: z.unknown().optional(),
      process: z.unknown().optional(),
      test: z.unknown().optional(),
      retrospective: z.unknown().optional(),
      summary: z.unknown().optional(),
    },
    { error: 'an object with `process`' },
  ),
  limits: z.unknown().optional(),
  budget: z.unknown().optional(),
  onSessionEvent: aFunction.optional(),
  approve: aFunction.optional(),
  journal: aJournal.optional(),
  ...commonOptions,
});

/** Checks the options of a run, and returns its limits. Throws `invalid_workflow`. */
export function checkedLimits(options: WorkflowOptions): RunLimits {
  check(optionsSchema, options, '', 'invalid_workflow', 'options');
  const limits = check(limitsSchema, options.limits ?? {}, 'limits', 'invalid_workflow');
  check(budgetSchema, options.budget ?? {}, 'budget', 'invalid_workflow');
  checkAgents(options.agents, limits);
  return limits;
}

function checkAgents(agents: WorkflowAgents, { concurrency }: RunLimits): void {
  for (const [role, agent] of Object.entries(agents)) {
    if (agent === undefined && role !== 'process') continue;
    const isNamed = typeof agent === 'object' && agent !== null && 'load' in agent && typeof agent.load === 'function';
    if (!(typeof agent === 'function' || isAgent(agent) || isNamed)) throw wrongAgent(role, agent);
    if (isAgent(agent)) checkNeedsNoContext(role, agent);
    // An agent's tools are bound to one folder.
    if (isAgent(agent) && concurrency > 1 && (role === 'process' || role === 'test')) throw fixedAgent(role, agent);
  }
  if (agents.process === undefined) throw wrongAgent('process', undefined);
}

/** A run gives its agents no `context`. */
function checkNeedsNoContext(role: string, agent: Agent): void {
  try {
    checkContext(agent, undefined);
  } catch (error) {
    const reason = `A run gives its agents no \`context\`, and \`agents.${role}\` needs one: ${messageOf(error)}`;
    throw new PawlError('invalid_workflow', reason, { cause: error });
  }
}

function fixedAgent(role: string, agent: unknown): PawlError {
  const wanted = '{ name, load } or a function when `limits.concurrency` is above 1';
  return unexpected('invalid_workflow', `agents.${role}`, agent, wanted);
}

function wrongAgent(role: string, agent: unknown): PawlError {
  return unexpected(
    'invalid_workflow',
    `agents.${role}`,
    agent,
    'an agent made by defineAgent, { name, load } or a function',
  );
}
