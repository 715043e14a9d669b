import { createActor, type InspectionEvent } from 'xstate';
import { z } from 'zod';
import {
  type Delivery,
  type WorkflowAbort,
  type WorkflowFact,
  type WorkflowLimits,
  type WorkflowOutput,
  workflowMachine,
} from '../../../machines/index.ts';
import { check } from '../../agent/check.ts';
import { isAgent } from '../../agent/definition.ts';
import { redact } from '../../agent/redact.ts';
import { aFunction, count } from '../../agent/shapes.ts';
import { expected, messageOf, PawlError } from '../../errors.ts';
import { type Clock, systemClock } from '../../host/clock.ts';
import { memoryDriver } from '../../host/memory.ts';
import { type MachineOwner, RunningMachine } from '../../host/run-machine.ts';
import type { Journal } from '../../journal/journal.ts';
import type { EventListener } from '../../observe/events.ts';
import { type Logger, type LoggerOption, linesWritten, loggerOf } from '../../observe/log/logger.ts';
import type { Telemetry } from '../../observe/telemetry.ts';
import { commonOptions } from '../../session/common-options.ts';
import { aJournal } from '../../session/input.ts';
import type { SessionResult } from '../../session/session.ts';
import { backlogFolder } from '../backlog/backlog.ts';
import { lockRun } from '../backlog/lock.ts';
import { timestamp, writeState } from '../backlog/state-file.ts';
import type { ApprovalDecision, ApprovalQuestion } from './agents.ts';
import { RunEffects, type WorkflowAgents } from './effects.ts';
import type { RunSpending } from './report.ts';
import { RunJournal } from './run-journal.ts';
import { logFact } from './run-log.ts';

/** A fact of a run, with the run's name and the time. */
export type WorkflowEvent = WorkflowFact & { run: string; at: number };

export type WorkflowOptions = {
  /** The folder of the backlog. */
  backlog: string;
  agents: WorkflowAgents;
  /** Default: ends after 3 failures in a row, works on all items, and tries an unavailable agent 3 times. */
  limits?: Partial<WorkflowLimits>;
  /** Ends the run: the current session is aborted, its item stays open, and the report is written. */
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
  inspect?: (event: InspectionEvent) => void;
  /** The clock, for tests; default: the system's. */
  clock?: Clock;
  /** Returns a number in [0, 1) for the jitter of the backoff, for tests; default: `Math.random`. */
  random?: () => number;
};

export type WorkflowResult = Omit<WorkflowOutput, 'state'> & {
  /** The name of the run's folder below `agent_runs`. */
  run: string;
  spending: RunSpending;
  /** The two documents of the run. They are also in its folder, unless `problems` lists a failed write. */
  retrospective: string;
  report: string;
};

const limitsSchema = z.strictObject({
  maxConsecutiveFailures: count.default(3),
  maxItems: count.nullable().default(null),
  maxAgentTries: count.default(3),
});
const optionsSchema = z.strictObject({
  backlog: z.unknown(),
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
  onSessionEvent: aFunction.optional(),
  approve: aFunction.optional(),
  journal: aJournal.optional(),
  ...commonOptions,
});

/**
 * Works through the open items of a backlog one by one. If the run ends early, files the reason as a work item (W-1 to
 * W-4). Continues a run that died. Rejects with `PawlError` before anything runs: for invalid options, and with
 * `backlog_locked` while another run is active. Later failures are in the result.
 */
export async function runWorkflow(options: WorkflowOptions): Promise<WorkflowResult> {
  check(optionsSchema, options, '', 'invalid_workflow');
  const limits = check(limitsSchema, options.limits ?? {}, 'limits', 'invalid_workflow');
  checkAgents(options.agents);
  const backlog = backlogFolder(options.backlog);
  const lock = await lockRun(backlog);
  try {
    return await new RunningWorkflow(backlog, limits, options).result;
  } finally {
    lock.release();
  }
}

function checkAgents(agents: WorkflowAgents): void {
  for (const [role, agent] of Object.entries(agents)) {
    if (agent === undefined && role !== 'process') continue;
    const isNamed = typeof agent === 'object' && agent !== null && 'load' in agent && typeof agent.load === 'function';
    if (typeof agent === 'function' || isAgent(agent) || isNamed) continue;
    throw wrongAgent(role, agent);
  }
  if (agents.process === undefined) throw wrongAgent('process', undefined);
}

function wrongAgent(role: string, agent: unknown): PawlError {
  return new PawlError(
    'invalid_workflow',
    expected(`agents.${role}`, agent, 'an agent made by defineAgent, { name, load } or a function'),
  );
}

const nobodyApproves = () => ({ approved: false, reason: 'this run is unattended' });

class RunningWorkflow implements MachineOwner<WorkflowAbort, WorkflowFact> {
  readonly result: Promise<WorkflowResult>;
  private readonly backlog: string;
  private readonly options: WorkflowOptions;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly effects: RunEffects;
  private readonly spending: RunSpending = { sessions: 0, requests: 0, inputTokens: 0, outputTokens: 0 };
  private run = '';
  private readonly journal: RunJournal | null;
  private observerFailed = false;

  constructor(backlog: string, limits: WorkflowLimits, options: WorkflowOptions) {
    const { clock = systemClock, agents, logger, random, inspect } = options;
    const aborting = new AbortController();
    const signal = AbortSignal.any([aborting.signal, ...(options.signal === undefined ? [] : [options.signal])]);
    this.backlog = backlog;
    this.options = options;
    this.clock = clock;
    this.logger = loggerOf(logger);
    this.effects = new RunEffects({
      backlog,
      agents,
      clock,
      spending: this.spending,
      sessions: {
        signal,
        logger,
        onSessionEvent: options.onSessionEvent,
        approve: options.approve ?? nobodyApproves,
        onResult: (result) => this.spend(result),
        options: {
          clock,
          ...(random !== undefined && { random }),
          ...(inspect !== undefined && { inspect }),
          ...(options.telemetry !== undefined && { telemetry: options.telemetry }),
          ...(options.journal !== undefined && { journal: options.journal }),
        },
      },
    });
    const input = { run: timestamp(new Date()), limits, tests: agents.test !== undefined };
    this.journal =
      options.journal === undefined
        ? null
        : new RunJournal(options.journal, input, clock.now(), {
            abort: (reason) => aborting.abort(reason),
            failed: (error) => this.observerBroke('journal', error),
          });
    const machine = new RunningMachine<WorkflowAbort, WorkflowFact, WorkflowOutput>({
      actor: (settings) => createActor(workflowMachine, { input, ...settings }),
      perform: this.effects.perform,
      driver: memoryDriver,
      clock,
      random: random ?? Math.random,
      signal,
      abortCommand: (reason) => ({ type: 'workflow.abort', reason: messageOf(reason) }),
      inspect,
      owner: this,
    });
    this.result = machine.end.then(async (end) => {
      // The machine itself failed, which is a defect. The next start continues from the state file.
      if ('defect' in end) {
        await this.journal?.end('failed');
        throw end.defect;
      }
      const result = this.end(end.output);
      await this.journal?.end(endedAs(result));
      await linesWritten().catch((error) => this.observerBroke('logger', error));
      return result;
    });
    machine.start();
    machine.listen();
  }

  take(fact: WorkflowFact): void {
    if (fact.type === 'workflow.started' || fact.type === 'workflow.continued') this.run = fact.run;
    const { run } = this;
    this.journal?.take(fact);
    this.observe('logger', () => logFact(this.logger, run, fact));
    this.observe('onEvent', () => this.options.onEvent?.({ ...fact, run, at: this.clock.now() }));
  }

  delivering(delivery: Delivery<WorkflowAbort>): void {
    this.journal?.delivering(delivery);
  }

  tooLate(): void {}

  late(): void {}

  describeDefect(error: unknown): string {
    return redact(messageOf(error));
  }

  userCodeFailed(name: string, error: unknown): void {
    this.observerBroke(name, error);
  }

  /** Calls an observer. The first error of an observer is logged; errors never affect the run. */
  private observe(name: string, tell: () => unknown): void {
    try {
      const told: unknown = tell();
      if (told instanceof Promise) told.catch((error) => this.observerBroke(name, error));
    } catch (error) {
      this.observerBroke(name, error);
    }
  }

  private observerBroke(name: string, error: unknown): void {
    if (this.observerFailed) return;
    this.observerFailed = true;
    const line = { event: 'observer.failed', name, message: messageOf(error) };
    if (name === 'logger') loggerOf(undefined).warn(line);
    else this.observe('logger', () => this.logger.warn(line));
  }

  private spend({ counters }: SessionResult): void {
    const { sessions, requests, tokens } = counters.tree;
    this.spending.sessions += sessions;
    this.spending.requests += requests;
    this.spending.inputTokens += tokens.input;
    this.spending.outputTokens += tokens.output;
  }

  private end(output: WorkflowOutput): WorkflowResult {
    const { state, ...rest } = output;
    const problems = [...output.problems];
    try {
      writeState(this.backlog, state);
    } catch (error) {
      problems.push(`The state file could not be written at the end: ${messageOf(error)}`);
    }
    const { retrospective, report } = this.effects.ending;
    return { ...rest, problems, run: state.run, spending: this.spending, retrospective, report };
  }
}

function endedAs({ status, abortReason }: WorkflowResult): 'succeeded' | 'failed' | 'aborted' {
  if (status === 'completed') return 'succeeded';
  return abortReason === null ? 'failed' : 'aborted';
}
