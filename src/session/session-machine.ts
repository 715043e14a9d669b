import { createActor } from 'xstate';
import { type SessionInput, sessionMachine } from '../../machines/index.ts';
import type { ActorSettings } from '../host/run-machine.ts';

/** Returns the maker of a session's root actor. */
export function sessionActor(input: SessionInput) {
  return (settings: ActorSettings) => createActor(sessionMachine, { input, ...settings });
}
