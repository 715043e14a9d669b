import type { Agent } from '../agent/definition.ts';
import { checkOptions } from './input.ts';
import type { Session, SessionOptions, SessionResult } from './options.ts';
import { RunningSession } from './running-session.ts';

/**
 * Starts a session of `agent`. It begins immediately. Invalid options throw `PawlError` before anything runs.
 *
 * The session runs in this process, in memory: effects are promises, and a crash loses it.
 */
export function startSession<Report>(agent: Agent<Report>, options: SessionOptions): Session<Report> {
  checkOptions(agent, options);
  return new RunningSession({ agent, options });
}

/** Starts a session and waits until it ends. Never rejects once it has started. */
export function runSession<Report>(agent: Agent<Report>, options: SessionOptions): Promise<SessionResult<Report>> {
  return startSession(agent, options).result;
}
