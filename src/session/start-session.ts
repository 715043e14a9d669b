import { checkContext } from '../agent/context.ts';
import type { Agent } from '../agent/definition.ts';
import { narrowed } from '../agent/narrow.ts';
import type { SessionHead } from '../journal/journal.ts';
import { ScopeLog } from '../journal/scope-log.ts';
import { TreeLog } from '../journal/tree-log.ts';
import { randomId } from '../platform/random-id.ts';
import { overridesIn } from '../vocabulary/overrides.ts';
import { newHead } from './head.ts';
import { checkedOptions } from './input.ts';
import { joinedBudget } from './joined-budget.ts';
import type { SessionOptions, WithContext } from './options.ts';
import { connect } from './recovery/messages.ts';
import { RunningSession } from './running-session.ts';
import type { Session, SessionResult } from './session.ts';
import { surroundingsOf } from './wiring/surroundings.ts';

/**
 * Starts a session of `agent`. It begins immediately. Invalid options throw `PawlError` before anything runs.
 *
 * Without a `journal` the session runs in memory, and a crash loses it. With one, it can be resumed (`resumeSession`). A
 * journal that cannot be written suspends the session with `journal_failed`. If its first write did not reach the journal,
 * the session failed; it has run nothing.
 */
export function startSession<Report, Context>(
  given: Agent<Report, Context>,
  options: SessionOptions & WithContext<Context>,
): Session<Report> {
  return startedAs(given, options, {});
}

/** Starts a session as `startSession` does; its journal says more of what it began with. */
export function startedAs<Report, Context>(
  given: Agent<Report, Context>,
  options: SessionOptions & WithContext<Context>,
  more: Pick<SessionHead, 'chat'>,
): Session<Report> {
  const own = checkedOptions(given, options);
  const agent = narrowed(given, overridesIn(own));
  checkContext(agent, own.context);
  const { journal, sessionId = randomId(), sharedBudget, ...rest } = own;
  const account = sharedBudget === undefined ? null : joinedBudget(agent, sharedBudget, journal);
  const around = surroundingsOf(own, agent.definition.telemetry, account);
  const { head, repairs } = newHead(agent, sessionId, {
    ...{ ...rest, ...more, clock: around.clock },
    ...(account !== null && { sharedBudget: { name: account.name, limits: account.limits } }),
  });
  const tree = journal === undefined ? null : new TreeLog(journal, head);
  const session = new RunningSession({ agent, around, head, log: tree === null ? null : ScopeLog.of(tree, head) });
  if (tree !== null) {
    connect(session, tree);
    tree.listen();
  }
  return session.start(repairs === null ? [] : [{ type: 'conversation.repaired', repairs }]);
}

/** Starts a session and waits until it ends. Rejects if it cannot be started, and never once it has. */
export async function runSession<Report, Context>(
  agent: Agent<Report, Context>,
  options: SessionOptions & WithContext<Context>,
): Promise<SessionResult<Report>> {
  return await startSession(agent, options).result;
}
