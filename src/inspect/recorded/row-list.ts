import type { Slug } from '../../../machines/index.ts';
import type { Observation } from './recording-data.ts';

export type RowKind = 'session' | 'turn' | 'attempt' | 'call' | 'run' | 'item' | 'phase' | 'wait' | 'note' | 'end';

/** What a line did for a time, in epoch ms: a request, a tool, what waits for a person, or a pause. `to` is null so far. */
export type RowSpan = { kind: 'model' | 'tool' | 'person' | 'pause'; from: number; to: number | null };

/** What the requests of a line spent: tokens, and US dollars, null where a price is unknown. */
export type RowSpent = { tokens: number; costUsd: number | null };

/** A line of what happened. Times are epoch ms; `told` counts facts and sightings. */
export type Row = {
  id: number;
  kind: RowKind;
  scope: string;
  title: string;
  detail: string;
  slugs: Slug[];
  state: 'running' | 'waiting' | 'done' | 'failed';
  /** When it began: the number of its fact. */
  told: number;
  /** The number of the fact that ended it; null before that. */
  ended: number | null;
  at: number;
  endedAt: number | null;
  turn: number;
  attempt: number;
  callId: string | null;
  /** Whether it is a call of a client-side tool, which waits for its answer. */
  isHandedOut: boolean;
  /** The system notice that the attempt's request carried. */
  notice: string | null;
  /** Until when it waits. */
  dueAt: number | null;
  /** What it did, and when. */
  spans: RowSpan[];
  /** What its replies spent, with those of the lines below it; null without a reply. */
  spent: RowSpent | null;
  children: Row[];
};

/** Where in the session something was told. `at` is epoch ms. */
export type RowPlace = { scope: string; told: number; at: number };

/** What happened, as a tree of lines. */
export abstract class RowList {
  /** The row of the session or the run itself; null before it started. */
  root: Row | null = null;
  readonly byId: Row[] = [];

  /** Takes in what was told, by its number from 1. */
  abstract takeObservation(one: Observation, told: number): void;

  protected row(kind: RowKind, { scope, told, at }: RowPlace, own: Partial<Row>): Row {
    const row: Row = {
      id: this.byId.length,
      kind,
      scope,
      title: '',
      detail: '',
      slugs: [],
      state: 'running',
      told,
      ended: null,
      at,
      endedAt: null,
      turn: 0,
      attempt: 0,
      callId: null,
      isHandedOut: false,
      notice: null,
      dueAt: null,
      spans: [],
      spent: null,
      children: [],
      ...own,
    };
    this.byId.push(row);
    return row;
  }
}

/** Ends what a row did, and begins what it does from now on; null for nothing. */
export function spanRow(row: Row, kind: RowSpan['kind'] | null, at: number): void {
  const last = row.spans.at(-1);
  if (last?.to === null) last.to = at;
  if (kind !== null) row.spans.push({ kind, from: at, to: null });
}

/** Adds a reply to what a row spent. */
export function spendRow(row: Row, { tokens, costUsd }: RowSpent): void {
  const before = row.spent ?? { tokens: 0, costUsd: 0 };
  row.spent = {
    tokens: before.tokens + tokens,
    costUsd: before.costUsd === null || costUsd === null ? null : before.costUsd + costUsd,
  };
}

/** Ends a row. */
export function closeRow(row: Row, { told, at }: RowPlace, state: Row['state']): void {
  spanRow(row, null, at);
  Object.assign(row, { ended: told, endedAt: at, state });
}
