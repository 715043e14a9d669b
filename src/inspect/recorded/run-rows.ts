import type { Incident, ItemFailure, Phase, WorkflowFact } from '../../../machines/index.ts';
import { closeRow, type Place, type Row, RowList } from './row-list.ts';
import type { Told } from './told.ts';

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

/** What happened in a workflow run, as a tree of lines: items with their phases, incidents, and the ending. */
export class RunRows extends RowList {
  private item: Row | null = null;
  private phase: Row | null = null;
  private wait: Row | null = null;

  take(one: Told, told: number): void {
    if ('runFact' in one) this.fact(one.runFact, { scope: '', told, at: one.at });
  }

  private fact(fact: WorkflowFact, place: Place): void {
    switch (fact.type) {
      case 'workflow.started':
        this.root = this.row('run', place, { title: 'run', detail: fact.run });
        return;
      case 'workflow.continued':
        this.note(place, 'continues a run that died', `${fact.run}, in ${fact.phase} ${fact.item ?? ''}`);
        return;
      case 'phase.started':
        this.begin(fact.phase, fact.item, place);
        return;
      case 'backlog.scanned':
        this.tell(`${fact.open} open, ${fact.blocked} blocked, ${fact.stops} STOP markers`);
        return;
      case 'item.started': {
        this.endPhase(place);
        const { id, title, priority } = fact.item;
        this.item = this.row('item', place, { title: id, detail: `${priority} ${title}` });
        this.add(this.item);
        return;
      }
      case 'item.succeeded':
        this.endItem(place, 'done');
        return;
      case 'item.setAside':
        this.endItem(place, 'waiting', `waits for a person: ${fact.needs}`);
        return;
      case 'item.failed':
        this.failItem(fact.failure, place);
        return;
      case 'agent.unavailable':
        this.note(place, `agent ${fact.agent} unavailable`, `try ${fact.tries}: ${fact.message}`);
        return;
      case 'wait.started':
        this.endPhase(place);
        this.wait = this.row('wait', place, { title: `waits for ${fact.agent}`, dueAt: fact.dueAt });
        this.add(this.wait, this.item);
        return;
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

  private begin(phase: Phase, item: string | null, place: Place): void {
    this.endPhase(place);
    if (this.wait !== null && this.wait.ended === null) closeRow(this.wait, place, 'done');
    this.phase = this.row('phase', place, { title: phaseTitles[phase] });
    this.add(this.phase, item !== null && this.item?.title === item ? this.item : null);
  }

  private endPhase(place: Place): void {
    if (this.phase !== null && this.phase.ended === null) closeRow(this.phase, place, 'done');
    this.phase = null;
  }

  private failItem({ slugs, message, phase }: ItemFailure, place: Place): void {
    if (this.phase !== null) closeRow(this.phase, place, 'failed');
    this.phase = null;
    if (this.item !== null) this.item.slugs = slugs;
    this.endItem(place, 'failed', `${phase}: ${message}`);
  }

  private endItem(place: Place, state: Row['state'], detail: string | null = null): void {
    this.endPhase(place);
    if (this.item === null) return;
    if (detail !== null) this.item.detail = `${detail} · ${this.item.detail}`;
    closeRow(this.item, place, state);
    this.item = null;
  }

  private end(place: Place, state: Row['state'], title: string, detail: string): void {
    this.endPhase(place);
    if (this.item !== null && this.item.ended === null) closeRow(this.item, place, 'failed');
    if (this.root !== null) closeRow(this.root, place, state);
    const row = this.row('end', place, { title, detail });
    closeRow(row, place, state);
    this.add(row);
  }

  private tell(detail: string): void {
    if (this.phase !== null) this.phase.detail = detail;
  }

  private note(place: Place, title: string, detail: string): Row {
    const row = this.row('note', place, { title, detail });
    closeRow(row, place, 'done');
    this.add(row, this.item ?? this.phase);
    return row;
  }

  private add(row: Row, above: Row | null = null): void {
    (above ?? this.root)?.children.push(row);
  }
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
      return `in ${incident.phase} ${incident.item ?? ''}`;
    default:
      return `in ${incident.phase}: ${incident.message}`;
  }
}
