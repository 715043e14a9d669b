import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { RunState } from '../../machines/index.ts';
import { contentOfObservation, type Observation } from '../../src/inspect/recorded/recording-data.ts';
import { RunMicrostepReplay } from '../../src/inspect/recorded/run-microstep-replay.ts';
import { Redactor } from '../../src/inspect/tape/redacted.ts';
import type { JournalEntry } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { manualClock } from '../../src/testing/index.ts';
import { type BacklogItem, readBacklog } from '../../src/workflow/backlog/backlog.ts';
import {
  runWorkflow,
  type WorkflowEvent,
  type WorkflowOptions,
  type WorkflowResult,
} from '../../src/workflow/index.ts';
import { newRepository } from './built.ts';
import { keptLog, type LogLine, report } from './session.ts';

/** The report file of an item. */
type ReportFile = { evidence: { location: string }[]; [field: string]: unknown };

/** A temporary backlog in its own git repository, removed when the test ends. */
export class TestBacklog {
  readonly folder = mkdtempSync(join(tmpdir(), 'pawl-backlog-'));

  constructor() {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
    cpSync(newRepository(), this.folder, { recursive: true });
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.folder, encoding: 'utf8' }).trim();
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.folder, path, '..'), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  list(path: string): string[] {
    return this.has(path) ? readdirSync(join(this.folder, path)).toSorted() : [];
  }

  json(path: string): ReportFile {
    return JSON.parse(this.read(path));
  }

  /** Writes a bug item like one written by hand. */
  bug(number: number, over: Record<string, unknown> = {}, comments = ''): string {
    return this.item('bugs', `BUG-${String(number).padStart(3, '0')}-bug-${number}`, 'bug_report.json', over, comments);
  }

  feature(number: number, over: Record<string, unknown> = {}, comments = ''): string {
    const name = `FEAT-${String(number).padStart(3, '0')}-feature-${number}`;
    return this.item('features', name, 'feature_request.json', over, comments);
  }

  private item(kind: string, name: string, file: string, over: Record<string, unknown>, comments: string): string {
    const folder = `${kind}/${name}`;
    const report = {
      title: name,
      component: 'core',
      priority: 'P2',
      status: 'new',
      created_date: '2026-01-01',
      ...over,
    };
    this.write(`${folder}/${file}`, JSON.stringify(report));
    this.write(`${folder}/PROMPT.md`, `# ${name}\n\nDo what the title says.\n`);
    if (comments !== '') this.write(`${folder}/comments.md`, comments);
    return folder;
  }

  /** Leaves a lock on the index, as a git does that was killed two minutes ago. */
  lockIndex(): void {
    this.write('.git/index.lock', '');
    const killed = Date.now() / 1_000 - 120;
    utimesSync(join(this.folder, '.git/index.lock'), killed, killed);
  }

  /** Has everything committed that a run writes. */
  autoCommit(): void {
    this.write('.agent-config.json', JSON.stringify({ auto_commit: true }));
  }

  /** The last commit's message, and the files that it changed. */
  get lastCommit(): { message: string; files: string[] } {
    const files = this.git('show', '--name-only', '--no-renames', '--format=', 'HEAD').split('\n').toSorted();
    return { message: this.git('log', '-1', '--format=%s'), files };
  }

  /** Writes a summary that lists BUG-001. */
  listBug(): void {
    const head = '# Bugs\n\n| ID | Title | Status |\n| --- | --- | --- |\n';
    this.write('bugs/bugs.md', `${head}| [BUG-001](BUG-001-bug-1/) | One | new |\n`);
  }

  /** The item as it is read. */
  found(id: string): BacklogItem {
    const item = readBacklog(this.folder).items.find((one) => one.id === id);
    if (item === undefined) throw new Error(`${id} is not in the backlog`);
    return item;
  }

  get state(): RunState {
    return JSON.parse(this.read('.agent-state.json'));
  }
}

export type TestRun = {
  result: WorkflowResult;
  events: WorkflowEvent[];
  warnings: LogLine[];
  errors: LogLine[];
  phases: string[];
  /** The documents of the run, read from disk. */
  report: string;
  retrospective: string;
};

/** What an agent of a run reports. */
export const done = (status = 'succeeded', message = 'All done.') => report({ status, message });

/** Runs the workflow over a backlog and checks the invariants of every run. */
export async function runOver(
  backlog: TestBacklog,
  agents: WorkflowOptions['agents'],
  over: Partial<WorkflowOptions> = {},
): Promise<TestRun> {
  const { lines, logger } = keptLog();
  const events: WorkflowEvent[] = [];
  const journal = new MemoryJournal();
  const result = await runWorkflow({
    backlog: backlog.folder,
    agents,
    logger,
    clock: manualClock(),
    random: () => 0.5,
    journal,
    ...over,
    onEvent: (event) => {
      events.push(event);
      return over.onEvent?.(event);
    },
  });
  const document = (name: string) => {
    const path = `agent_runs/${result.run}/${name}`;
    return backlog.has(path) ? backlog.read(path) : '';
  };
  const finished = {
    result,
    events,
    warnings: lines.filter((line) => line.level === 40),
    errors: lines.filter(
      (line) => line.level === 50 && typeof line.event === 'string' && line.event.startsWith('workflow.'),
    ),
    phases: events.flatMap((event) => (event.type === 'phase.started' ? [event.phase] : [])),
    report: document('session_report.md'),
    retrospective: document('retrospective.md'),
  };
  expectOfEveryRun(finished);
  if (over.journal === undefined) await expectTapeOf(journal, finished);
  return finished;
}

function expectOfEveryRun({ result, errors, phases }: TestRun): void {
  const { status, created, report, retrospective } = result;
  // W-3: the retrospective and the summary always run, and name the items created.
  if (phases.slice(-2).join() !== 'reviewing,summarising') throw new Error(`the last phases are ${phases.slice(-2)}`);
  for (const { id } of created) {
    if (!retrospective.includes(id) || !report.includes(id)) throw new Error(`${id} is missing from a document`);
  }
  if (!report.includes('## Issues Created')) throw new Error('the report must have a section "Issues Created"');
  if (errors.length !== (status === 'completed' ? 0 : 1)) throw new Error(`${errors.length} ERROR lines in the run`);
}

/** S-8: the tape of a run tells its facts and times again, and so does one without secrets. */
async function expectTapeOf(journal: MemoryJournal, { events, result }: TestRun): Promise<void> {
  const [row] = await journal.list({ metadata: { role: 'run' } });
  const recorded: JournalEntry[] = JSON.parse(JSON.stringify(await journal.read(row?.sessionId ?? '')));
  const ended = { completed: 'succeeded', exitedEarly: result.abortReason === null ? 'failed' : 'aborted' };
  expect(row?.status).toBe(ended[result.status]);
  const live = events.map(({ run: _, ...fact }) => fact);
  const again = (one: Observation) => ({ ...contentOfObservation(one), at: one.at, run: undefined });
  for (const entries of [recorded, new Redactor(() => ['an-unused-secret']).takeEntries(recorded)]) {
    const { told, difference, microsteps } = new RunMicrostepReplay().play(entries);
    expect(difference).toBeNull();
    expect(told.map(again)).toEqual(live);
    expect(microsteps.at(-1)).toMatchObject({ machine: 'workflow', isActive: false, facts: live.length });
  }
}
