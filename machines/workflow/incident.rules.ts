import type { Evidence, Incident, ItemFailure, ItemRef, StopMarker, WorkItemDraft } from '../contract/work.ts';

/** Returns true if the incident ends the run (W-1). A crash is recorded, and the run continues. */
export function endsRun({ kind }: Incident): boolean {
  return kind !== 'crash';
}

/** Returns the reason in a few words, for `early_exit_reason` and the end of a bug's title. */
export function reasonOf(incident: Incident): string {
  switch (incident.kind) {
    case 'consecutive_failures':
      return `${incident.count} consecutive item processing failures`;
    case 'stop':
      return `STOP in ${incident.stop.file}`;
    case 'critical_error':
    case 'crash':
      return `Critical error in ${incident.phase}`;
    case 'agent_unavailable':
      return `Unable to invoke ${incident.agent}`;
    default:
      return incident satisfies never;
  }
}

/**
 * Returns a key that identifies a repeated incident: the same items failing in the same way, or the same error in the
 * same phase. Numbers in messages and names of the item are ignored: times, process ids and items differ.
 */
export function fingerprintOf(incident: Incident): string {
  switch (incident.kind) {
    case 'consecutive_failures':
      return [
        incident.kind,
        ...incident.failures.map(({ id, phase, slugs }) => `${id}/${phase}/${slugs[0] ?? ''}`),
      ].join(' ');
    case 'stop':
      return `${incident.kind} ${incident.stop.file} ${incident.stop.request}`;
    case 'critical_error':
      return `${incident.kind} ${incident.phase} ${firstLine(plain(incident.message, incident.item))}`;
    case 'agent_unavailable':
      return `${incident.kind} ${incident.agent}`;
    case 'crash':
      return `${incident.kind} ${incident.phase} ${incident.item ?? ''}`;
    default:
      return incident satisfies never;
  }
}

function plain(message: string, item: string | null): string {
  // The names of folders may have ids in lower case.
  const named = (word: string) => item !== null && word.toUpperCase().includes(item.toUpperCase());
  return message.replace(/\S+/g, (word) => (named(word) ? '#' : word.replace(/\d+/g, '#')));
}

/** Builds the work item for an incident, with type, title and component (W-2). `run` is the run's folder. */
export function draftOf(incident: Incident, run: string): WorkItemDraft {
  switch (incident.kind) {
    case 'consecutive_failures':
      return bug(incident, run, {
        component: incident.failures.at(-1)?.component ?? 'workflow',
        steps: incident.failures.flatMap(failureSteps),
        actual: incident.failures.map(({ id, message }) => `${id}: ${message}`).join('\n'),
        reproducibility: 'always',
        evidence: incident.failures.flatMap(({ id, folder, phase, message }) => [
          file(folder, `Item ${id}, which failed in ${phase}`),
          output(message, `Error output of ${id}`),
        ]),
      });
    case 'critical_error':
      return bug(incident, run, {
        component: 'workflow',
        steps: steps(incident.item, incident.phase, incident.message),
        actual: told(incident.message),
        reproducibility: 'always',
        evidence: [output(incident.message, `The error in ${incident.phase}`)],
      });
    case 'crash':
      return bug(incident, run, {
        component: 'workflow',
        steps: steps(incident.item, incident.phase, 'The process died during the run'),
        actual: 'The process died during the run; the next start found it',
        reproducibility: 'intermittent',
        evidence: [output('interrupted', `The outcome of the work in ${incident.phase}`)],
      });
    case 'agent_unavailable':
      return bug(incident, run, {
        component: 'agents/infrastructure',
        steps: steps(
          incident.item,
          incident.item === null ? 'scanning' : 'processing',
          `${incident.agent} was invoked ${incident.tries} times`,
        ),
        actual: told(incident.errors.at(-1) ?? ''),
        reproducibility: 'always',
        evidence: [
          ...incident.errors.map((error, index) =>
            output(error, `Try ${index + 1} of ${incident.tries} to invoke ${incident.agent}`),
          ),
          ...incident.lookedFor.map((place) => file(place, `A place searched for ${incident.agent}`)),
        ],
      });
    case 'stop':
      return stopDraft(incident.stop, run);
    default:
      return incident satisfies never;
  }
}

/** Builds the human action that unblocks an item (W-2). */
export function blockedDraft(item: ItemRef, needs: string, run: string): WorkItemDraft {
  return {
    item_type: 'human_action',
    title: titled(`Unblock ${item.id}: ${firstLine(told(needs))}`),
    component: item.component ?? 'workflow',
    priority: 'P1',
    evidence: [file(item.folder, `Item ${item.id}, set aside until this is done`), ...common(run)],
    description: told(needs),
    metadata: { required_action: told(needs), blocks: [item.id] },
  };
}

/** Builds the item for a STOP: a feature if it requests work, else a human action to resolve it. */
function stopDraft({ file: comments, item, request, component }: StopMarker, run: string): WorkItemDraft {
  const evidence = [file(comments, 'The comments with the STOP marker'), ...common(run)];
  const shared = { component: component ?? 'workflow', priority: 'P1' as const, evidence };
  const where = item === null ? comments : `${comments} (${item})`;
  if (request === '') {
    return {
      ...shared,
      item_type: 'human_action',
      title: titled(`Run stopped without a request: STOP in ${comments}`),
      description: `A STOP marker in ${where} ended the run without requesting work. Every run ends at once until the marker is removed.`,
      metadata: { required_action: `Remove the STOP marker from ${comments}, or add a request to it` },
    };
  }
  return {
    ...shared,
    item_type: 'feature',
    title: titled(`User-requested work: ${firstLine(request)}`),
    description: `A STOP marker in ${where} ended the run with this request:\n\n${request}`,
    metadata: { requested_in: comments, request },
  };
}

type BugParts = {
  component: string;
  steps: string[];
  actual: string;
  reproducibility: 'always' | 'intermittent';
  evidence: Evidence[];
};

function bug(
  incident: Incident,
  run: string,
  { component, steps, actual, reproducibility, evidence }: BugParts,
): WorkItemDraft {
  const reason = reasonOf(incident);
  return {
    item_type: 'bug',
    title: titled(`Session failure: ${reason}`),
    component,
    priority: 'P1',
    evidence: [...evidence, ...common(run)],
    description: `The run ${run} ${endsRun(incident) ? 'exited early' : 'died and was resumed'}: ${reason}. This bug holds the details for debugging.`,
    metadata: {
      severity: 'high',
      reproducibility,
      steps_to_reproduce: steps,
      expected_behavior: 'The run completes every item',
      actual_behavior: told(actual),
      impact: 'The autonomous run is blocked',
    },
  };
}

function common(run: string): Evidence[] {
  return [
    file('.agent-state.json', 'The state of the run when it failed'),
    { type: 'log', location: `agent_runs/${run}/`, description: 'The session logs of the run' },
  ];
}

function file(location: string, description: string): Evidence {
  return { type: 'file', location, description };
}

function output(text: string, description: string): Evidence {
  return { type: 'output', location: told(text), description };
}

/** Replaces an empty message, because an item needs some text. */
function told(text: string): string {
  return text.trim() === '' ? '(no message)' : text;
}

function failureSteps({ id, phase, slugs, message }: ItemFailure): string[] {
  return steps(id, phase, [slugs.join(', '), firstLine(message)].filter((part) => part !== '').join(': '));
}

function steps(item: string | null, phase: string, details: string): string[] {
  return [
    ...(item === null ? [] : [`Attempted to process item: ${item}`]),
    `Failure occurred at phase: ${phase}`,
    firstLine(told(details)),
  ];
}

const lineLength = 120;
const titleLength = 200;

function firstLine(text: string): string {
  return cut(text.trim().split(/[\r\n\u2028\u2029]/)[0] ?? '', lineLength);
}

/** Returns one line of at most 200 characters, as work item titles require. */
function titled(text: string): string {
  return cut(text.replace(/\p{Cc}+/gu, ' ').trim(), titleLength);
}

function cut(line: string, length: number): string {
  return line.length > length ? `${line.slice(0, length - 1).trimEnd()}…` : line.trimEnd();
}
