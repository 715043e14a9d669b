import type { Incident, RunState, WorkItemDraft } from '../../machines/index.ts';
import { evidenceList, listed, quoted, sections } from './item-files.ts';

/**
 * The PROMPT.md of an item that an incident became (W-2): what was attempted, why it failed and how often, how things stood,
 * and what to do next.
 */
export function debuggingContext(
  id: string,
  incident: Incident,
  draft: WorkItemDraft,
  { state, gitStatus }: { state: RunState; gitStatus: string },
): string {
  return sections([
    [`# ${id}: ${draft.title}`, draft.description],
    ['## What was attempted', attempted(incident, state)],
    ['## Why it failed', reasons(incident)],
    ['## How many attempts', attempts(incident)],
    ['## State at failure', `${quoted(JSON.stringify(shortState(state), null, 2))}\nGit:\n\n${quoted(gitStatus)}`],
    ['## Evidence', evidenceList(draft.evidence)],
    ['## Next steps', listed(nextSteps(incident))],
  ]);
}

/** What is added to an item when its incident happens again. */
export function seenAgain(
  incident: Incident,
  draft: WorkItemDraft,
  { state, gitStatus }: { state: RunState; gitStatus: string },
): string {
  return sections([
    [`## Seen again in the run ${state.run}`, reasons(incident)],
    ['### How many attempts', attempts(incident)],
    ['### Evidence', evidenceList(draft.evidence)],
    ['### Git', quoted(gitStatus)],
  ]);
}

function attempted(incident: Incident, { run, iteration_count, succeeded }: RunState): string {
  const before = `The run ${run} was at its item number ${iteration_count}; ${counted(succeeded.length, 'item')} had succeeded.`;
  switch (incident.kind) {
    case 'consecutive_failures':
      return `${before}\n\n${listed(incident.failures.map(({ id, phase }) => `${id}, as far as ${phase}`))}`;
    case 'stop':
      return `${before} A STOP stands in ${incident.stop.file}.`;
    case 'critical_error':
    case 'crash':
      return `${before} It was in ${incident.phase}${incident.item === null ? '' : ` of ${incident.item}`}.`;
    case 'agent_unavailable':
      return `${before} ${incident.agent} was to work on ${incident.item}.`;
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
      return incident.stop.request === '' ? 'It names no work.' : `It asks for:\n\n${quoted(incident.stop.request)}`;
    case 'critical_error':
    case 'agent_unavailable':
      return quoted(incident.message);
    case 'crash':
      return `${slugged(['interrupted'])}: the process of the run died, and the next start found it.`;
    default:
      return incident satisfies never;
  }
}

function attempts(incident: Incident): string {
  switch (incident.kind) {
    case 'consecutive_failures':
      return listed(
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
        ...incident.failures.map(({ id, folder }) => `Put ${id} right (${folder}), or split it into smaller items.`),
        'Start a run again: the items are still in the queue.',
      ];
    case 'stop':
      return [
        incident.stop.request === ''
          ? 'Find out what was wanted.'
          : 'Do what was asked for, or agree with whoever asked.',
        `Take the STOP marker out of ${incident.stop.file}: no run takes an item while it stands there.`,
      ];
    case 'critical_error':
      return [
        'Mend what the error names: free space, permissions, the repository, the state file that was kept aside.',
        'Look at the git status above for work that was not committed.',
        'Start a run again.',
      ];
    case 'crash':
      return [
        'Look at the session logs for the last thing that happened, and at the machine: memory, power, who killed it.',
        'Look at the git status above for work that is half done.',
      ];
    case 'agent_unavailable':
      return [
        `Make ${incident.agent} available: its file, its model and key, its tool servers.`,
        ...incident.lookedFor.map((place) => `It was looked for in ${place}.`),
        'Start a run again: the item is still in the queue.',
      ];
    default:
      return incident satisfies never;
  }
}

/** The fields of the state file, without what this page says anyway. */
function shortState(state: RunState): object {
  const { failures: _failures, incidents: _incidents, created: _created, ...rest } = state;
  return rest;
}

function slugged(slugs: readonly string[]): string {
  return slugs.length === 0 ? 'no slug' : slugs.map((slug) => `\`${slug}\``).join(', ');
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
