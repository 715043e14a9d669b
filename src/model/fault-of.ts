import type { Fault } from '../../machines/index.ts';
import { classifyFault } from './faults.ts';
import type { ModelEffectOptions } from './model-effect.ts';
import { refusedPiece } from './refused-piece.ts';

/** Classifies an error of a request, and finds the piece of it that the provider refused (P-1, P-2). */
export function faultOf({ clock, secrets, messages, catalog }: ModelEffectOptions, error: unknown): Fault {
  const fault = classifyFault(error, clock.now(), secrets);
  if (fault.kind !== 'invalid_request') return fault;
  const tools = catalog.offered('all').map(({ name }) => name);
  const piece = refusedPiece(error, messages(), tools);
  return piece === undefined ? fault : { ...fault, piece };
}
