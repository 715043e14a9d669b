import type {
  InterruptedItem,
  RestoreOutcome,
  RunState,
  ScanOutcome,
  SessionEffectKinds,
  TakeOutcome,
  WorkflowEffectKinds,
} from '../../../machines/index.ts';
import type { Perform } from '../../host/driver.ts';
import { messageOf } from '../../input/errors.ts';
import { type BacklogItem, type ReadItem, readBacklog, refOf, stopMarkers } from '../backlog/backlog.ts';
import { readConfig } from '../backlog/config.ts';
import { leftForReview } from '../backlog/reading/item-sources.ts';
import { KnownItems } from '../backlog/reading/known-items.ts';
import { keepAside, readState } from '../backlog/state-file.ts';
import { finishWrites } from './ending/capture.ts';
import { EndingEffects } from './ending/ending-effects.ts';
import { commitNoted, leaveForReview } from './filing.ts';
import { ItemEffects } from './item-effects.ts';
import type { WorkflowParts } from './parts.ts';
import { behind, Queue } from './queue.ts';
import { RunFolder } from './run-folder.ts';
import { Tries } from './tries.ts';

type Kinds = WorkflowEffectKinds & Pick<SessionEffectKinds, 'wait'>;
type Outcome<K extends keyof Kinds> = Promise<Kinds[K]['outcome']>;

/** Performs the effects of one run on the backlog. Each effect writes the state file first (W-4). */
export class RunEffects {
  readonly ending: EndingEffects;
  private readonly parts: WorkflowParts;
  private readonly folder: RunFolder;
  private readonly tries: Tries;
  /** Problems that did not end the run. */
  private readonly notes: string[] = [];
  private readonly queue: Queue;
  private readonly known = new KnownItems<ReadItem>();
  private readonly items: ItemEffects;

  constructor(parts: WorkflowParts) {
    const note = (problem: string) => this.notes.push(problem);
    this.parts = parts;
    this.folder = new RunFolder(parts.backlog);
    this.ending = new EndingEffects(parts, this.folder);
    this.queue = new Queue(parts, this.folder, note);
    this.tries = new Tries(parts.backlog, note);
    this.items = new ItemEffects(parts, this.folder, { note, itemOf: (id) => this.itemOf(id) });
  }

  readonly perform: Perform = (effect, context) => {
    switch (effect.kind) {
      case 'restore':
        return this.restore();
      case 'scan':
        return this.scan(effect.request);
      case 'take':
        return this.take(effect.request);
      case 'work':
        return this.items.work(effect.request);
      case 'archive':
        return this.items.archive(effect.request);
      case 'setAside':
        return this.items.setAside(effect.request);
      case 'capture':
        return this.ending.capture(effect.request);
      case 'review':
        return this.review(effect.request);
      case 'summarise':
        return this.summarise(effect.request);
      case 'wait':
        return this.wait(effect.request, context);
      default:
        return Promise.reject(new Error(`unknown effect of a run: ${effect.kind}`));
    }
  };

  /** What failed since the last scan is noted first. */
  private async review(request: Kinds['review']['request']): Outcome<'review'> {
    this.parts.spending.sharers = 1;
    try {
      await this.leaveWhatFails(request.state);
    } catch (error) {
      this.notes.push(`What failed could not be noted for the next run: ${messageOf(error)}`);
    }
    await this.items.warnOfUncommitted();
    return this.ending.review(request, this.notes);
  }

  /** By then, the state says that no item is in progress. */
  private async summarise(request: Kinds['summarise']['request']): Outcome<'summarise'> {
    await this.items.abandonSettled(request.state);
    return this.ending.summarise(request);
  }

  private async restore(): Promise<RestoreOutcome> {
    const { backlog } = this.parts;
    try {
      await this.items.endMarks();
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
      if (found.kind !== 'died') {
        await this.items.abandonSettled({ run: 'unknown', in_progress: [] });
        return { kind: 'fresh' };
      }
      const { state } = found;
      await this.commitWhatWasNoted(state);
      const ends: InterruptedItem[] = [];
      const problems: string[] = [];
      for (const one of state.in_progress) {
        const item = this.itemOf(one.id);
        const end = await this.items.restored(one, state);
        if ('problem' in end) problems.push(end.problem);
        else ends.push({ ...one, item: item === null ? null : refOf(item), ...end });
      }
      await this.items.abandonSettled({ ...state, in_progress: [] });
      return { kind: 'crashed', state, items: ends, problem: problems.length === 0 ? null : problems.join('; ') };
    } catch (error) {
      return { kind: 'critical', message: messageOf(error) };
    }
  }

  /** The process may have died after it noted something of an item, and before it committed that. */
  private async commitWhatWasNoted({ in_progress: inProgress }: RunState): Promise<void> {
    const { backlog } = this.parts;
    const reviewed = readBacklog(backlog).items.filter(({ status }) => status === leftForReview);
    const noted = inProgress.filter(({ phase }) => phase !== 'archiving');
    for (const { id } of [...noted, ...reviewed]) {
      const problem = await commitNoted(backlog, id);
      if (problem !== null) this.notes.push(problem);
    }
  }

  private begin(state: RunState): void {
    this.folder.begin(state);
    this.parts.spending.sharers = Math.max(1, state.in_progress.length);
  }

  private async take({ state }: Kinds['take']['request']): Promise<TakeOutcome> {
    try {
      this.begin(state);
      return { ok: true };
    } catch (error) {
      return { ok: false, message: messageOf(error) };
    }
  }

  private async scan({ state }: Kinds['scan']['request']): Promise<ScanOutcome> {
    const { backlog } = this.parts;
    try {
      this.begin(state);
      await this.items.abandonSettled(state);
      const tries = await this.leaveWhatFails(state);
      const { items } = readBacklog(backlog, this.known);
      const stops = stopMarkers(backlog, state.run, items);
      const appeared = this.folder.appeared(state);
      const { spending } = this.parts;
      // The run takes no further item, so no order is needed.
      const isOver = stops.length > 0 || spending.spent() !== null;
      const ordered = isOver ? items : await this.queue.ordered(behind(items, tries), state);
      if (!('failed' in ordered))
        return { ok: true, items: ordered.map(refOf), stops, appeared, spent: spending.spent() };
      const { verdict, agent, slugs, message, requests, lookedFor } = ordered.failed;
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
