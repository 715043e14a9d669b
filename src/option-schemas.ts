import { z } from 'zod';
import type { Clock } from './host/clock.ts';
import type { Logger } from './observe/log.ts';

export const aFunction = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', {
  error: 'a function is allowed',
});

/** The options that a session and a run have in common: whom to tell, how to end, and where time and chance come from. */
export const commonOptions = {
  signal: z
    .custom<AbortSignal>((value) => hasMethods(value, 'addEventListener', 'removeEventListener'), {
      error: 'an AbortSignal is allowed',
    })
    .optional(),
  logger: z
    .custom<Logger>((value) => hasMethods(value, 'debug', 'info', 'warn', 'error'), {
      error: 'a pino logger is allowed',
    })
    .optional(),
  onEvent: aFunction.optional(),
  inspect: aFunction.optional(),
  clock: z.custom<Clock>((value) => hasMethods(value, 'now', 'sleepUntil'), { error: 'a clock is allowed' }).optional(),
  random: aFunction.optional(),
};

function hasMethods(value: unknown, ...names: string[]): boolean {
  return (
    typeof value === 'object' && value !== null && names.every((name) => typeof Reflect.get(value, name) === 'function')
  );
}
