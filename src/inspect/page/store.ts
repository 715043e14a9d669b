import type { Arriving } from '../live/live-tape.ts';
import type { Pictures } from '../recorded/pictures.ts';
import type { Series } from '../recorded/recording-data.ts';
import type { Row } from '../recorded/row-list.ts';
import { type Moment, ShownRecording } from '../recorded/shown-recording.ts';
import { type LineFilter, linesWith } from '../study/find.ts';
import { seriesOf } from '../study/series.ts';
import type { Unit } from '../study/steps.ts';
import { readWatch } from '../study/watch.ts';
import type { DeliveryChange, WhatIf } from '../study/what-if.ts';
import type { FromWorker, LeadingDelivery, Live, ToWorker } from './protocol.ts';
import { firstAttempt, type Pane, stepTabs, type Tab, tabs, units } from './tabs.ts';

/** How many parts are taken in between two drawings, while a session is played. */
const partsADraw = 10;

/** What the page shows: a session, where in it, and how. */
export class Store {
  readonly recorded = new ShownRecording();
  readonly pictures: Pictures;
  frame = -1;
  /** Whether the page stays at the end as more comes. */
  follows = true;
  tab: Tab = 'overview';
  /** The line that was chosen; null while the step says which is current. */
  chosen: number | null = null;
  /** What the middle shows: when things happened, or the machines. */
  middle: 'time' | 'machines' | 'closed' = 'time';
  unit: Unit = 'step';
  pane: Pane = 'details';
  /** The chart that stays in view; null for that of the machine that moved. */
  pinned: string | null = null;
  /** The rows that are not as they begin: folded, or a sub-agent's unfolded. */
  readonly folded = new Set<number>();
  finding: { text: string; filter: LineFilter } = { text: '', filter: 'all' };
  /** The ids of the lines that have it; null while all are shown. */
  found: ReadonlySet<number> | null = null;
  /** The rule whose steps are marked. */
  rule: string | null = null;
  /** The numbers that are drawn over the session. */
  watches: { text: string; series: Series }[] = [];
  showsHelp = false;
  /** Whether a change is shown beside what happened. */
  compares = false;
  failure: string | null = null;
  /** A sentence that the author of the file wants shown first. */
  note: string | null = null;
  /** How many entries had secrets, which were removed. */
  redacted = 0;
  /** How many entries there are to play. */
  total = 0;
  /** The running session that is shown, which takes commands; null for a file. */
  live: Live | null = null;
  /** What has arrived of replies that are not whole yet, by session and attempt. */
  readonly streaming = new Map<string, { kind: string; text: string }[]>();
  /** The session that this one departs from, and the change; null for a recorded session. */
  origin: { store: Store; name: string; change: DeliveryChange; pending: string[] } | null = null;
  /** Shows another store in place of this one. */
  show: (store: Store) => void = () => {};
  private readonly departures = new Set<Store>();
  private readonly makeWorker: () => Worker;
  private readonly worker: Worker;
  private readonly listeners = new Set<() => void>();
  private readonly asked = new Map<number, PromiseWithResolvers<unknown>>();
  private questions = 0;
  private parts = 0;
  private known: Moment | null = null;
  private isDrawing = false;

  constructor(makeWorker: () => Worker, pictures: Pictures) {
    this.makeWorker = makeWorker;
    const worker = makeWorker();
    this.worker = worker;
    this.pictures = pictures;
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.takeMessage(data);
    worker.onerror = ({ message }) => this.set({ failure: message });
  }

  /** Whether it is a workflow run, whose sessions have pages of their own. */
  get kind(): 'session' | 'run' {
    return this.recorded.run === null ? 'session' : 'run';
  }

  get tabs(): readonly Tab[] {
    return tabs[this.kind];
  }

  get units(): readonly Unit[] {
    return units[this.kind];
  }

  send(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  /** Opens at a step, instead of at the end. */
  startAt(frame: number): void {
    this.follows = false;
    this.frame = frame;
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set(
    change: Partial<
      Pick<
        Store,
        | 'live'
        | 'redacted'
        | 'compares'
        | 'rule'
        | 'watches'
        | 'tab'
        | 'unit'
        | 'pane'
        | 'pinned'
        | 'showsHelp'
        | 'failure'
        | 'note'
      >
    >,
  ): void {
    Object.assign(this, change);
    this.draw();
  }

  /** Shows a line as a whole. The step stays, unless what is shown is that of a step: then it is the line's last. */
  choose(row: Row): void {
    if (this.showsStep) this.go(this.recorded.frameOf(row.ended ?? row.told));
    this.chosen = row.id;
    if (this.tab === 'overview' && row.kind !== 'session') this.tab = 'attempt';
    this.draw();
  }

  /** Shows what there is about the step, or the line, at hand. */
  open(change: { tab?: Tab; middle?: Store['middle'] }): void {
    Object.assign(this, change);
    const row = this.chosenRow;
    if (row !== null && this.showsStep) {
      this.go(this.recorded.frameOf(row.ended ?? row.told));
      this.chosen = row.id;
    }
    this.draw();
  }

  get chosenRow(): Row | null {
    return this.chosen === null ? null : (this.recorded.rows.byId[this.chosen] ?? null);
  }

  /** The attempt at hand: that of the chosen line, or of the step. */
  get placeOfAttempt(): Pick<Moment, 'told' | 'scope'> {
    const row = this.chosenRow;
    return row === null ? this.moment : (firstAttempt(row) ?? row);
  }

  private get showsStep(): boolean {
    return this.kind === 'run' || this.middle === 'machines' || stepTabs.includes(this.tab);
  }

  /** Shows a frame; the last one is followed from then on. */
  go(frame: number): void {
    const last = this.recorded.microsteps.length - 1;
    this.chosen = null;
    this.frame = Math.max(Math.min(frame, last), Math.min(0, last));
    this.follows = this.frame === last;
    this.draw();
  }

  /** Looks for something else, or again. */
  find(change: Partial<Store['finding']> = {}): void {
    this.finding = { ...this.finding, ...change };
    this.found = linesWith(this.recorded, this.finding.text, this.finding.filter);
    this.draw();
  }

  fold(row: number): void {
    if (!this.folded.delete(row)) this.folded.add(row);
    this.draw();
  }

  get moment(): Moment {
    if (this.known?.frame !== this.frame) this.known = this.recorded.at(this.frame);
    return this.known;
  }

  get isLoading(): boolean {
    const isBehind = this.total === 0 || this.recorded.entries < this.total;
    return isBehind && this.recorded.difference === null && this.failure === null;
  }

  /** The context of the machine that made a step, after it. */
  contextAt(frame: number): Promise<unknown> {
    return this.ask((id) => ({ type: 'context', id, frame }));
  }

  /** Draws an expression over the session. Rejects with `invalid_options` if it is invalid. */
  async watch(text: string): Promise<void> {
    const series = await this.seriesOf(text);
    this.set({ watches: [...this.watches.filter((one) => one.text !== text), { text, series }] });
  }

  private async seriesOf(text: string): Promise<Series> {
    const watch = readWatch(text);
    const paths = watch.paths.filter((path) => !path.startsWith('counters.'));
    const contexts = (await this.ask((id) => ({ type: 'values', id, paths }))) as Record<string, Series>;
    return seriesOf(this.recorded, watch, contexts);
  }

  /** Updates the watched numbers as entries arrive. */
  private async watchOn(): Promise<void> {
    for (const watch of this.watches) watch.series = await this.seriesOf(watch.text);
    this.set({ watches: [...this.watches] });
  }

  /** The delivery that led to a step. */
  async deliveryAt(frame: number): Promise<LeadingDelivery> {
    return (await this.ask((id) => ({ type: 'delivery', id, frame }))) as LeadingDelivery;
  }

  /** Opens the session with a changed delivery in a new store. */
  async whatIf(change: DeliveryChange, name: string): Promise<void> {
    const { entries, pending } = (await this.ask((id) => ({ type: 'whatIf', id, change }))) as WhatIf;
    const other = new Store(this.makeWorker, this.pictures);
    other.send({ type: 'entries', entries });
    other.origin = { store: this, name, change, pending };
    this.departures.add(other);
    this.show(other);
  }

  /** Returns from a change to the recorded session. */
  goBack(): void {
    const { origin } = this;
    if (origin === null) return;
    origin.store.departures.delete(this);
    origin.store.show(origin.store);
    this.close();
  }

  private ask(message: (id: number) => ToWorker): Promise<unknown> {
    this.questions += 1;
    const asked = Promise.withResolvers<unknown>();
    this.asked.set(this.questions, asked);
    this.send(message(this.questions));
    return asked.promise;
  }

  /** Takes in what has arrived of a part of a reply. */
  arrive({ scope, turn, attempt, part, kind, text }: Arriving): void {
    const key = `${scope} ${turn} ${attempt}`;
    const parts = this.streaming.get(key) ?? [];
    parts[part] = { kind, text };
    this.streaming.set(key, parts);
    this.draw();
  }

  /** Terminates its worker and those of its departures. */
  close(): void {
    for (const other of this.departures) other.close();
    this.worker.terminate();
  }

  private takeMessage(message: FromWorker): void {
    if ('id' in message) {
      const asked = this.asked.get(message.id);
      this.asked.delete(message.id);
      if (message.type === 'answer') asked?.resolve(message.value);
      else asked?.reject(new Error(message.message));
      return;
    }
    if (message.type === 'failed') {
      this.set({ failure: message.message });
      return;
    }
    this.recorded.takePart(message.part);
    this.total = message.total;
    this.known = null;
    const last = this.recorded.microsteps.length - 1;
    if (this.follows || (this.frame > last && !this.isLoading)) this.frame = last;
    if (!this.tabs.includes(this.tab)) this.tab = this.tabs[0] ?? 'why';
    this.parts += 1;
    if (this.isLoading && this.parts % partsADraw !== 0) return;
    if (this.found !== null) this.find();
    this.draw();
    if (!this.isLoading && this.watches.length > 0)
      this.watchOn().catch((error) => this.set({ failure: error.message }));
  }

  /** Draws once in the browser's next frame, however much came. */
  private draw(): void {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      for (const listener of this.listeners) listener();
    });
  }
}
