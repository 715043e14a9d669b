import { join } from 'node:path';
import type { CreatedItem, WorkItemDraft } from '../../../../machines/index.ts';
import { reasonOf } from '../../../input/errors.ts';
import { type BacklogItem, plainId, readBacklog } from '../../backlog/backlog.ts';
import { readConfig } from '../../backlog/config.ts';
import { foldersIn, sweep, writeAtomically } from '../../backlog/files.ts';
import { layoutOf, layouts, restingFolders } from '../../backlog/item-kinds.ts';
import { whileLocked } from '../../backlog/lock.ts';
import { addToSummary, summaryRows } from '../../backlog/summary/summary-file.ts';
import { addComment, changeReport, checkedItem, writeWorkItem } from '../../backlog/work-items.ts';
import { autoCommit } from '../../git/auto-commit.ts';
import { type Commit, isCommitted } from '../../git/commits.ts';

export type Capture = {
  draft: WorkItemDraft;
  /** Stays the same when the incident repeats. */
  fingerprint: string;
  run: string;
  why: string;
  /** Builds the text of PROMPT.md; null for the default text. */
  prompt: ((id: string) => string) | null;
  /** Files that show what happened, by name; the names hold the run. */
  files: ReadonlyMap<string, string>;
  /** The comment to add if the item already exists. */
  again: string;
};

export type Captured = { item: CreatedItem; problem: string | null };

/**
 * Creates a work item. If an open item has the same fingerprint, adds the evidence to it instead, once per run, so an
 * interrupted capture can be repeated (W-2).
 */
export async function capture(backlog: string, capturing: Capture): Promise<Captured> {
  const { draft, fingerprint, run, why, prompt, files } = capturing;
  const { items } = readBacklog(backlog);
  const own = new Set(items.filter(({ report }) => report.fingerprint !== undefined).map(({ id }) => id));
  const known = items.find(({ report }) => isSameIncident(report.fingerprint, fingerprint, own));
  if (known !== undefined) return addEvidence(backlog, known, capturing);
  const item = checkedItem(draft);
  const written = await writeWorkItem(backlog, item, { extra: { fingerprint, runs: [run] }, files, prompt });
  const { title, id, folder } = { ...written, id: written.id ?? '', folder: written.folder ?? '' };
  const paths = [folder, layoutOf(item.item_type).summaryFile];
  const commit = await whileLocked(backlog, () => autoCommit(backlog, paths, `Add ${id}: ${title}`));
  return { item: { id, title, folder, isNew: true, why }, problem: gitProblem(id, commit) };
}

/**
 * Whether two fingerprints are of the same incident. Failures in a row are the same with another item among them; items
 * that runs filed about themselves don't count, since they fail with the others.
 */
function isSameIncident(known: unknown, fingerprint: string, own: ReadonlySet<string>): boolean {
  if (known === fingerprint || typeof known !== 'string') return known === fingerprint;
  const [one, other] = [failuresIn(known, own), failuresIn(fingerprint, own)];
  if (one === null || other === null) return false;
  const shared = one.filter((failure) => other.includes(failure)).length;
  return shared > 0 && shared === Math.min(one.length, other.length);
}

function failuresIn(fingerprint: string, own: ReadonlySet<string>): string[] | null {
  const [kind, ...failures] = fingerprint.split(' ');
  if (kind !== 'consecutive_failures') return null;
  return failures.filter((failure) => !own.has(failure.split('/')[0] ?? ''));
}

async function addEvidence(
  backlog: string,
  known: BacklogItem,
  { draft, run, why, again, files }: Capture,
): Promise<Captured> {
  const { id, title, folder, report } = known;
  const runs = [report.runs ?? []].flat();
  const isNew = report.runs !== undefined && runs[0] === run;
  if (runs.includes(run)) {
    return { item: { id, title, folder, isNew, why }, problem: await toItsEnd(backlog, known, `Add ${id}: ${title}`) };
  }
  const evidence = [...[report.evidence ?? []].flat(), ...draft.evidence];
  const commit = await whileLocked(backlog, async () => {
    for (const [name, text] of files) writeAtomically(join(backlog, folder, name), text);
    if (!known.comments.includes(again.trim())) addComment(backlog, folder, again);
    changeReport(backlog, known, { evidence, runs: [...runs, run] });
    return autoCommit(backlog, [folder], `${id}: seen again in ${run}`);
  });
  return { item: { id, title, folder, isNew: false, why }, problem: gitProblem(id, commit) };
}

/** Brings an item to its end whose process died while it was filed: its row in the summary, and its commit. */
async function toItsEnd(backlog: string, item: BacklogItem, message: string): Promise<string | null> {
  const { id, layout, folder, title, priority, status, component } = item;
  const commit = await whileLocked(backlog, async () => {
    if (!summaryRows(backlog, layout).has(plainId(id))) {
      addToSummary(backlog, layout, {
        id,
        title,
        priority,
        status: status ?? 'new',
        component: component ?? '',
        folder,
      });
    }
    return autoCommit(backlog, [folder, layout.summaryFile], message);
  });
  return gitProblem(id, commit);
}

/**
 * Brings to its end what died between two writes, before a run begins: items that a run filed are in their summaries, and
 * no temporary file is left. Returns the problems.
 */
export async function finishWrites(backlog: string): Promise<string[]> {
  const places = [...layouts.map(({ folder }) => folder), ...restingFolders, 'agent_runs'].map((place) =>
    join(backlog, place),
  );
  const folders = places.flatMap((place) => foldersIn(place).map((name) => join(place, name)));
  await whileLocked(backlog, async () => sweep([backlog, ...places, ...folders]));
  const problems: string[] = [];
  for (const item of readBacklog(backlog).items) {
    if (typeof item.report.fingerprint !== 'string') continue;
    // Later changes to such an item may be a person's, and are not committed here.
    const hasRow = summaryRows(backlog, item.layout).has(plainId(item.id));
    const isThere = !readConfig(backlog).auto_commit || (await isCommitted(backlog, item.folder));
    if (hasRow && isThere) continue;
    const problem = await toItsEnd(backlog, item, `Add ${item.id}: ${item.title}`);
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

function gitProblem(id: string, commit: Commit | null): string | null {
  return commit === null || commit.ok ? null : `${id} was written but not committed: ${commit.message}`;
}

/** Describes a failed write, with the full text so that nothing is lost (W-3). */
export function unwrittenText(what: string, error: unknown, text: string): string {
  return `${what} could not be written: ${reasonOf(error)}. Its text:\n\n${text}`;
}
