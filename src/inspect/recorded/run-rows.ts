import { type Incident, type ItemFailure, itemPhases, type Phase, type WorkflowFact } from '../../../machines/index.ts';
import type { Observation } from './recording-data.ts';
import { closeRow, type Row, RowList, type RowPlace } from './row-list.ts';

const phaseTitles: Record<Phase, string> = {
  restoring: 'looks for a run that died',
  scanning: 'reads the backlog',
  processing: 'works on it',
  testing: 'tests it',
  archiving: 'archives it',
  settingAside: 'sets it aside',
  capturing: 'files the incidents',
  reviewing: 'retrospective',
  summarising: 'report',
};

/** The open rows of an item, or of the run itself, whose `row` is null. */
type Open = { row: Row | null; phase: Row | null; wait: Row | null };

/** What happened in a workflow run, as a tree of lines: items with their phases, incidents, and the ending. */
export class RunRows extends RowList {
  /** The items in progress, by their ids. */
  private readonly items = new Map<string, Open & { row: Row }>();
  /** What the run itself does. */
  private readonly run: Open = { row: null, phase: null, wait: null };

  takeObservation(one: Observation, told: number): void {
    if ('runFact' in one) this.fact(one.runFact, { scope: '', told, at: one.at });
  }

  private fact(fact: WorkflowFact, place: RowPlace): void {
    switch (fact.type) {
      case 'workflow.started':
        this.root = this.row('run', place, { title: 'run', detail: fact.run });
        return;
      case 'workflow.continued':
        this.note(place, 'continues a run that died', `${fact.run}, ${whereText(fact)}`);
        return;
      case 'phase.started':
        this.begin(fact.phase, fact.item, place);
        return;
      case 'backlog.scanned':
        if (this.run.phase !== null)
          this.run.phase.detail = `${fact.open} open, ${fact.blocked} blocked, ${fact.stops} STOP markers`;
        return;
      case 'item.started': {
        endPhase(this.run, place);
        const { id, title, priority } = fact.item;
        const row = this.row('item', place, { title: id, detail: `${priority} ${title}` });
        this.items.set(id, { row, phase: null, wait: null });
        this.add(row);
        return;
      }
      case 'item.succeeded':
        this.endItem(fact.id, place, 'done');
        return;
      case 'item.setAside':
        this.endItem(fact.id, place, 'waiting', `waits for a person: ${fact.needs}`);
        return;
      case 'item.failed':
        this.failItem(fact.failure, place);
        return;
      case 'agent.unavailable':
        this.note(place, `agent ${fact.agent} unavailable`, `try ${fact.tries}: ${fact.message}`, fact.item);
        return;
      case 'work.ended': {
        const one = this.openOf(fact.item);
        const isFailure = fact.verdict === 'failed' || fact.verdict === 'critical' || fact.verdict === 'unavailable';
        if (one.phase !== null) closeRow(one.phase, place, isFailure ? 'failed' : 'done');
        one.phase = null;
        return;
      }
      case 'wait.started': {
        const one = this.openOf(fact.item);
        endPhase(one, place);
        one.wait = this.row('wait', place, { title: `waits for ${fact.agent}`, dueAt: fact.dueAt });
        this.add(one.wait, one.row);
        return;
      }
      case 'incident.noted':
        this.note(place, fact.incident.kind.replaceAll('_', ' '), incidentText(fact.incident)).state = 'failed';
        return;
      case 'workItem.created':
        this.note(place, `${fact.item.isNew ? 'filed' : 'added to'} ${fact.item.id}`, fact.item.title);
        return;
      case 'budget.spent':
        this.note(place, 'budget spent', fact.limit);
        return;
      case 'priority.changed':
        this.note(
          place,
          `${fact.change.id}: ${fact.change.to}`,
          `instead of ${fact.change.from} ${fact.change.reason}`,
        );
        return;
      case 'problem.noted':
        this.note(place, 'problem', fact.message).state = 'failed';
        return;
      case 'workflow.aborting':
        this.note(place, 'abort requested', fact.reason);
        return;
      case 'workflow.completed':
        this.end(place, 'done', 'completed', '');
        return;
      case 'workflow.exitedEarly':
        this.end(place, 'failed', 'exited early', fact.reason);
        return;
      default:
        fact satisfies never;
    }
  }

  /** Returns the open rows of an item, or those of the run if the item is null or settled. */
  private openOf(item: string | null): Open {
    return this.items.get(item ?? '') ?? this.run;
  }

  private begin(phase: Phase, item: string | null, place: RowPlace): void {
    const one = itemPhases.some((own) => own === phase) ? this.openOf(item) : this.run;
    endPhase(one, place);
    if (one.wait !== null && one.wait.ended === null) closeRow(one.wait, place, 'done');
    one.phase = this.row('phase', place, { title: phaseTitles[phase] });
    this.add(one.phase, one.row);
  }

  private failItem({ id, slugs, message, phase }: ItemFailure, place: RowPlace): void {
    const one = this.items.get(id);
    if (one === undefined) return;
    if (one.phase !== null) closeRow(one.phase, place, 'failed');
    one.phase = null;
    one.row.slugs = slugs;
    this.endItem(id, place, 'failed', `${phase}: ${message}`);
  }

  private endItem(id: string, place: RowPlace, state: Row['state'], detail: string | null = null): void {
    const one = this.items.get(id);
    if (one === undefined) return;
    endPhase(one, place);
    if (detail !== null) one.row.detail = `${detail} · ${one.row.detail}`;
    closeRow(one.row, place, state);
    this.items.delete(id);
  }

  private end(place: RowPlace, state: Row['state'], title: string, detail: string): void {
    endPhase(this.run, place);
    for (const { row } of this.items.values()) if (row.ended === null) closeRow(row, place, 'failed');
    if (this.root !== null) closeRow(this.root, place, state);
    const row = this.row('end', place, { title, detail });
    closeRow(row, place, state);
    this.add(row);
  }

  private note(place: RowPlace, title: string, detail: string, item: string | null = null): Row {
    const row = this.row('note', place, { title, detail });
    closeRow(row, place, 'done');
    this.add(row, this.items.get(item ?? '')?.row ?? this.run.phase);
    return row;
  }

  private add(row: Row, above: Row | null = null): void {
    (above ?? this.root)?.children.push(row);
  }
}

function endPhase(one: Open, place: RowPlace): void {
  if (one.phase !== null && one.phase.ended === null) closeRow(one.phase, place, 'done');
  one.phase = null;
}

function incidentText(incident: Incident): string {
  switch (incident.kind) {
    case 'consecutive_failures':
      return incident.failures.map(({ id }) => id).join(', ');
    case 'stop':
      return `${incident.stop.file} ${incident.stop.request}`;
    case 'agent_unavailable':
      return `${incident.agent}, for ${incident.item ?? 'the order'}: ${incident.errors.at(-1) ?? ''}`;
    case 'crash':
      return whereText(incident);
    default:
      return `in ${incident.phase}: ${incident.message}`;
  }
}

function whereText({ phase, item }: { phase: string; item: string | null }): string {
  return item === null ? `in ${phase}` : `in ${phase} ${item}`;
}
