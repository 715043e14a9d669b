import type { Effect } from '../../../machines/index.ts';
import { agentAt } from '../../agent/call-preview.ts';
import type { Agent } from '../../agent/definition.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { Replay } from '../../journal/replay/replay.ts';
import { OfflinePlayer } from '../replay/offline-player.ts';

/**
 * When a suspended session has something to do (epoch ms): at once, when a wait or the time of a person is over, or never
 * (`Infinity`), for one that only waits for people. Entries that cannot be played are due at once: whoever resumes the
 * session tells why.
 */
export async function dueOf(agent: Agent, entries: readonly JournalEntry[]): Promise<number> {
  const replay = new Replay<OfflinePlayer>(
    (head, _, source) => new OfflinePlayer(head, null, source, { secrets: [], follower: null }),
  );
  try {
    if ((await replay.playInTurns(entries)) !== null || replay.isBehind) return 0;
  } catch {
    return 0;
  }
  const players = new Map(replay.players);
  const isLive = (scope: string) => (players.get(scope)?.pending.length ?? 0) > 0;
  const due = replay.players.flatMap(([scope, player]) => {
    const own = agentAt(agent, namesOf(player, replay));
    return own === null
      ? 0
      : player.pending.map((effect) =>
          dueAt(own, effect, player.begunAt(effect.key), (callId) =>
            isLive(scope === '' ? callId : `${scope}/${callId}`),
          ),
        );
  });
  return due.length === 0 ? 0 : Math.min(...due);
}

/** The names by which the sub-agents above a session were called, and its own. */
function namesOf({ head }: OfflinePlayer, replay: Replay<OfflinePlayer>): string[] {
  const { call } = head;
  return call === null ? [] : [...namesOf(replay.playerOf(call.parent), replay), call.name];
}

function dueAt(
  { agents, tools, limits }: Agent,
  effect: Effect,
  begunAt: number | null,
  /** Whether the sub-agent of a call has not ended: what it waits for is asked of itself. */
  isLive: (callId: string) => boolean,
): number {
  if (effect.kind === 'wait') return effect.request.dueAt;
  if (begunAt === null) return 0;
  const after = (timeoutMs: number | null) => (timeoutMs === null ? Number.POSITIVE_INFINITY : begunAt + timeoutMs);
  if (effect.kind === 'approval') return after(limits.approvalTimeoutMs);
  if (effect.kind !== 'tool') return 0;
  const { name, callId } = effect.request;
  if (Object.hasOwn(agents, name)) return isLive(callId) ? Number.POSITIVE_INFINITY : 0;
  return tools.get(name)?.isClientSide === true ? after(limits.clientToolTimeoutMs) : 0;
}
