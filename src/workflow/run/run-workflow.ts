import { basename } from 'node:path';
import { createActor } from 'xstate';
import {
  type Delivery,
  type WorkflowAbort,
  type WorkflowFact,
  type WorkflowOutput,
  workflowMachine,
} from '../../../machines/index.ts';
import { type Clock, systemClock } from '../../host/clock.ts';
import { heard } from '../../host/hearing.ts';
import { memoryDriver } from '../../host/memory.ts';
import { type MachineOwner, RunningMachine } from '../../host/run-machine.ts';
import { messageOf, onRejection, PawlError } from '../../input/errors.ts';
import { type Logger, linesWritten, loggerOf } from '../../observe/log/logger.ts';
import type { RunTelemetry } from '../../observe/telemetry.ts';
import { redact } from '../../secrets/redact.ts';
import { backlogIn } from '../backlog/find-backlog.ts';
import { lockRun } from '../backlog/lock.ts';
import { timestamp, writeState } from '../backlog/state-file.ts';
import { repositoryOf } from '../git/git.ts';
import { neededToMerge } from '../git/item-tree.ts';
import { checkedLimits, type RunLimits, type WorkflowOptions } from '../options.ts';
import { RunEffects } from './effects.ts';
import type { Place } from './places/places.ts';
import { RunJournal } from './run-journal.ts';
import { logFact } from './run-log.ts';
import { type RunSpending, Spending } from './spending.ts';

export type WorkflowResult = Omit<WorkflowOutput, 'state'> & {
  /** The name of the run's folder below `agent_runs`. */
  run: string;
  /** What may be wrong although nothing failed: a run without tests, an agent without tools, work that changed no file. */
  warnings: string[];
  spending: RunSpending;
  /** The two documents of the run. They are also in its folder, unless `problems` lists a failed write. */
  retrospective: string;
  report: string;
};

/**
 * Works through the open items of a backlog, one by one or several at a time (`limits.concurrency`). If the run ends
 * early, files the reason as a work item (W-1 to W-4). Continues a run that died. Rejects with `PawlError` before anything runs: for invalid options, and with
 * `backlog_locked` while another run is active. Later failures are in the result.
 */
export async function runWorkflow(options: WorkflowOptions): Promise<WorkflowResult> {
  const limits = checkedLimits(options);
  const backlog = backlogIn(options.backlog);
  const home = await homeOf(backlog, limits);
  const lock = await lockRun(backlog);
  try {
    return await new RunningWorkflow(home, limits, options).result;
  } finally {
    lock.release();
  }
}

/** Returns the work tree of the project. Throws `invalid_workflow` if git cannot provide a work tree for each item. */
async function homeOf(backlog: string, { concurrency }: RunLimits): Promise<Place> {
  const repository = await repositoryOf(backlog);
  if (concurrency > 1) {
    const problem = repository === null ? `a git repository; ${backlog} is not in one` : await neededToMerge(backlog);
    if (problem !== null) throw new PawlError('invalid_workflow', `\`limits.concurrency\` above 1 needs ${problem}.`);
  }
  return { root: repository?.root ?? backlog, backlog };
}

const nobodyApproves = () => ({ approved: false, reason: 'this run is unattended' });

class RunningWorkflow implements MachineOwner<WorkflowAbort, WorkflowFact> {
  readonly result: Promise<WorkflowResult>;
  private readonly backlog: string;
  private readonly options: WorkflowOptions;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly effects: RunEffects;
  private readonly spending: Spending;
  private readonly warnings = new Set<string>();
  private run = '';
  private readonly journal: RunJournal | null;
  private observerFailed = false;
  private readonly span: RunTelemetry | null;

  constructor(home: Place, { maxTries, ...limits }: RunLimits, options: WorkflowOptions) {
    const { backlog } = home;
    const { clock = systemClock, agents, logger, random, inspect } = options;
    const aborting = new AbortController();
    const signal = AbortSignal.any([aborting.signal, ...(options.signal === undefined ? [] : [options.signal])]);
    this.backlog = backlog;
    this.options = options;
    this.clock = clock;
    this.logger = loggerOf(logger);
    this.spending = new Spending(options.budget ?? {}, clock);
    this.effects = new RunEffects({
      backlog,
      agents,
      clock,
      spending: this.spending,
      maxTries,
      home,
      concurrency: limits.concurrency,
      warnings: this.warnings,
      sessions: {
        signal,
        logger,
        onSessionEvent: options.onSessionEvent,
        approve: options.approve ?? nobodyApproves,
        grant: () => this.spending.grant(),
        warn: (message) => this.warn(message),
        options: {
          clock,
          ...(random !== undefined && { random }),
          ...(inspect !== undefined && { inspect }),
          ...(options.telemetry !== undefined && { telemetry: options.telemetry }),
          ...(options.journal !== undefined && { journal: options.journal }),
        },
      },
    });
    this.span = this.begun();
    const input = { run: timestamp(new Date()), limits, tests: agents.test !== undefined };
    this.journal =
      options.journal === undefined
        ? null
        : new RunJournal(options.journal, input, clock.now(), {
            abort: (reason) => aborting.abort(reason),
            failed: (error) => this.observerBroke('journal', error),
          });
    const machine = new RunningMachine<WorkflowAbort, WorkflowFact, WorkflowOutput>({
      actor: (settings) => createActor(heard(workflowMachine), { input, ...settings }),
      perform: (effect, context) => this.performed(() => this.effects.perform(effect, context)),
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
        this.observe('telemetry', () => this.span?.ended(clock.now(), 'failed'));
        throw end.defect;
      }
      const result = this.end(end.output);
      await this.journal?.end(endedAs(result));
      this.observe('telemetry', () => this.span?.ended(clock.now(), endedAs(result)));
      await linesWritten().catch((error) => this.observerBroke('logger', error));
      return result;
    });
    machine.start();
    machine.listen();
    if (agents.test === undefined) this.warn('There is no test agent: what is reported as done is archived untested.');
  }

  private begun(): RunTelemetry | null {
    const { telemetry } = this.options;
    try {
      return telemetry?.run?.({ name: basename(this.backlog), at: this.clock.now() }) ?? null;
    } catch (error) {
      this.observerBroke('telemetry', error);
      return null;
    }
  }

  /** Performs work within the span of the run, or without it if that fails. */
  private performed<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    let begun: Promise<Outcome> | null = null;
    const once = () => {
      begun ??= (async () => work())();
      return begun;
    };
    this.observe('telemetry', () => void this.span?.around(once));
    return once();
  }

  takeFact(fact: WorkflowFact): void {
    if (fact.type === 'workflow.started' || fact.type === 'workflow.continued') this.run = fact.run;
    const { run } = this;
    this.journal?.takeFact(fact);
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
      onRejection(tell(), (error) => this.observerBroke(name, error));
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

  /** Warns once of the same thing. */
  private warn(message: string): void {
    if (this.warnings.has(message)) return;
    this.warnings.add(message);
    const { run } = this;
    this.observe('logger', () => this.logger.warn({ event: 'workflow.warned', run, message }, message));
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
    return {
      ...rest,
      problems,
      run: state.run,
      warnings: [...this.warnings],
      spending: this.spending.totals,
      retrospective,
      report,
    };
  }
}

function endedAs({ status, abortReason }: WorkflowResult): 'succeeded' | 'failed' | 'aborted' {
  if (status === 'completed') return 'succeeded';
  return abortReason === null ? 'failed' : 'aborted';
}
