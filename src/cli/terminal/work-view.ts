import { reasonOf } from '../../../machines/index.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { counted, formatDollars, span, tame } from '../../platform/text.ts';
import { callIn } from '../../session/recovery/messages.ts';
import type { Metadata } from '../../vocabulary/metadata.ts';
import type { WorkflowEvent } from '../../workflow/options.ts';
import type { WorkflowResult } from '../../workflow/run/run-workflow.ts';
import { thousands } from './counters.ts';
import { Screen } from './screen.ts';
import { isSessionEnd } from './session-tree.ts';
import { clip, clipPainted, oneLine } from './text.ts';

/** A session of the run so far. `lines`: what failed in it. */
type InSession = { at: number; requests: number; tokens: number; costUsd: number | null; lines: string[] };

/** The live view of a run. On a terminal, a status line shows the queue, phase and consecutive failures. */
export class WorkView {
  private readonly screen: Screen;
  /** The phase of the run, and of the items in progress, by their ids. */
  private phase = '';
  private readonly items = new Map<string, string>();
  private open = 0;
  private blocked = 0;
  private failuresInARow = 0;
  private requests = 0;
  private toolCalls = 0;
  private tokens = 0;
  /** The trees of sessions that run, by their metadata. */
  private readonly sessions = new Map<string, InSession>();
  /** The tools that are running, by their calls. */
  private readonly tools = new Map<string, string>();

  constructor(out: NodeJS.WriteStream) {
    this.screen = new Screen(out);
  }

  show(event: WorkflowEvent): void {
    if (event.type === 'item.started') this.items.set(event.item.id, 'taken');
    if (event.type === 'work.ended') this.items.set(event.item, 'settling');
    if (event.type === 'phase.started') this.begin(event.phase, event.item);
    if (event.type === 'backlog.scanned') Object.assign(this, { open: event.open, blocked: event.blocked });
    if (event.type === 'item.failed') {
      this.failuresInARow = event.failureCount;
      this.items.delete(event.failure.id);
    }
    if (event.type === 'item.succeeded') this.failuresInARow = 0;
    if (event.type === 'item.succeeded' || event.type === 'item.setAside') this.items.delete(event.id);
    for (const line of this.lines(event)) this.screen.line(clipPainted(line, this.screen.width));
    this.status();
  }

  private begin(phase: string, item: string | null): void {
    // Items that stayed open are no longer in progress.
    if (phase === 'capturing' || phase === 'reviewing') this.items.clear();
    if (item !== null && this.items.has(item)) this.items.set(item, phase);
    else this.phase = phase;
  }

  /** Counts requests, calls and tokens of the sessions, and shows each that has ended, with what failed in it. */
  showSession(event: SessionEvent, metadata: Metadata): void {
    // A tree of sessions has the metadata of its root, which no other has at the same time.
    const key = JSON.stringify(metadata);
    const own = this.sessions.get(key) ?? { at: event.at, requests: 0, tokens: 0, costUsd: 0, lines: [] };
    this.sessions.set(key, own);
    if (event.type === 'attempt.started') {
      this.requests += 1;
      own.requests += 1;
    }
    if (event.type === 'attempt.replied') {
      const tokens = event.usage.input + event.usage.output;
      this.tokens += tokens;
      own.tokens += tokens;
      own.costUsd = event.costUsd === null || own.costUsd === null ? null : own.costUsd + event.costUsd;
    }
    if (event.type === 'tool.started') this.tools.set(callIn(event, event.callId), event.name);
    if (event.type === 'tool.answered') {
      this.toolCalls += 1;
      this.tools.delete(callIn(event, event.callId));
      if (event.slug !== null) own.lines.push(`${clip(event.name, 40)}: ${event.slug}`);
    }
    if (event.type === 'attempt.failed')
      own.lines.push(`turn ${event.turn}, attempt ${event.attempt}: ${event.slugs.join(', ')}`);
    if (event.path.length === 0 && isSessionEnd(event)) {
      this.sessions.delete(key);
      for (const line of [
        ...own.lines.map((one) => `├─ ${this.paint('dim', one)}`),
        this.sessionLine(event, own, metadata),
      ])
        this.screen.line(clipPainted(`│  │  ${line}`, this.screen.width));
    }
    this.status();
  }

  private sessionLine(event: SessionEvent, { at, requests, tokens, costUsd }: InSession, { item }: Metadata): string {
    const status = event.type.replace('session.', '');
    const numbers = [
      span(event.at - at),
      counted(requests, 'request'),
      `${thousands.format(tokens)} tokens`,
      ...(costUsd === null || costUsd === 0 ? [] : [formatDollars(costUsd)]),
      // With several at once, it may stand below another item.
      ...(this.items.size > 1 && item !== undefined ? [`for ${item}`] : []),
    ];
    const said = this.paint(event.type === 'session.succeeded' ? 'green' : 'red', status);
    return `└─ ${clip(event.agent, 40)} ${said}  ${this.paint('dim', numbers.join(' · '))}`;
  }

  end(result: WorkflowResult, folder: string): void {
    const { status, incidents, succeeded, failures, setAside, created, problems, abortReason } = result;
    // An incident need not end a run, such as a crash in an earlier life.
    const reasons = abortReason === null ? incidents.map(reasonOf) : [abortReason];
    this.screen.line('');
    this.screen.line(
      status === 'completed'
        ? this.paint('green', '● completed')
        : this.paint('red', `● exited early: ${oneLine(reasons.join('; '))}`),
    );
    this.screen.line('');
    const rows = [
      ['succeeded', succeeded.join(', ')],
      ['failed', failures.map(({ id, slugs }) => `${id} (${slugs[0] ?? 'no slug'})`).join(', ')],
      ['set aside', setAside.join(', ')],
      ['created', created.map(({ id, title }) => `${id} ${title}`).join('; ')],
      ['requests', `${result.spending.requests} in ${counted(result.spending.sessions, 'session')}`],
      ['tokens', tokensOf(result)],
      ['priorities', result.priorities.map(({ id, from, to }) => `${id} ${from} → ${to}`).join(', ')],
      ['nothing', result.iterations === 0 && status === 'completed' ? 'No item was ready to work on.' : ''],
      ['report', `${folder}/session_report.md`],
    ];
    for (const [name = '', value = ''] of rows) {
      if (value !== '') this.screen.line(`${this.paint('dim', name.padEnd(12))}${tame(value)}`);
    }
    for (const warning of result.warnings)
      this.screen.line(`${this.paint('yellow', 'warning'.padEnd(12))}${tame(warning)}`);
    for (const problem of problems) this.screen.line(`\n${this.paint('red', 'problem')}  ${tame(problem)}`);
  }

  private lines(event: WorkflowEvent): string[] {
    switch (event.type) {
      case 'workflow.started':
        return [this.paint('bold', `run ${event.run}`)];
      case 'workflow.continued': {
        const where = event.item === null ? event.phase : `${event.phase} of ${event.item}`;
        return [`├─ ${this.paint('yellow', `resuming run ${event.run}, which died in ${where}`)}`];
      }
      case 'item.started': {
        const { id, priority, title } = event.item;
        return [`├─ ${this.paint('bold', id)}  ${priority}  ${oneLine(title)}`];
      }
      case 'phase.started':
        return event.phase === 'processing' || event.phase === 'testing' ? [`│  ├─ ${event.phase} ${event.item}`] : [];
      case 'item.succeeded':
        return [`│  ${this.paint('green', `● ${event.id} succeeded`)}`];
      case 'item.failed': {
        const { id, slugs, message } = event.failure;
        const said = this.paint('dim', oneLine(message));
        return [
          `│  ${this.paint('red', `● ${id} failed, ${event.failureCount} in a row: ${slugs[0] ?? ''}`)}  ${said}`,
        ];
      }
      case 'item.setAside':
        return [`│  ${this.paint('yellow', `● ${event.id} set aside:`)} ${oneLine(event.needs)}`];
      case 'agent.unavailable':
        return [
          `│  ├─ ${this.paint('red', `could not invoke ${event.agent}${forItem(event.item)}, try ${event.tries}:`)} ${oneLine(event.message)}`,
        ];
      case 'wait.started':
        return [
          `│  ├─ ${this.paint('yellow', `waiting ${((event.dueAt - event.at) / 1_000).toFixed(1)} s${forItem(event.item)}`)}`,
        ];
      case 'incident.noted':
        return [`├─ ${this.paint('red', oneLine(reasonOf(event.incident)))}`];
      case 'workItem.created':
        return [
          `├─ ${event.item.isNew ? 'created' : 'added evidence to'} ${this.paint('bold', event.item.id)}  ${oneLine(event.item.title)}`,
        ];
      case 'budget.spent':
        return [`├─ ${this.paint('yellow', `the budget is spent: ${event.limit}`)}`];
      case 'priority.changed': {
        const { id, from, to, reason } = event.change;
        return [`├─ ${this.paint('bold', id)}  ${to} instead of ${from}  ${this.paint('dim', oneLine(reason))}`];
      }
      case 'problem.noted':
        return [`├─ ${this.paint('red', `problem in ${event.phase}:`)} ${oneLine(event.message)}`];
      case 'workflow.aborting':
        return [`├─ ${this.paint('red', `ending: ${oneLine(event.reason)}`)}`];
      default:
        return [];
    }
  }

  private status(): void {
    const items = [...this.items].map(([id, phase]) => `${phase} ${id}`);
    const place = items.length === 0 ? this.phase : items.join(', ');
    const tool = [...this.tools.values()].at(-1);
    const where = tool === undefined ? place : `${place}: ${clip(tool, 24)}`;
    const { open, blocked, failuresInARow, requests, toolCalls, tokens } = this;
    const spent = `${counted(requests, 'request')}, ${counted(toolCalls, 'call')}, ${thousands.format(tokens)} tokens`;
    const text = `${where} | queue ${open}, ${blocked} blocked | ${failuresInARow} failed in a row | ${spent}`;
    this.screen.last(this.paint('inverse', ` ${clip(text, this.screen.width - 2)} `));
  }

  private paint(...styled: Parameters<Screen['paint']>): string {
    return this.screen.paint(...styled);
  }
}

function forItem(item: string | null): string {
  return item === null ? '' : ` for ${item}`;
}

function tokensOf({ spending: { inputTokens, outputTokens, costUsd } }: WorkflowResult): string {
  if (inputTokens + outputTokens === 0) return '';
  const cost = costUsd === null || costUsd === 0 ? '' : `, $${costUsd.toFixed(4)}`;
  return `${thousands.format(inputTokens)} in, ${thousands.format(outputTokens)} out${cost}`;
}
