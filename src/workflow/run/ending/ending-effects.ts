import {
  type EndingOutcome,
  type Incident,
  type PriorityChange,
  type RunState,
  reasonOf,
  type WorkflowEffectKinds,
} from '../../../../machines/index.ts';
import { expected, messageOf } from '../../../input/errors.ts';
import { readBacklog } from '../../backlog/backlog.ts';
import { gitStatus } from '../../git/git.ts';
import { askAgent, resultOrAborted, wasAborted } from '../agents.ts';
import { debuggingContext, seenAgain } from '../documents/debugging-context.ts';
import { type RunFacts, retrospectiveText, sessionReportText } from '../documents/report.ts';
import type { WorkflowParts } from '../parts.ts';
import { endingPrompt } from '../prompts.ts';
import type { RunFolder } from '../run-folder.ts';
import { capture, unwrittenText } from './capture.ts';
import { findingsIn, prioritize } from './priorities.ts';

type Kinds = WorkflowEffectKinds;

/** The effects that end a run (W-2, W-3). They never fail: an error becomes a problem in the outcome. */
export class EndingEffects {
  /** The two documents of the run; empty until they are built. */
  retrospective = '';
  report = '';
  /** The findings of the retrospective agent; null if there is no such agent or it failed. */
  private findings: string | null = null;
  private priorities: readonly PriorityChange[] = [];
  private readonly parts: WorkflowParts;
  private readonly folder: RunFolder;

  constructor(parts: WorkflowParts, folder: RunFolder) {
    this.parts = parts;
    this.folder = folder;
  }

  async capture({ state, captures }: Kinds['capture']['request']): Promise<EndingOutcome> {
    const { backlog } = this.parts;
    const outcome: EndingOutcome = { created: [], priorities: [], problems: this.folder.beginEnding(state) };
    const context = { state, gitStatus: await gitStatus(backlog) };
    for (const { incident, draft, fingerprint } of captures) {
      const why = reasonOf(incident);
      const prompt = (id: string) => debuggingContext(id, incident, draft, context);
      const again = seenAgain(incident, draft, context);
      const files = this.folder.evidence(state, itemsIn(incident), outcome);
      try {
        const { item, problem } = await capture(backlog, {
          ...{ draft, fingerprint, run: state.run, why, prompt, again, files },
        });
        outcome.created.push(item);
        if (problem !== null) outcome.problems.push(problem);
      } catch (error) {
        outcome.problems.push(unwrittenText(`The work item "${draft.title}"`, error, prompt('Not created')));
      }
    }
    return outcome;
  }

  async review({ state }: Kinds['review']['request'], notes: readonly string[]): Promise<EndingOutcome> {
    const { backlog, spending } = this.parts;
    const outcome: EndingOutcome = {
      created: [],
      priorities: [],
      problems: [...this.folder.beginEnding(state), ...notes],
    };
    const facts = (words: string | null): RunFacts => ({
      state,
      created: [...state.created, ...outcome.created],
      priorities: outcome.priorities,
      problems: [],
      spending: spending.totals,
      words,
    });
    const findings = await this.words('retrospective', state, retrospectiveText(facts(null)), outcome);
    if (findings !== null) {
      const { words, priorities } = findingsIn(findings);
      this.findings = words;
      await this.prioritize(backlog, priorities, state, outcome);
    }
    this.priorities = outcome.priorities;
    this.folder.nameAppeared(state, outcome);
    this.retrospective = retrospectiveText(facts(this.findings));
    this.folder.write(state, 'retrospective.md', this.retrospective, outcome);
    return outcome;
  }

  async summarise({ state, problems }: Kinds['summarise']['request']): Promise<EndingOutcome> {
    const outcome: EndingOutcome = { created: [], priorities: [], problems: this.folder.beginEnding(state) };
    const text = (words: string | null): string =>
      sessionReportText(
        {
          state,
          created: [...state.created, ...outcome.created],
          priorities: this.priorities,
          problems: [...problems, ...outcome.problems],
          spending: this.parts.spending.totals,
          words,
        },
        { backlog: this.backlogCount(), warnings: this.parts.warnings, findings: this.findings },
      );
    const said = await this.words('summary', state, text(null), outcome);
    this.folder.nameAppeared(state, outcome);
    this.report = text(said === null ? null : findingsIn(said).words);
    this.folder.write(state, 'session_report.md', this.report, outcome);
    return outcome;
  }

  /** Applies the priorities of the retrospective. An error is noted as a problem, and the ending continues (W-3). */
  private async prioritize(
    backlog: string,
    wanted: readonly unknown[],
    { run }: RunState,
    outcome: EndingOutcome,
  ): Promise<void> {
    try {
      const { priorities, problems } = await prioritize(backlog, wanted, run);
      outcome.priorities.push(...priorities);
      outcome.problems.push(...problems);
    } catch (error) {
      outcome.problems.push(unwrittenText('A priority of the retrospective', error, JSON.stringify(wanted)));
    }
  }

  /** Returns an agent's contribution to a document. If the agent fails, notes a problem and returns null (W-3). */
  private async words(
    role: 'retrospective' | 'summary',
    state: RunState,
    document: string,
    outcome: EndingOutcome,
  ): Promise<object | string | null> {
    const agent = this.parts.agents[role];
    if (agent === undefined || this.parts.sessions.signal.aborted) return null;
    const spent = this.parts.spending.spent();
    if (spent !== null && typeof agent !== 'function') {
      outcome.problems.push(`The budget of the run is spent (${spent}), so the ${role} agent was not asked.`);
      return null;
    }
    try {
      if (typeof agent === 'function') {
        const said = await resultOrAborted(this.parts.sessions.signal, () => agent({ state, document }));
        return said === wasAborted ? null : checked(said);
      }
      const items = role === 'retrospective' ? readBacklog(this.parts.backlog).items : [];
      const sessions = { ...this.parts.sessions, place: this.parts.home, folder: this.folder.of(state) };
      const reply = await askAgent(agent, role, endingPrompt(role, state, document, items), sessions);
      if ('report' in reply) return checked(reply.report);
      const { verdict, message } = reply.failed;
      const how = verdict === 'unavailable' ? 'could not be invoked' : 'failed';
      outcome.problems.push(`The ${role} agent ${how}, so the document was written without it: ${message}`);
    } catch (error) {
      outcome.problems.push(`The ${role} agent failed, so the document was written without it: ${messageOf(error)}`);
    }
    return null;
  }

  private backlogCount() {
    try {
      const { items, unreadable, notes } = readBacklog(this.parts.backlog);
      return { open: items.length, blocked: items.filter(({ blocked }) => blocked).length, unreadable, notes };
    } catch (error) {
      return {
        open: 0,
        blocked: 0,
        unreadable: [{ folder: this.parts.backlog, problem: messageOf(error) }],
        notes: [],
      };
    }
  }
}

/** The items that an incident is about. */
function itemsIn(incident: Incident): string[] {
  if (incident.kind === 'consecutive_failures') return incident.failures.map(({ id }) => id);
  return 'item' in incident && incident.item !== null ? [incident.item] : [];
}

/** Returns the value if it can be written. Throws otherwise. */
function checked(value: unknown): object | string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  if (typeof value === 'object' && value !== null) return value;
  throw new Error(expected('the result', value, 'a string that is not blank'));
}
