import type { Fact, PrefixBreak } from '../../../machines/index.ts';
import type { Sighting } from '../../observe/events.ts';

type Planned = Extract<Fact, { type: 'turn.planned' }>;

export function planText({ speaker, targets, tools, instructions }: Planned): string {
  return [
    speaker === null ? '' : `handed off to ${speaker}`,
    targets === null ? '' : `on ${targets.join(', ')}`,
    tools === null ? '' : `tools: ${tools.join(', ') || 'none'}`,
    instructions === null ? '' : 'own instructions',
  ]
    .filter((text) => text !== '')
    .join('; ');
}

/** Why a request does not extend the one before (B-5d). */
export const breakTexts: Record<PrefixBreak, string> = {
  target: 'another target',
  handoff: 'another agent has the conversation',
  instructions: 'other instructions',
  plan: 'the plan offers other tools',
  tools_changed: 'an MCP server changed its tools',
  context_guard: 'what was sent is left out',
  compaction: 'earlier messages were compacted',
  refused_piece: 'a refused piece was replaced',
  report_only: 'the report alone is offered',
};

/** Returns the title and detail of a sighting's line; null for a sighting without a line. */
export function noteOf(sighting: Sighting): [string, string] | null {
  switch (sighting.type) {
    case 'model.warned':
      return ['warning', `${sighting.target}: ${sighting.warning}`];
    case 'server.connected':
      return [`server ${sighting.server}`, `connected; ${sighting.tools.length} tools`];
    case 'server.lost':
    case 'server.unavailable':
      return [`server ${sighting.server}`, sighting.message];
    case 'server.toolsChanged':
      return [`server ${sighting.server}`, `its tools changed; ${sighting.tools.length} now`];
    case 'conversation.repaired':
      return ['conversation repaired', JSON.stringify(sighting.repairs)];
    case 'session.resumed':
      return ['resumed', sighting.interrupted.length === 0 ? '' : `interrupted: ${sighting.interrupted.join(', ')}`];
    case 'session.suspended':
      return ['suspended', sighting.failure.detail ?? ''];
    case 'observer.failed':
      return [`${sighting.observer} failed`, sighting.message];
    case 'effect.late':
      return ['late result dropped', sighting.key];
    default:
      return null;
  }
}
