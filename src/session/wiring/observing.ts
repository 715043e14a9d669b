import { Observer } from '../../observe/observer.ts';
import { GuardedTelemetry, type TelemetrySession } from '../../observe/telemetry.ts';
import { ownCopy } from '../../platform/own-copy.ts';
import { withoutSecrets } from '../../secrets/redact.ts';
import type { SessionIdentity, SessionParts } from './identity.ts';

/** The time of the current delivery (epoch ms), so that replays yield the same facts, and of now. */
export type Times = { deliveredAt: number; now(): number };

/** What observes a session. */
export type ObservedSession = { observer: Observer; telemetry: GuardedTelemetry | null; times: Times };

/** The first step of wiring a session: its observer, with its folds, its log and its listeners. */
export function observe(
  identity: SessionIdentity,
  { parent, replay }: Pick<SessionParts<unknown>, 'parent' | 'replay'>,
): ObservedSession {
  const { agent, around, head, log, lineage, secrets, contextFor } = identity;
  const { clock, logger, onEvent = null } = around;
  const times = { deliveredAt: head.input.at, now: () => clock.now() };
  const telemetry =
    around.telemetry === undefined
      ? null
      : new GuardedTelemetry(
          around.telemetry,
          telemetrySession(identity, () => observer),
        );
  const observer: Observer = new Observer({
    sessionId: head.sessionId,
    agent: agent.name,
    metadata: head.metadata,
    parentSessionId: lineage.parentSessionId,
    secrets,
    messages: [...head.messages],
    logger,
    onEvent,
    telemetry,
    context: contextFor(null),
    slices: agent.definition.slices ?? {},
    tools: agent.tools,
    resultBytes: head.resultBytes,
    resultAbove: lineage.resultAbove,
    recorder: log,
    parent: parent ?? null,
    replay: replay ?? null,
    times,
  });
  return { observer, telemetry, times };
}

/** Returns what telemetry is given of a session: copies without secrets, made when it asks. */
function telemetrySession(
  { agent, head, lineage, secrets }: SessionIdentity,
  observer: () => Observer,
): TelemetrySession {
  const conversation = () => observer().folds.conversation;
  const { sessionId, call } = head;
  const { parentSessionId } = lineage;
  return {
    sessionId,
    agent: agent.name,
    metadata: Object.freeze(withoutSecrets(head.metadata, secrets)),
    parent: call === null || parentSessionId === null ? null : { sessionId: parentSessionId, callId: call.callId },
    messages: () => ownCopy(withoutSecrets(conversation().messages, secrets)),
    instructions: () => withoutSecrets(conversation().instructions, secrets),
    input: (index) => withoutSecrets(conversation().inputOf(index), secrets),
  };
}
