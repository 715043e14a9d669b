import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ArchiveOutcome,
  type FilingOutcome,
  noOutcome,
  type RunState,
  type StopMarker,
  type WorkflowEffectKinds,
  type WorkOutcome,
  type WorkPhase,
} from '../../../machines/index.ts';
import { messageOf } from '../../input/errors.ts';
import { listed } from '../../platform/text.ts';
import { type BacklogItem, folderOf, stopMarkers } from '../backlog/backlog.ts';
import { readConfig } from '../backlog/config.ts';
import { itemText } from '../backlog/reading/item-text.ts';
import { sweepIndexes } from '../git/git.ts';
import { type Done, type WorkTask, workOnItem } from './agents.ts';
import { archiveItem, noteWork, setItemAside } from './filing.ts';
import type { WorkflowParts } from './parts.ts';
import { InProgress } from './places/in-progress.ts';
import { type Place, Places } from './places/places.ts';
import { WorkTree } from './places/work-tree.ts';
import { workPrompt } from './prompts.ts';
import type { RunFolder } from './run-folder.ts';

type Kinds = WorkflowEffectKinds;
type Request<K extends keyof Kinds> = Kinds[K]['request'];

/** What became of an item that was in progress when the process died, or why it could not be archived. */
type Restored = { end: 'interrupted' | 'archived' } | { end: 'conflict'; message: string } | { problem: string };

type Owner = {
  /** Notes a problem that does not end the run. */
  note(problem: string): void;
  /** Finds an item in the open folders. */
  itemOf(id: string): BacklogItem | null;
};

/** Performs the effects on the items of a run: work, archive and set aside. */
export class ItemEffects {
  private readonly parts: WorkflowParts;
  private readonly folder: RunFolder;
  private readonly owner: Owner;
  private readonly places: Places;
  private readonly inProgress: InProgress;
  /** What was changed in the project for each item that is not completed, as paths below the backlog. */
  private readonly changes = new Map<string, ReadonlySet<string>>();

  constructor(parts: WorkflowParts, folder: RunFolder, owner: Owner) {
    this.parts = parts;
    this.folder = folder;
    this.owner = owner;
    this.places = new Places(parts.home, parts.concurrency > 1);
    this.inProgress = new InProgress(parts.backlog);
  }

  async work({ run, item, phase }: Request<'work'>): Promise<WorkOutcome> {
    const { spending } = this.parts;
    try {
      this.folder.beginPhase(item.id, phase);
      const found = this.owner.itemOf(item.id);
      if (found === null) {
        const message = `${item.folder} is gone or can no longer be read`;
        return { ...noOutcome, agent: phase, verdict: 'failed', message };
      }
      const spent = spending.spent();
      if (spent !== null) {
        const message = `The budget of the run is spent (${spent}), so work did not start.`;
        return { ...noOutcome, ...unstarted(phase), agent: phase, slugs: ['budget_exhausted'], message };
      }
      const place = await this.places.of(item.id, phase);
      await this.inProgress.begin(found);
      const { outcome, changed } = await this.workAt(place, found, { run, phase });
      await this.inProgress.end(item.id);
      const problem = await noteWork(this.parts.backlog, found.folder, { run, phase, ...outcome });
      if (problem !== null) this.owner.note(problem);
      if (phase === 'processing' && outcome.verdict === 'succeeded' && changed?.length === 0)
        this.parts.sessions.warn(`${item.id}: ${outcome.agent} changed no file.`);
      const { verdict } = outcome.verdict === 'unstarted' ? unstarted(phase) : outcome;
      return { ...outcome, verdict, stops: this.stops(run, place, item.id), changed: changed ?? [] };
    } catch (error) {
      await this.inProgress.end(item.id).catch((problem) => this.owner.note(messageOf(problem)));
      return { ...noOutcome, agent: phase, verdict: 'critical', message: messageOf(error) };
    }
  }

  private async workAt(
    place: Place,
    item: BacklogItem,
    { run, phase }: Pick<Request<'work'>, 'run' | 'phase'>,
  ): Promise<{ outcome: Done; changed: string[] | null }> {
    const { backlog, agents, sessions } = this.parts;
    const agent = phase === 'processing' ? agents.process : agents.test;
    if (agent === undefined) throw new Error('there is no test agent');
    const unwritten: unknown[] = [];
    const isLast = phase === 'testing' || agents.test === undefined;
    // From here on, a crash puts the item away, and no agent works on it again (W-4).
    const onOutcome = ({ verdict }: Pick<WorkOutcome, 'verdict'>) => {
      if (!isLast || verdict !== 'succeeded') return;
      try {
        this.folder.beginPhase(item.id, 'archiving');
      } catch (error) {
        unwritten.push(error);
      }
    };
    const tree = new WorkTree(existsSync(place.backlog) ? place.backlog : place.root, sessions.warn);
    const before = await tree.before();
    const own = { ...sessions, place, folder: this.folder.of({ run }) };
    const outcome = await workOnItem(agent, this.taskOf(place, item, phase, backlog), own, onOutcome);
    const changed = await tree.since(before);
    // In a work tree of its own, nothing is changed in the project until it is merged.
    if (!this.places.areApart) this.noteChanges(item.id, changed ?? []);
    if (unwritten.length > 0) throw unwritten[0];
    return { outcome, changed };
  }

  private noteChanges(id: string, changed: readonly string[]): void {
    this.changes.set(id, new Set([...(this.changes.get(id) ?? []), ...changed]));
  }

  private taskOf(place: Place, item: BacklogItem, phase: WorkPhase, backlog: string): WorkTask {
    // Git may ignore the backlog, which then has no copy.
    const there = existsSync(join(place.backlog, item.folder)) ? place.backlog : backlog;
    return {
      phase,
      item,
      root: place.root,
      folder: join(there, item.folder),
      prompt: workPrompt(backlog, there, item, phase),
      signal: this.parts.sessions.signal,
    };
  }

  /** Warns, at the end of the run, of uncommitted changes that were made for items that were not completed. */
  async warnOfUncommitted(): Promise<void> {
    const { backlog, home, sessions } = this.parts;
    if (this.changes.size === 0 || !readConfig(backlog).auto_commit) return;
    const uncommitted = await new WorkTree(home.backlog, sessions.warn).uncommitted();
    for (const [id, changed] of this.changes) {
      const left = [...changed].filter((path) => uncommitted?.includes(path) ?? true);
      if (left.length > 0) sessions.warn(`${id} was not completed. These changes were not committed: ${listed(left)}`);
    }
  }

  /**
   * Removes the work trees of items that are no longer in progress: after the state was written, so that a crash cannot
   * lose work that is still needed. Warns of unmerged work, which is kept on a branch.
   */
  async abandonSettled({ run, in_progress: inProgress }: Pick<RunState, 'run' | 'in_progress'>): Promise<void> {
    const { warn } = this.parts.sessions;
    for (const id of this.places.left()) {
      if (inProgress.some((one) => one.id === id)) continue;
      try {
        const kept = await this.places.keep(id, run);
        if (kept?.isNew) warn(`The work on ${id} was not merged; it is on the branch ${kept.branch}.`);
        await this.endPlace(id);
      } catch (error) {
        const where = await this.places.moveAside(id).catch(messageOf);
        warn(`The work on ${id} was not merged, and no branch can keep it (${messageOf(error)}): ${where}`);
      }
    }
  }

  /** A place that cannot be removed yet, such as while a process writes there, is removed by the next run. */
  private async endPlace(id: string): Promise<void> {
    await this.places.end(id).catch((error) => this.owner.note(`The work tree of ${id} is left: ${messageOf(error)}`));
  }

  async archive({ state, item }: Request<'archive'>): Promise<ArchiveOutcome> {
    try {
      this.folder.begin(state);
      return await this.archived(item.id, item.folder, state);
    } catch (error) {
      return { ok: false, message: messageOf(error) };
    }
  }

  /** Merges the work on an item, and archives it. Repeating an interrupted call finishes it. */
  private async archived(id: string, folder: string, { run, changed, concurrency }: RunState): Promise<ArchiveOutcome> {
    const merge = await this.places.merge(id, folder).catch((error) => ({ problem: messageOf(error) }));
    if (merge !== null && 'problem' in merge) return { ok: false, conflict: `Not merged: ${merge.problem}.` };
    if (merge !== null && 'conflicts' in merge) {
      const where = await this.places.keep(id, run).then(
        (kept) => `the work is on the branch ${kept?.branch}`,
        (error) => `no branch can keep the work: ${messageOf(error)}`,
      );
      return { ok: false, conflict: `Merge conflict in ${listed(merge.conflicts)}; ${where}.` };
    }
    if (merge === null && concurrency > 1 && !folder.startsWith('completed/'))
      return { ok: false, message: `the work tree of ${id} is gone` };
    const outcome = await archiveItem(this.parts.backlog, folder, merge?.changed ?? changed);
    if (outcome.ok) this.changes.delete(id);
    else if (merge !== null) this.noteChanges(id, merge.changed);
    // What was merged is in the work tree of the project, also if it could not be committed.
    if (outcome.ok || merge !== null) await this.endPlace(id);
    return outcome;
  }

  async setAside({ state, item, draft, needs }: Request<'setAside'>): Promise<FilingOutcome> {
    try {
      this.folder.begin(state);
      const blocked = { draft, needs, run: state.run, id: item.id };
      const { action, note, failure } = await setItemAside(this.parts.backlog, this.owner.itemOf(item.id), blocked);
      if (note !== null) this.owner.note(note);
      // A git failure is a critical error. The action exists, and is listed as created during the run.
      return failure === null ? { ok: true, created: [action] } : { ok: false, message: failure };
    } catch (error) {
      // The message keeps the human action, whose file could not be written.
      return { ok: false, message: `${messageOf(error)}; ${item.id} is blocked: ${needs}` };
    }
  }

  /** Removes the marks and the temporary files of a process that died. */
  async endMarks(): Promise<void> {
    await this.inProgress.endAll();
    await sweepIndexes(this.parts.backlog);
  }

  /** Finishes archiving an item whose work was done when the process died. Other work was interrupted. */
  async restored(one: RunState['in_progress'][number], state: RunState): Promise<Restored> {
    const { backlog, sessions } = this.parts;
    if (one.phase !== 'archiving') return { end: 'interrupted' };
    const folder = folderOf(backlog, one.id);
    if (folder === null) return { problem: `${one.id} is gone` };
    const isHere = !this.places.left().includes(one.id);
    const changed = state.current_item === one.id ? state.changed : [];
    if (isHere && changed.length === 0 && readConfig(backlog).auto_commit)
      sessions.warn(`The changes made for ${one.id} are not committed, because the process died first.`);
    const outcome = await this.archived(one.id, folder, { ...state, changed });
    if (outcome.ok) return { end: 'archived' };
    return 'conflict' in outcome ? { end: 'conflict', message: outcome.conflict } : { problem: outcome.message };
  }

  /** Finds STOP markers in the comments of the item, the backlog and the run. The next scan searches all items. */
  private stops(run: string, place: Place, id: string): StopMarker[] {
    const { backlog } = this.parts;
    const item = this.owner.itemOf(id);
    const own = stopMarkers(backlog, run, item === null ? [] : [item]);
    if (item === null || place.backlog === backlog || !existsSync(place.backlog)) return own;
    const comments = itemText(place.backlog, `${item.folder}/comments.md`) ?? '';
    const there = stopMarkers(place.backlog, run, [{ ...item, comments }]);
    return [...own, ...there.filter(({ file }) => !own.some((stop) => stop.file === file))];
  }
}

/** Work that never began did not fail. Work that cannot be tested did. */
function unstarted(phase: WorkPhase): Pick<WorkOutcome, 'verdict'> {
  return { verdict: phase === 'processing' ? 'unstarted' : 'failed' };
}
