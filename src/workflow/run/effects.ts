import { join } from 'node:path';
import type {
  ItemStep,
  RestoreOutcome,
  RunState,
  ScanOutcome,
  SessionEffectKinds,
  StopMarker,
  WorkflowEffectKinds,
  WorkOutcome,
} from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import { messageOf } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Perform } from '../../host/driver.ts';
import { type BacklogItem, folderOf, type ReadItem, readBacklog, refOf, stopMarkers } from '../backlog/backlog.ts';
import { readConfig } from '../backlog/config.ts';
import { KnownItems } from '../backlog/reading/known-items.ts';
import { keepAside, readState } from '../backlog/state-file.ts';
import { type NamedAgent, type Sessions, type WorkFunction, work } from './agents.ts';
import { finishWrites } from './ending/capture.ts';
import { EndingEffects } from './ending/ending-effects.ts';
import { archiveItem, leaveForReview, leftForReview, noteWork, setItemAside } from './filing.ts';
import { InProgress } from './in-progress.ts';
import { workPrompt } from './prompts.ts';
import { behind, Queue } from './queue.ts';
import { RunFolder } from './run-folder.ts';
import type { Spending } from './spending.ts';
import { Tries } from './tries.ts';
import { WorkTree } from './work-tree.ts';

/** Returns the ids of the open items in a new order. Items that it leaves out follow in their usual order. */
export type ScanFunction = (items: readonly BacklogItem[]) => string[] | Promise<string[]>;
/** Writes text for the retrospective or the summary of a run. */
export type WordsFunction = (ending: { state: RunState; document: string }) => string | Promise<string>;

/** The agents of a run. Each optional one has a default that needs no model. */
export type WorkflowAgents = {
  /** Decides the order. Default: P0 before P3, bugs before features, by number. */
  scan?: Agent | NamedAgent | ScanFunction;
  process: Agent | NamedAgent | WorkFunction;
  /** Tests the work on an item. Default: no tests. */
  test?: Agent | NamedAgent | WorkFunction;
  /** Adds text to the computed retrospective. Default: no text. */
  retrospective?: Agent | NamedAgent | WordsFunction;
  /** Adds text to the computed report of the run. Default: no text. */
  summary?: Agent | NamedAgent | WordsFunction;
};

export type WorkflowParts = {
  backlog: string;
  agents: WorkflowAgents;
  sessions: Omit<Sessions, 'folder'>;
  clock: Clock;
  spending: Spending;
  /** The runs that may fail at an item before it is left to a person. */
  maxTries: number;
  /** What a person was warned of. */
  warnings: ReadonlySet<string>;
};

type Kinds = WorkflowEffectKinds & Pick<SessionEffectKinds, 'wait'>;
type Outcome<K extends keyof Kinds> = Promise<Kinds[K]['outcome']>;

/** Performs the effects of one run on the backlog. Each effect writes the state file first (W-4). */
export class RunEffects {
  readonly ending: EndingEffects;
  private readonly parts: WorkflowParts;
  private readonly folder: RunFolder;
  private readonly workTree: WorkTree;
  private readonly tries: Tries;
  /** Problems that did not end the run. */
  private readonly notes: string[] = [];
  private readonly queue: Queue;
  private readonly known = new KnownItems<ReadItem>();
  private readonly inProgress: InProgress;

  constructor(parts: WorkflowParts) {
    this.parts = parts;
    this.folder = new RunFolder(parts.backlog);
    this.ending = new EndingEffects(parts, this.folder);
    this.queue = new Queue(parts, this.folder, (problem) => this.notes.push(problem));
    this.inProgress = new InProgress(parts.backlog);
    this.tries = new Tries(parts.backlog, (problem) => this.notes.push(problem));
    this.workTree = new WorkTree(parts.backlog, parts.sessions.warn);
  }

  readonly perform: Perform = (effect, context) => {
    switch (effect.kind) {
      case 'restore':
        return this.restore();
      case 'scan':
        return this.scan(effect.request);
      case 'work':
        return this.work(effect.request);
      case 'archive':
        return this.archive(effect.request);
      case 'setAside':
        return this.setAside(effect.request);
      case 'capture':
        return this.ending.capture(effect.request);
      case 'review':
        return this.review(effect.request);
      case 'summarise':
        return this.ending.summarise(effect.request);
      case 'wait':
        return this.wait(effect.request, context);
      default:
        return Promise.reject(new Error(`unknown effect of a run: ${effect.kind}`));
    }
  };

  /** What failed since the last scan is noted first. */
  private async review(request: Kinds['review']['request']): Outcome<'review'> {
    try {
      await this.leaveWhatFails(request.state);
    } catch (error) {
      this.notes.push(`What failed could not be noted for the next run: ${messageOf(error)}`);
    }
    return this.ending.review(request, this.notes);
  }

  private async restore(): Promise<RestoreOutcome> {
    const { backlog } = this.parts;
    try {
      await this.inProgress.end();
      this.notes.push(...readConfig(backlog).problems, ...(await finishWrites(backlog)));
      const found = readState(backlog);
      if (found.kind === 'corrupt') {
        return { kind: 'corrupt', message: `${found.message}. It is kept as ${keepAside(backlog)}.` };
      }
      if (found.kind === 'foreign') {
        const { says, failures } = found;
        this.notes.push(`The state file belonged to another tool: ${says}. It is kept as ${keepAside(backlog)}.`);
        this.tries.note({ run: 'of another tool', succeeded: [], failures: failures.map((id) => ({ id })) });
      }
      if (found.kind !== 'died') return { kind: 'fresh' };
      const { state } = found;
      const item = this.itemOf(state.current_item);
      const isDone = state.current_phase === 'archiving';
      const problem = isDone ? await this.archivedToTheEnd(state) : null;
      if (isDone && state.changed.length === 0 && readConfig(backlog).auto_commit)
        this.parts.sessions.warn(
          `What the work on ${state.current_item} changed is not committed: the process died before.`,
        );
      return { kind: 'crashed', state, item: item === null ? null : refOf(item), problem };
    } catch (error) {
      return { kind: 'critical', message: messageOf(error) };
    }
  }

  private async scan({ state }: Kinds['scan']['request']): Promise<ScanOutcome> {
    const { backlog } = this.parts;
    try {
      this.folder.begin(state);
      const tries = await this.leaveWhatFails(state);
      const { items } = readBacklog(backlog, this.known);
      const stops = stopMarkers(backlog, state.run, items);
      const appeared = this.folder.appeared(state);
      const { spending } = this.parts;
      // The run takes no further item, so no order is needed.
      const isOver = stops.length > 0 || spending.spent() !== null;
      const ordered = isOver ? items : await this.queue.ordered(behind(items, tries), state);
      if (!('lost' in ordered))
        return { ok: true, items: ordered.map(refOf), stops, appeared, spent: spending.spent() };
      const { verdict, agent, slugs, message, requests, lookedFor } = ordered.lost;
      if (verdict !== 'unavailable') return { ok: false, message };
      return { ok: false, unavailable: { agent, slugs, message, requests, lookedFor } };
    } catch (error) {
      return { ok: false, message: messageOf(error) };
    }
  }

  /**
   * Notes what failed, and leaves to a person what failed in `maxTries` runs. Returns the runs in which the other items
   * failed.
   */
  private async leaveWhatFails(state: RunState): Promise<ReadonlyMap<string, readonly string[]>> {
    const { backlog, maxTries } = this.parts;
    const tries = new Map(this.tries.note(state));
    for (const [id, runs] of tries) {
      if (runs.length < maxTries) continue;
      const item = this.itemOf(id);
      if (item?.status === leftForReview) continue;
      if (item !== null && runs.includes(state.run)) {
        const commit = await leaveForReview(backlog, item, runs);
        this.notes.push(`${id} failed in ${runs.length} runs, so it is left for review.`);
        if (commit?.ok === false) this.notes.push(`${id} is left for review, but not committed: ${commit.message}`);
        continue;
      }
      // It is gone, or a person has set another status.
      tries.delete(id);
      this.tries.forget(id);
    }
    return tries;
  }

  private async work({ state, item, phase }: Kinds['work']['request']): Outcome<'work'> {
    const { backlog, agents, sessions } = this.parts;
    const nothing = { agent: phase, slugs: [], requests: 0, lookedFor: [], stops: [], changed: [] };
    try {
      this.folder.begin(state);
      const found = this.itemOf(item.id);
      if (found === null) {
        return { ...nothing, verdict: 'failed', message: `${item.folder} is gone or can no longer be read` };
      }
      const spent = this.parts.spending.spent();
      if (spent !== null) {
        const message = `The budget of the run is spent (${spent}), so work did not start.`;
        // Work that never began did not fail. Work that cannot be tested did.
        const verdict = phase === 'processing' ? 'unstarted' : 'failed';
        return { ...nothing, verdict, slugs: ['budget_exhausted'], message };
      }
      const agent = phase === 'processing' ? agents.process : agents.test;
      if (agent === undefined) throw new Error('there is no test agent');
      const prompt = workPrompt(backlog, found, phase);
      const task = { phase, item: found, folder: join(backlog, found.folder), prompt, signal: sessions.signal };
      const isLast = phase === 'testing' || agents.test === undefined;
      const unwritten: unknown[] = [];
      // From here on, a crash puts the item away, and nobody works on it again (W-4).
      const settled = ({ verdict }: Pick<WorkOutcome, 'verdict'>) => {
        if (!isLast || verdict !== 'succeeded') return;
        try {
          this.folder.begin({ ...state, current_phase: 'archiving' });
        } catch (error) {
          unwritten.push(error);
        }
      };
      await this.inProgress.begin(found);
      const before = await this.workTree.before();
      const outcome = await work(agent, task, { ...sessions, folder: this.folder.of(state) }, settled);
      if (unwritten.length > 0) throw unwritten[0];
      const changed = await this.workTree.since(before);
      await this.inProgress.end();
      if (phase === 'processing') this.workTree.warnOf(item.id, outcome, changed);
      const problem = await noteWork(backlog, found.folder, { run: state.run, phase, ...outcome });
      if (problem !== null) this.notes.push(problem);
      return { ...outcome, stops: this.stops(state), changed: changed ?? [] };
    } catch (error) {
      await this.inProgress.end().catch((problem) => this.notes.push(messageOf(problem)));
      return { ...nothing, verdict: 'critical', message: messageOf(error) };
    }
  }

  private async archive({ state, item }: ItemStep): Outcome<'archive'> {
    try {
      this.folder.begin(state);
      return await archiveItem(this.parts.backlog, item.folder, state.changed);
    } catch (error) {
      return { ok: false, message: messageOf(error) };
    }
  }

  private async setAside({ state, item, draft, needs }: Kinds['setAside']['request']): Outcome<'setAside'> {
    try {
      this.folder.begin(state);
      const blocked = { draft, needs, run: state.run, id: item.id };
      const { action, note, failure } = await setItemAside(this.parts.backlog, this.itemOf(item.id), blocked);
      if (note !== null) this.notes.push(note);
      // A git failure is a critical error. The action exists, and is listed as created during the run.
      return failure === null ? { ok: true, created: [action] } : { ok: false, message: failure };
    } catch (error) {
      // The message keeps the human action, whose file could not be written.
      return { ok: false, message: `${messageOf(error)}; ${item.id} is blocked: ${needs}` };
    }
  }

  /** Finishes archiving an item after the process died. Returns why it failed, or null. */
  private async archivedToTheEnd({ current_item: id, changed }: RunState): Promise<string | null> {
    const folder = id === null ? null : folderOf(this.parts.backlog, id);
    if (folder === null) return `${id} is gone`;
    const outcome = await archiveItem(this.parts.backlog, folder, changed);
    return outcome.ok ? null : outcome.message;
  }

  /** Finds STOP markers in the comments of the item, the backlog and the run. The next scan searches all items. */
  private stops({ run, current_item: id }: RunState): StopMarker[] {
    const item = this.itemOf(id);
    return stopMarkers(this.parts.backlog, run, item === null ? [] : [item]);
  }

  private async wait(
    { dueAt }: Kinds['wait']['request'],
    { signal }: { signal: AbortSignal },
  ): Promise<Record<string, never>> {
    await this.parts.clock.sleepUntil(dueAt, signal);
    return {};
  }

  /** Finds an item in the open folders, even if an agent has already marked it as done. */
  private itemOf(id: string | null): BacklogItem | null {
    const { items, done } = readBacklog(this.parts.backlog, this.known);
    return [...items, ...done].find((item) => item.id === id) ?? null;
  }
}
