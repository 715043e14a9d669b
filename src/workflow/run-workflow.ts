import { type ActorRefFrom, createActor, type InspectionEvent } from 'xstate';
import { z } from 'zod';
import {
  type HostEvent,
  runState,
  type WorkflowAbort,
  type WorkflowFact,
  type WorkflowLimits,
  type WorkflowOutput,
  workflowMachine,
} from '../../machines/index.ts';
import { check } from '../check.ts';
import { messageOf, PawlError, shown } from '../errors.ts';
import { type Clock, systemClock } from '../host/clock.ts';
import { Host } from '../host/host.ts';
import { type DriverOwner, MemoryDriver } from '../host/memory.ts';
import type { EventListener } from '../observe/events.ts';
import { defaultLogger, type Logger } from '../observe/log.ts';
import { redact } from '../observe/redact.ts';
import { aFunction, commonOptions } from '../option-schemas.ts';
import type { SessionResult } from '../session.ts';
import { isAgent } from '../session-input.ts';
import { isEmitter, noClock } from '../start-session.ts';
import type { ApprovalDecision, ApprovalQuestion } from './agents.ts';
import { backlogFolder } from './backlog.ts';
import { readConfig } from './config.ts';
import { lockRun } from './lock.ts';
import type { RunSpending } from './report.ts';
import { logFact } from './run-log.ts';
import { timestamp, writeState } from './state-file.ts';
import { RunEffects, type WorkflowAgents } from './workflow-effects.ts';

/** What has happened in a run. */
export type WorkflowEvent = WorkflowFact & { run: string; at: number };

export type WorkflowOptions = {
  /** The folder of the backlog. */
  backlog: string;
  agents: WorkflowAgents;
  /** Default: 3 failures in a row end a run, all items are taken, an agent that cannot be invoked is tried 3 times. */
  limits?: Partial<WorkflowLimits>;
  /** Ends the run: the session under way is aborted, its item stays open, and the report is written. */
  signal?: AbortSignal;
  /** Of the run and of its sessions; default pino at level warn on stderr. */
  logger?: Logger;
  onEvent?: (event: WorkflowEvent) => unknown;
  /** Sees the events of every session of the run. */
  onSessionEvent?: EventListener;
  /** Decides about tool calls that need approval. Default: nobody is there, so they are denied. */
  approve?: (question: ApprovalQuestion) => ApprovalDecision | Promise<ApprovalDecision>;
  /** An inspection observer of XState's, for the run and for its sessions. */
  inspect?: (event: InspectionEvent) => void;
  /** Default the system's. For tests. */
  clock?: Clock;
  /** In [0, 1), for the jitter of the backoff; default `Math.random`. For tests. */
  random?: () => number;
};

export type WorkflowResult = WorkflowOutput & {
  /** The folder of the run below `agent_runs`. */
  run: string;
  spending: RunSpending;
  /** The two documents of the run, which are in its folder too unless a problem says otherwise. */
  retrospective: string;
  report: string;
};

const positive = 'an integer of at least 1 is allowed';
const count = z.int({ error: positive }).min(1, { error: positive });
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
    { error: 'an object with process is needed' },
  ),
  limits: z.unknown().optional(),
  onSessionEvent: aFunction.optional(),
  approve: aFunction.optional(),
  ...commonOptions,
});

/**
 * Runs over a backlog: takes its open items one by one, and makes a work item of whatever ends it early (W-1 to W-4). A run
 * that died is continued. Rejects with `PawlError` for options that cannot be, and with `backlog_locked` while another run is
 * at work; nothing runs before. Whatever happens after is in the result.
 */
export async function runWorkflow(options: WorkflowOptions): Promise<WorkflowResult> {
  check(optionsSchema, options, '', 'invalid_workflow');
  const limits = check(limitsSchema, options.limits ?? {}, 'limits', 'invalid_workflow');
  checkAgents(options.agents);
  const backlog = backlogFolder(options.backlog);
  readConfig(backlog);
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
    `agents.${role} is ${shown(agent)}: one made by defineAgent, { name, load } or a function is allowed.`,
  );
}

const nobodyApproves = () => ({ approved: false, reason: 'nobody is there to approve it in this run' });

class RunningWorkflow implements DriverOwner<WorkflowAbort> {
  readonly result: Promise<WorkflowResult>;
  private readonly backlog: string;
  private readonly options: WorkflowOptions;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly host = new Host();
  private readonly driver: MemoryDriver<WorkflowAbort>;
  private readonly actor: ActorRefFrom<typeof workflowMachine>;
  private readonly effects: RunEffects;
  private readonly spending: RunSpending = { sessions: 0, requests: 0, inputTokens: 0, outputTokens: 0 };
  private observerFailed = false;

  constructor(backlog: string, limits: WorkflowLimits, options: WorkflowOptions) {
    const { clock = systemClock, signal = new AbortController().signal, agents, logger, random, inspect } = options;
    this.backlog = backlog;
    this.options = options;
    this.clock = clock;
    this.logger = logger ?? defaultLogger();
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
        options: { clock, ...(random !== undefined && { random }), ...(inspect !== undefined && { inspect }) },
      },
    });
    this.driver = new MemoryDriver(this.host, this.effects.perform, this);
    const run = timestamp(new Date());
    this.actor = createActor(workflowMachine, {
      input: { run, limits, tests: agents.test !== undefined },
      clock: noClock,
      inspect: (event) => {
        const { type, actorRef } = event;
        if (type === '@xstate.actor' && isEmitter<WorkflowFact>(actorRef)) {
          actorRef.on('*', (emitted) => this.take(emitted));
        }
        this.observe('inspect', () => inspect?.(event));
      },
    });
    this.result = new Promise((resolve, reject) => {
      this.actor.subscribe({
        complete: () => resolve(this.end()),
        // The machine itself broke, which is a defect; the state file says where, and the next start goes on from there.
        error: reject,
      });
    });
    this.driver.start(() => this.actor.start());
    this.listen(signal);
  }

  now(): number {
    return this.clock.now();
  }

  chance(): number {
    try {
      return (this.options.random ?? Math.random)();
    } catch (error) {
      this.observerBroke('random', error);
      return 0.5;
    }
  }

  command(event: WorkflowAbort): void {
    if (this.actor.getSnapshot().status === 'active') this.actor.send(event);
  }

  delivering(): void {}

  describeDefect(error: unknown): string {
    return redact(messageOf(error));
  }

  late(): void {}

  private listen(signal: AbortSignal): void {
    const abort = () => this.driver.command({ type: 'workflow.abort', reason: messageOf(signal.reason) });
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    const forget = () => signal.removeEventListener('abort', abort);
    this.result.then(forget, forget);
  }

  private take(emitted: WorkflowFact | HostEvent): void {
    if (emitted.type === 'effect.requested' || emitted.type === 'effect.cancelled') {
      this.host.take(emitted);
      return;
    }
    const { run } = this.actor.getSnapshot().context;
    this.observe('logger', () => logFact(this.logger, run, emitted));
    this.observe('onEvent', () => this.options.onEvent?.({ ...emitted, run, at: this.clock.now() }));
  }

  /** An observer that throws is told once, and breaks nothing. */
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
    if (name === 'logger') defaultLogger().warn(line);
    else this.observe('logger', () => this.logger.warn(line));
  }

  private spend({ counters }: SessionResult): void {
    const { sessions, requests, tokens } = counters.tree;
    this.spending.sessions += sessions;
    this.spending.requests += requests;
    this.spending.inputTokens += tokens.input;
    this.spending.outputTokens += tokens.output;
  }

  private end(): WorkflowResult {
    const { context, output, value } = this.actor.getSnapshot();
    if (output === undefined) throw new Error('the run ended without an output');
    const { run } = context;
    const problems = [...output.problems];
    try {
      writeState(this.backlog, runState(context, value === 'completed' ? 'completed' : 'exitedEarly'));
    } catch (error) {
      problems.push(`The state file could not be written at the end: ${messageOf(error)}`);
    }
    const { retrospective, report } = this.effects.ending;
    return { ...output, problems, run, spending: this.spending, retrospective, report };
  }
}
