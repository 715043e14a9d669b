import { type Incident, type RunState, reasonOf, type WorkItemDraft } from '../../../../machines/index.ts';
import { counted } from '../../../platform/text.ts';
import { bulletList, evidenceList, quoted, sections } from '../../backlog/item-files.ts';

/**
 * Builds the PROMPT.md of an item for an incident (W-2): the attempts, the failure reasons and counts, the state at
 * that time, and next steps.
 */
export function debuggingContext(
  id: string,
  incident: Incident,
  draft: WorkItemDraft,
  { state, gitStatus }: { state: RunState; gitStatus: string },
): string {
  return sections([
    [`# ${id}: ${draft.title}`, ''],
    ['## Description', draft.description],
    ['## What was attempted', attempted(incident, state)],
    ['## Why it failed', reasons(incident)],
    ['## How many attempts', attempts(incident)],
    ['## State at failure', `${quoted(JSON.stringify(shortState(state), null, 2))}\nGit:\n\n${quoted(gitStatus)}`],
    ['## Evidence', evidenceList(draft.evidence)],
    ['## Next steps', bulletList(nextSteps(incident))],
  ]);
}

/** Builds the comment for an item whose incident recurred. */
export function seenAgain(
  incident: Incident,
  draft: WorkItemDraft,
  { state, gitStatus }: { state: RunState; gitStatus: string },
): string {
  return sections([
    [`## Seen again in run ${state.run}`, reasons(incident)],
    ['### How many attempts', attempts(incident)],
    ['### Evidence', evidenceList(draft.evidence)],
    ['### Git', quoted(gitStatus)],
  ]);
}

/** Builds the report's section on incidents: what happened, on which item, and why. */
export function incidentsText(incidents: readonly Incident[]): string {
  const titled = (incident: Incident) => {
    const item = 'item' in incident && incident.item !== null ? ` (${incident.item})` : '';
    return `### ${reasonOf(incident)}${item}\n\n${reasons(incident).trimEnd()}`;
  };
  return incidents.map(titled).join('\n\n');
}

function attempted(incident: Incident, { run, iteration_count, succeeded }: RunState): string {
  const before = `Run ${run} was on item ${iteration_count}; ${counted(succeeded.length, 'item')} had succeeded.`;
  switch (incident.kind) {
    case 'consecutive_failures':
      return `${before}\n\n${bulletList(incident.failures.map(({ id, phase }) => `${id}, up to ${phase}`))}`;
    case 'stop':
      return `${before} There is a STOP in ${incident.stop.file}.`;
    case 'critical_error':
    case 'crash':
      return `${before} Its phase was ${incident.phase}${incident.item === null ? '' : `, its item ${incident.item}`}.`;
    case 'agent_unavailable':
      return `${before} ${incident.agent} was about to ${incident.item === null ? 'decide the order of the items' : `work on ${incident.item}`}.`;
    default:
      return incident satisfies never;
  }
}

function reasons(incident: Incident): string {
  switch (incident.kind) {
    case 'consecutive_failures':
      return incident.failures
        .map(({ id, phase, slugs, message }) => `- ${id} in ${phase}: ${slugged(slugs)}\n\n${quoted(message)}`)
        .join('\n');
    case 'stop':
      return incident.stop.request === ''
        ? 'It contains no request.'
        : `It asks for:\n\n${quoted(incident.stop.request)}`;
    case 'critical_error':
      return quoted(incident.message);
    case 'agent_unavailable':
      return incident.errors.map((error, index) => `Try ${index + 1}:\n\n${quoted(error)}`).join('\n');
    case 'crash':
      return `${slugged(['interrupted'])}: the run's process died; the next start detected it.`;
    default:
      return incident satisfies never;
  }
}

function attempts(incident: Incident): string {
  switch (incident.kind) {
    case 'consecutive_failures':
      return bulletList(
        incident.failures.map(({ id, requests }) => `${id}: 1 session, ${counted(requests, 'LLM request')}`),
      );
    case 'agent_unavailable':
      return `${incident.agent} was invoked ${counted(incident.tries, 'time')}.`;
    default:
      return '1.';
  }
}

function nextSteps(incident: Incident): string[] {
  switch (incident.kind) {
    case 'consecutive_failures':
      return [
        'Read the error output above and the session logs of the run.',
        'Look for what the failures have in common: a broken environment fails every item.',
        ...incident.failures.map(({ id, folder }) => `Fix ${id} (${folder}), or split it into smaller items.`),
        'Start another run: the items are still in the queue.',
      ];
    case 'stop':
      return [
        incident.stop.request === ''
          ? 'Find out why the STOP was added.'
          : 'Do what the STOP asks for, or settle it with its author.',
        `Remove the STOP marker from ${incident.stop.file}: no run works on an item until it is removed.`,
      ];
    case 'critical_error':
      return [
        'Fix the cause of the error: free space, permissions, the repository, the state file that was set aside.',
        'Check the git status above for uncommitted work.',
        'Start another run.',
      ];
    case 'crash':
      return [
        'Check the session logs for the last event, and the machine for the cause: memory, power, a kill.',
        'Check the git status above for unfinished work.',
      ];
    case 'agent_unavailable':
      return [
        `Make ${incident.agent} available: check its file, its model and key, and its tool servers.`,
        ...incident.lookedFor.map((place) => `Pawl looked for it in ${place}.`),
        'Start another run: the item is still in the queue.',
      ];
    default:
      return incident satisfies never;
  }
}

/** Returns the state without the fields that the page already covers. */
function shortState(state: RunState): object {
  const { failures: _failures, incidents: _incidents, created: _created, ...rest } = state;
  return rest;
}

function slugged(slugs: readonly string[]): string {
  return slugs.length === 0 ? 'no slug' : slugs.map((slug) => `\`${slug}\``).join(', ');
}
