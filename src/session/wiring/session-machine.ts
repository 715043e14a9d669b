import { createActor } from 'xstate';
import { type SessionInput, sessionMachine } from '../../../machines/index.ts';
import { heard } from '../../host/hearing.ts';
import type { ActorSettings } from '../../host/run-machine.ts';

let heardMachine: typeof sessionMachine | null = null;

/** Returns the maker of a session's root actor. */
export function sessionActor(input: SessionInput) {
  heardMachine ??= heard(sessionMachine);
  const machine = heardMachine;
  return (settings: ActorSettings) => createActor(machine, { input, ...settings });
}
