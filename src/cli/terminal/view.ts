import type { Counters } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { counted } from '../../platform/text.ts';
import { callIn } from '../../session/recovery/messages.ts';
import type { SessionResult } from '../../session/session.ts';
import { statusText, summary } from './counters.ts';
import { Screen } from './screen.ts';
import { StreamedText } from './streamed-text.ts';
import { clip, clipPainted, oneLine, wrapped } from './text.ts';

/**
 * The live view of a session: a tree of session > turn > attempt > tool that grows with each event. On a terminal, a
 * status line below it shows how much of the bound is used.
 */
export class TerminalView {
  private readonly screen: Screen;
  private readonly agent: Agent;
  private counters: (() => Readonly<Counters>) | null = null;
  /** The text of the reply that streams. */
  private readonly text = new StreamedText();
  /** When a session last asked for a place at a gate (epoch ms). */
  private askedAt = 0;
  /** The inputs of the calls in progress, by session and call. */
  private readonly inputs = new Map<string, string>();

  constructor(out: NodeJS.WriteStream, agent: Agent) {
    this.screen = new Screen(out);
    this.agent = agent;
  }

  /** Sets what returns the counters for the status line. */
  watch(counters: () => Readonly<Counters>): void {
    this.counters = counters;
  }

  show(event: SessionEvent): void {
    if (event.type === 'model.delta') {
      this.stream(event);
      return;
    }
    // A sub-agent's session is indented below the call that it answers.
    const margin = '│  │  '.repeat(event.path.length);
    for (const line of this.lines(event)) this.screen.line(clipPainted(`${margin}${line}`, this.screen.width));
    this.status();
  }

  end(result: SessionResult): void {
    const { status, report, slugs } = result;
    const mark = result.success
      ? this.paint('green', `● ${status}`)
      : this.paint('red', `● ${status}: ${slugs.join(', ')}`);
    this.screen.line('');
    this.screen.line(`${mark}  ${this.paint('dim', `report: ${report.source}`)}`);
    this.screen.line('');
    const text = typeof report.content === 'string' ? report.content : JSON.stringify(report.content, null, 2);
    for (const line of wrapped(text, this.screen.textWidth)) this.screen.line(line);
    this.screen.line('');
    for (const line of wrapped(summary(result, this.bound()), this.screen.textWidth))
      this.screen.line(this.paint('dim', line));
  }

  private lines(event: SessionEvent): string[] {
    switch (event.type) {
      case 'session.started':
        return [
          `${event.path.length === 0 ? '' : '├─ '}${this.paint('bold', `session ${clip(event.agent, 64)}`)}  ${this.paint('dim', `${event.maxTurns} turns x ${event.maxRetries} attempts = at most ${event.maxTurns * event.maxRetries} requests`)}`,
        ];
      case 'session.resumed':
        return [
          this.paint('bold', `session ${clip(event.agent, 64)} resumed`) +
            (event.interrupted.length === 0
              ? ''
              : this.paint('yellow', `  interrupted: ${event.interrupted.join(', ')}`)),
        ];
      case 'turn.started':
        return [
          `├─ turn ${event.turn}${event.isLastTurn ? this.paint('yellow', '  last turn: only the report is permitted') : ''}`,
        ];
      case 'attempt.started':
        return [
          `│  ├─ attempt ${event.attempt}  ${this.paint('dim', event.target)}`,
          ...(event.notice === null ? [] : [`│  │  ${this.paint('cyan', oneLine(event.notice))}`]),
        ];
      case 'attempt.replied': {
        const rest = this.text.end();
        if (rest !== null) return rest === '' ? [] : [this.said(rest)];
        const text = event.reply?.content.find((part) => part.type === 'text');
        return text?.type === 'text' && text.text.trim() !== ''
          ? [`│  │  ${this.paint('dim', `"${clip(text.text, this.screen.width - 12)}"`)}`]
          : [];
      }
      case 'progress.reported':
        return [`│  │  ${this.paint('magenta', `… ${oneLine(event.message)}`)}`];
      case 'tool.approvalRequested':
        return [
          `│  │  ├─ ${clip(event.name, 64)}  ${this.paint('yellow', 'waiting for approval')}  ${oneLine(JSON.stringify(event.input))}`,
        ];
      case 'tool.requested':
        this.inputs.set(callIn(event, event.callId), clip(JSON.stringify(event.input), 40));
        return [];
      case 'tool.answered': {
        const input = this.inputs.get(callIn(event, event.callId)) ?? '';
        this.inputs.delete(callIn(event, event.callId));
        const name = event.name === '' ? '(no name)' : clip(event.name, 64);
        const { slug, result, output } = event;
        const size = output.type === 'text' ? counted(Buffer.byteLength(output.value), 'byte') : output.type;
        const [outcome, about] = slug === null ? ['ok', size] : [slug, oneLine(result.message)];
        // The outcome has to be seen; of the input, what there is room for.
        const room =
          this.screen.width -
          5 * event.path.length -
          name.length -
          outcome.length -
          (slug === null ? size.length : 0) -
          14;
        const called = input === '' || input === '{}' || room < 4 ? name : `${name} ${clip(input, room)}`;
        const painted = this.paint(slug === null ? 'green' : 'red', outcome);
        return [`│  │  ├─ ${called}  ${painted}  ${this.paint('dim', about)}`];
      }
      case 'attempt.failed':
        return [
          `│  │  ${this.paint('red', `failed: ${event.slugs.join(', ')}`)}${event.detail === null ? '' : this.paint('dim', `  ${oneLine(event.detail)}`)}`,
        ];
      case 'wait.started':
        return [
          `│  ├─ ${this.paint('yellow', `waiting ${((event.dueAt - event.at) / 1_000).toFixed(1)} s for ${event.target}`)}`,
        ];
      case 'admission.requested':
        this.askedAt = event.at;
        return [];
      case 'admission.ended': {
        const waitedMs = event.at - this.askedAt;
        return waitedMs < 100
          ? []
          : [`│  ├─ ${this.paint('yellow', `waited ${(waitedMs / 1_000).toFixed(1)} s for a place`)}`];
      }
      case 'session.collapsed':
        return [`├─ ${this.paint('yellow', `collapse: ${event.from} turns cut to ${event.to} (${event.reason})`)}`];
      case 'conversation.compacted':
        return [`├─ ${this.paint('yellow', 'compacted')}  ${this.paint('dim', oneLine(event.message))}`];
      case 'compaction.failed':
        return [`├─ ${this.paint('yellow', 'not compacted')}  ${this.paint('dim', oneLine(event.detail))}`];
      case 'server.connected':
        return [`├─ ${this.paint('dim', `MCP server ${event.server}: ${counted(event.tools.length, 'tool')}`)}`];
      case 'server.lost':
      case 'server.unavailable':
        return [`├─ ${this.paint('yellow', `MCP server ${event.server}: ${oneLine(event.message)}`)}`];
      case 'target.excluded':
        return [
          `├─ ${this.paint('red', `${event.target} dropped: ${event.slug}`)}  ${this.paint('dim', oneLine(event.detail))}`,
        ];
      case 'session.stopping':
        return [`├─ ${this.paint('yellow', 'stopping')}`];
      case 'session.aborting':
        return [`├─ ${this.paint('red', `aborting: ${oneLine(event.reason)}`)}`];
      case 'report.rejected':
        return [
          `│  │  ${this.paint('red', `report rejected: ${event.slug}`)}  ${this.paint('dim', oneLine(event.reasons))}`,
        ];
      default:
        return [];
    }
  }

  /** Shows text as it comes: whole lines, and the one that grows in place of the status line. */
  private stream({ kind, delta, path }: Extract<SessionEvent, { type: 'model.delta' }>): void {
    if (kind !== 'text' || path.length > 0 || !this.screen.isTerminal) return;
    for (const line of this.text.takeDelta(delta, this.screen.width - 8)) this.screen.line(this.said(line));
    this.screen.last(this.said(this.text.growing(this.screen.width - 8)));
  }

  private said(line: string): string {
    return `│  │  ${this.paint('dim', line)}`;
  }

  private bound(): number {
    return this.agent.limits.maxTurns * this.agent.limits.maxRetries;
  }

  private status(): void {
    if (this.counters === null) return;
    const text = statusText(this.counters(), this.bound());
    this.screen.last(this.paint('inverse', ` ${clip(text, this.screen.width - 2)} `));
  }

  private paint(...styled: Parameters<Screen['paint']>): string {
    return this.screen.paint(...styled);
  }
}
