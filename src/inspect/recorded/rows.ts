import type { Fact, SummaryRequest } from '../../../machines/index.ts';
import type { Sighting } from '../../observe/events.ts';
import { PrefixBreaks } from '../../observe/prefix-breaks.ts';
import { pieceName } from '../../vocabulary/refused-pieces.ts';
import type { Observation } from './recording-data.ts';
import { closeRow, type Row, RowList, type RowPlace, type RowSpan, spanRow, spendRow } from './row-list.ts';
import { breakTexts, noteOf, planText } from './row-texts.ts';

type Of<T extends Fact['type']> = Extract<Fact, { type: T }>;
type Open = {
  session: Row;
  /** The lines that the session is below, if it is that of a sub-agent. */
  above: readonly Row[];
  turn: Row | null;
  attempt: Row | null;
  calls: Map<number, Row>;
  wait: Row | null;
  prefix: PrefixBreaks;
};

/** What a call does from a fact on; null for nothing. */
const spanKinds: Partial<Record<Fact['type'], RowSpan['kind'] | null>> = {
  'tool.approvalRequested': 'person',
  'tool.approved': null,
  'tool.denied': null,
  'tool.started': 'tool',
};

/** What happened in a session, as a tree of lines: turns, attempts, calls, and the sub-agents below their calls. */
export class Rows extends RowList {
  private readonly open = new Map<string, Open>();

  takeObservation(one: Observation, told: number): void {
    const place = { scope: one.scope, told, at: one.at };
    if ('fact' in one) this.fact(one.fact, place);
    else if ('sighting' in one) this.sighting(one.sighting, place);
  }

  private fact(fact: Fact, place: RowPlace): void {
    if (fact.type === 'session.started') {
      this.begin(fact, place);
      return;
    }
    const open = this.open.get(place.scope);
    if (open === undefined) return;
    open.prefix.fact(fact);
    if (fact.type.startsWith('turn.')) this.turn(fact as Of<'turn.started'>, open, place);
    else if (fact.type.startsWith('attempt.')) this.attempt(fact as Of<'attempt.started'>, open, place);
    else if (fact.type.startsWith('tool.')) this.call(fact as Of<'tool.requested'>, open, place);
    else this.other(fact, open, place);
  }

  private begin({ maxTurns, maxRetries, targets }: Of<'session.started'>, place: RowPlace): void {
    const session = this.row('session', place, {
      title: place.scope === '' ? 'session' : `sub-agent ${place.scope.split('/').at(-1)}`,
      detail: `at most ${maxTurns} turns × ${maxRetries} attempts, on ${targets.join(', ')}`,
    });
    const parts = place.scope.split('/');
    const above = place.scope === '' ? undefined : this.open.get(parts.slice(0, -1).join('/'));
    const call = above === undefined ? null : this.callWithId(above, parts.at(-1) ?? '');
    this.open.set(place.scope, {
      session,
      // Without an open call, the session is the line above.
      above: above === undefined || call === null ? [] : [...new Set([...linesOf(above), call])],
      turn: null,
      attempt: null,
      calls: new Map(),
      wait: null,
      prefix: new PrefixBreaks(),
    });
    if (call === null) this.root = session;
    else call.children.push(session);
  }

  private turn(
    fact: Of<`turn.${'started' | 'planned' | 'progressed' | 'finished' | 'exhausted' | 'aborted'}`>,
    open: Open,
    place: RowPlace,
  ) {
    switch (fact.type) {
      case 'turn.planned':
        this.note(open.session, place, `plan of turn ${fact.turn}`, planText(fact));
        return;
      case 'turn.started':
        open.turn = this.row('turn', place, {
          title: `turn ${fact.turn}`,
          detail: fact.isLastTurn ? 'the last: only the report' : '',
          turn: fact.turn,
        });
        open.session.children.push(open.turn);
        return;
      default:
        if (open.turn === null) return;
        closeRow(open.turn, place, fact.type === 'turn.exhausted' || fact.type === 'turn.aborted' ? 'failed' : 'done');
        if (fact.type === 'turn.exhausted') open.turn.slugs = fact.slugs;
    }
  }

  private attempt(
    fact: Of<`attempt.${'started' | 'replied' | 'finished' | 'progressed' | 'failed' | 'aborted'}`>,
    open: Open,
    place: RowPlace,
  ) {
    if (fact.type === 'attempt.started') {
      const { attempt, turn, target, notice } = fact;
      open.attempt = this.row('attempt', place, { title: `attempt ${attempt}`, detail: target, turn, attempt, notice });
      spanRow(open.attempt, 'model', place.at);
      open.calls.clear();
      (open.turn ?? open.session).children.push(open.attempt);
      const { current: cause } = open.prefix;
      if (cause !== null) this.note(open.attempt, place, 'cache prefix broken', breakTexts[cause], 'B-5d');
      return;
    }
    if (open.attempt === null) return;
    if (fact.type === 'attempt.replied') {
      spanRow(open.attempt, null, place.at);
      this.spend(linesOf(open), fact);
      if (fact.fault !== null) open.attempt.detail = `${fact.target}: ${fact.fault.message}`;
      return;
    }
    closeRow(
      open.attempt,
      place,
      fact.type === 'attempt.failed' || fact.type === 'attempt.aborted' ? 'failed' : 'done',
    );
    if (fact.type !== 'attempt.failed') return;
    open.attempt.slugs = fact.slugs;
  }

  /** `asked`: a request and its cost; null for a summary that asked no model. */
  private spend(rows: readonly Row[], asked: Pick<SummaryRequest, 'usage' | 'costUsd'> | null): void {
    if (asked === null) return;
    const { usage, costUsd } = asked;
    for (const row of rows) spendRow(row, { tokens: usage.input + usage.output, costUsd });
  }

  private call(
    fact: Of<`tool.${'requested' | 'approvalRequested' | 'approved' | 'denied' | 'started' | 'answered'}`>,
    open: Open,
    place: RowPlace,
  ) {
    if (fact.type === 'tool.requested') {
      const row = this.row('call', place, {
        title: fact.name,
        turn: fact.turn,
        attempt: fact.attempt,
        callId: fact.callId,
      });
      open.calls.set(fact.index, row);
      (open.attempt ?? open.session).children.push(row);
      return;
    }
    const row = open.calls.get(fact.index);
    if (row === undefined) return;
    const kind = spanKinds[fact.type];
    if (kind !== undefined) spanRow(row, kind, place.at);
    if (fact.type === 'tool.approvalRequested') Object.assign(row, { state: 'waiting', detail: 'waits for approval' });
    if (fact.type === 'tool.approved') Object.assign(row, { state: 'running', detail: 'approved' });
    if (fact.type === 'tool.denied')
      Object.assign(row, { detail: `denied${fact.reason === null ? '' : `: ${fact.reason}`}` });
    if (fact.type === 'tool.started') Object.assign(row, { state: 'running' });
    if (fact.type !== 'tool.answered') return;
    if (row.state === 'waiting') row.detail = '';
    closeRow(row, place, fact.slug === null ? 'done' : 'failed');
    if (fact.slug !== null) row.slugs = [fact.slug];
  }

  private other(fact: Fact, open: Open, place: RowPlace): void {
    const inAttempt = open.attempt ?? open.session;
    switch (fact.type) {
      case 'wait.started':
        open.wait = this.row('wait', place, { title: `waits for ${fact.target}`, turn: fact.turn, dueAt: fact.dueAt });
        spanRow(open.wait, 'pause', place.at);
        (open.turn ?? open.session).children.push(open.wait);
        return;
      case 'admission.requested':
        open.wait = this.row('wait', place, { title: `asks for a place at ${fact.target}`, turn: fact.turn });
        spanRow(open.wait, 'pause', place.at);
        (open.turn ?? open.session).children.push(open.wait);
        return;
      case 'admission.ended':
      case 'wait.ended':
        if (open.wait !== null) closeRow(open.wait, place, 'done');
        return;
      case 'session.collapsed':
        this.note(
          open.session,
          place,
          'collapse',
          `at most ${fact.to} turns instead of ${fact.from} (${fact.reason})`,
          'B-4',
        );
        return;
      case 'session.steered':
        this.note(open.session, place, 'steered', fact.text);
        return;
      case 'session.stopping':
        this.note(open.session, place, 'stop requested', 'the next turn is the last');
        return;
      case 'session.aborting':
        this.note(open.session, place, 'abort requested', fact.reason);
        return;
      case 'target.excluded':
        this.note(inAttempt, place, `no more requests to ${fact.target}`, fact.detail).slugs = [fact.slug];
        return;
      case 'results.omitted':
        this.note(open.turn ?? open.session, place, 'results left out', fact.callIds.join(', '));
        return;
      case 'conversation.compacted':
        this.spend([...open.above, open.session], fact.asked);
        this.note(open.session, place, 'compacted', fact.message, 'T-9');
        return;
      case 'compaction.failed':
        this.spend([...open.above, open.session], fact.asked);
        this.note(open.session, place, 'not compacted', fact.detail, 'T-9');
        return;
      case 'piece.replaced':
        this.note(inAttempt, place, `${pieceName(fact.piece)} left out`, fact.detail);
        return;
      case 'progress.reported':
        this.note(inAttempt, place, 'progress', fact.message);
        return;
      case 'report.rejected':
        this.note(inAttempt, place, 'report rejected', fact.reasons).slugs = [fact.slug];
        return;
      case 'report.accepted':
        this.note(inAttempt, place, 'report accepted', fact.source);
        return;
      case 'session.succeeded':
      case 'session.failed':
      case 'session.aborted':
        this.end(fact, open, place);
        return;
      default:
    }
  }

  private end(fact: Of<'session.succeeded' | 'session.failed' | 'session.aborted'>, open: Open, place: RowPlace): void {
    const state = fact.type === 'session.succeeded' ? 'done' : 'failed';
    closeRow(open.session, place, state);
    if (open.wait !== null && open.wait.ended === null) closeRow(open.wait, place, 'done');
    const slugs = 'failure' in fact ? fact.failure.slugs : [];
    open.session.slugs = slugs;
    const detail = 'failure' in fact ? (fact.failure.detail ?? '') : '';
    const row = this.row('end', place, { title: fact.type.replace('session.', ''), detail, slugs });
    closeRow(row, place, state);
    open.session.children.push(row);
  }

  private sighting(sighting: Sighting, place: RowPlace): void {
    const open = this.open.get(place.scope);
    if (open === undefined) return;
    open.prefix.sighting(sighting);
    if (sighting.type === 'tool.handedOut') {
      const row = this.callWithId(open, sighting.callId);
      spanRow(row, 'person', place.at);
      Object.assign(row, { state: 'waiting', detail: 'waits for an answer', isHandedOut: true });
      return;
    }
    if (sighting.type === 'tool.asked' || sighting.type === 'tool.replied')
      spanRow(this.callWithId(open, sighting.callId), sighting.type === 'tool.asked' ? 'person' : 'tool', place.at);
    const note = noteOf(sighting);
    if (note !== null) this.note(open.attempt?.ended === null ? open.attempt : open.session, place, ...note);
  }

  private note(above: Row, place: RowPlace, title: string, detail: string, rule = ''): Row {
    const row = this.row('note', place, { title, detail: rule === '' ? detail : `${detail} · ${rule}` });
    closeRow(row, place, 'done');
    above.children.push(row);
    return row;
  }

  /** The row of the call that a sub-agent answers: the latest of this id. */
  private callWithId({ calls, session }: Open, callId: string): Row {
    return [...calls.values()].findLast((row) => row.callId === callId) ?? session;
  }
}

/** The lines that what happens now is below, in a session. */
function linesOf({ above, session, turn, attempt }: Open): Row[] {
  return [...above, session, turn, attempt].filter((row) => row !== null);
}
