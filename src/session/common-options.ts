import { z } from 'zod';
import type { Clock } from '../host/clock.ts';
import { aFunction, hasMethods } from '../input/shapes.ts';
import { aSharedBudget } from '../journal/shared-budget.ts';
import type { LoggerOption } from '../observe/log/logger.ts';
import { aTelemetry } from '../observe/telemetry.ts';

/** The options that sessions and runs share: observers, abort signal, clock and randomness. */
export const commonOptions = {
  signal: z
    .custom<AbortSignal>((value) => hasMethods(value, 'addEventListener', 'removeEventListener'), {
      error: 'an AbortSignal',
    })
    .optional(),
  logger: z
    .custom<LoggerOption>((value) => value === false || hasMethods(value, 'debug', 'info', 'warn', 'error'), {
      error: 'a logger with debug, info, warn and error, or false for none',
    })
    .optional(),
  onEvent: aFunction.optional(),
  telemetry: aTelemetry.optional(),
  inspect: aFunction.optional(),
  clock: z
    .custom<Clock>((value) => hasMethods(value, 'now', 'sleepUntil', 'alarm'), {
      error: 'a clock: { now, sleepUntil, alarm }',
    })
    .optional(),
  random: aFunction.optional(),
};

/** What a session shares with others: a budget, and its place at the gates. */
export const sharedOptions = {
  sharedBudget: aSharedBudget.optional(),
  priority: z.number({ error: 'a number' }).optional(),
};
