import { type Clock, systemClock } from '../../host/clock.ts';
import { type Logger, loggerOf } from '../../observe/log/logger.ts';
import type { Telemetry } from '../../observe/telemetry.ts';
import type { BudgetAccount } from '../../shared/budget.ts';
import type { ResumeOptions, SessionOptions } from '../options.ts';

type Given = 'context' | 'signal' | 'telemetry' | 'inspect' | 'onEvent' | 'onDelivery';

/** What the process that runs a session gives it, such as its clock and its listeners. None of it is written down. */
export type Surroundings = { clock: Clock; random: () => number; logger: Logger } & {
  [Name in Given]: SessionOptions[Name];
} & {
  renamedModels: ResumeOptions['renamedModels'] | undefined;
  /** At the gates, the requests with the highest number go first (P-7). */
  priority: number;
  /** The tree of sessions that this one belongs to, at the gates. */
  party: object;
  /** The budget that it draws on with others (B-8). */
  sharedBudget: BudgetAccount | null;
};

/** Returns a session's surroundings, as its caller gave them, with the defaults in place; `watch` is that of its agent. */
export function surroundingsOf(
  given: Pick<SessionOptions, Given | 'clock' | 'random' | 'logger' | 'priority'> &
    Pick<ResumeOptions, 'renamedModels'>,
  watch?: Telemetry,
  sharedBudget: BudgetAccount | null = null,
): Surroundings {
  const { context, signal, telemetry = watch, inspect, onEvent, onDelivery } = given;
  const { clock = systemClock, random = Math.random, logger, renamedModels, priority = 0 } = given;
  return {
    clock,
    random,
    logger: loggerOf(logger),
    context,
    signal,
    telemetry,
    inspect,
    onEvent,
    onDelivery,
    renamedModels,
    priority,
    party: {},
    sharedBudget,
  };
}

/** Returns those of a sub-agent's session, whose events reach the listener through the session above it. */
export function surroundingsBelow(above: Surroundings, signal: AbortSignal): Surroundings {
  return { ...above, signal, onEvent: undefined, onDelivery: undefined };
}
