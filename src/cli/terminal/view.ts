import { styleText } from 'node:util';
import type { Counters } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { counted } from '../../platform/text.ts';
import type { SessionResult } from '../../session/session.ts';
import { statusText, summary } from './counters.ts';
import { StreamedText } from './streamed-text.ts';
import { clip, wrapped } from './text.ts';

type Style = Parameters<typeof styleText>[0];

/**
 * The live view of a session: a tree of session > turn > attempt > tool that grows with each event. On a terminal, a
 * status line below it shows how much of the bound is used.
 */
export class TerminalView {
  private readonly out: NodeJS.WriteStream;
  private readonly agent: Agent;
  private counters: (() => Readonly<Counters>) | null = null;
  private statusShown = false;
  /** The text of the reply that streams. */
  private readonly text = new StreamedText();
  /** The inputs of the calls in progress, by call id. */
  private readonly inputs = new Map<string, string>();

  constructor(out: NodeJS.WriteStream, agent: Agent) {
    this.out = out;
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
    for (const line of this.lines(event)) this.line(`${margin}${line}`);
    this.status();
  }

  end(result: SessionResult): void {
    this.clearStatus();
    const { status, report, slugs } = result;
    const mark = result.success
      ? this.paint('green', `● ${status}`)
      : this.paint('red', `● ${status}: ${slugs.join(', ')}`);
    this.line('');
    this.line(`${mark}  ${this.paint('dim', `report: ${report.source}`)}`);
    this.line('');
    const text = typeof report.content === 'string' ? report.content : JSON.stringify(report.content, null, 2);
    for (const line of wrapped(text, this.lineWidth())) this.line(line);
    this.line('');
    for (const line of wrapped(summary(result, this.bound()), this.lineWidth())) this.line(this.paint('dim', line));
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
          ...(event.notice === null ? [] : [`│  │  ${this.paint('cyan', clip(event.notice, this.width() - 8))}`]),
        ];
      case 'attempt.replied': {
        const rest = this.text.end();
        if (rest !== null) return rest === '' ? [] : [this.said(rest)];
        const text = event.reply?.content.find((part) => part.type === 'text');
        return text?.type === 'text' && text.text.trim() !== ''
          ? [`│  │  ${this.paint('dim', `"${clip(text.text, this.width() - 12)}"`)}`]
          : [];
      }
      case 'progress.reported':
        return [`│  │  ${this.paint('magenta', `… ${clip(event.message, this.width() - 10)}`)}`];
      case 'tool.approvalRequested':
        return [
          `│  │  ├─ ${clip(event.name, 64)} ${clip(JSON.stringify(event.input), this.width() - 40)}  ${this.paint('yellow', 'waiting for approval')}`,
        ];
      case 'tool.requested':
        this.inputs.set(event.callId, clip(JSON.stringify(event.input), 40));
        return [];
      case 'tool.answered': {
        const input = this.inputs.get(event.callId) ?? '';
        this.inputs.delete(event.callId);
        const shown = event.name === '' ? '(no name)' : clip(event.name, 64);
        const name = input === '' || input === '{}' ? shown : `${shown} ${input}`;
        const { slug, result } = event;
        const size =
          event.output.type === 'text' ? counted(Buffer.byteLength(event.output.value), 'byte') : event.output.type;
        if (slug === null) return [`│  │  ├─ ${name}  ${this.paint('green', 'ok')}  ${this.paint('dim', size)}`];
        return [
          `│  │  ├─ ${name}  ${this.paint('red', slug)}  ${this.paint('dim', clip(result.message, this.width() - name.length - slug.length - 16))}`,
        ];
      }
      case 'attempt.failed':
        return [
          `│  │  ${this.paint('red', `failed: ${event.slugs.join(', ')}`)}${event.detail === null ? '' : this.paint('dim', `  ${clip(event.detail, 60)}`)}`,
        ];
      case 'wait.started':
        return [
          `│  ├─ ${this.paint('yellow', `waiting ${((event.dueAt - event.at) / 1_000).toFixed(1)} s for ${event.target}`)}`,
        ];
      case 'session.collapsed':
        return [`├─ ${this.paint('yellow', `collapse: ${event.from} turns cut to ${event.to} (${event.reason})`)}`];
      case 'server.connected':
        return [`├─ ${this.paint('dim', `MCP server ${event.server}: ${counted(event.tools.length, 'tool')}`)}`];
      case 'server.lost':
      case 'server.unavailable':
        return [`├─ ${this.paint('yellow', `MCP server ${event.server}: ${clip(event.message, 80)}`)}`];
      case 'target.excluded':
        return [
          `├─ ${this.paint('red', `${event.target} dropped: ${event.slug}`)}  ${this.paint('dim', clip(event.detail, 80))}`,
        ];
      case 'session.stopping':
        return [`├─ ${this.paint('yellow', 'stopping')}`];
      case 'session.aborting':
        return [`├─ ${this.paint('red', `aborting: ${event.reason}`)}`];
      case 'report.rejected':
        return [
          `│  │  ${this.paint('red', `report rejected: ${event.slug}`)}  ${this.paint('dim', clip(event.reasons, 60))}`,
        ];
      default:
        return [];
    }
  }

  /** Shows text as it comes: whole lines, and the one that grows in place of the status line. */
  private stream({ kind, delta, path }: Extract<SessionEvent, { type: 'model.delta' }>): void {
    if (kind !== 'text' || path.length > 0 || this.out.isTTY !== true) return;
    for (const line of this.text.takeDelta(delta, this.width() - 8)) this.line(this.said(line));
    this.clearStatus();
    this.out.write(this.said(this.text.growing(this.width() - 8)));
    this.statusShown = true;
  }

  private said(line: string): string {
    return `│  │  ${this.paint('dim', line)}`;
  }

  private bound(): number {
    return this.agent.limits.maxTurns * this.agent.limits.maxRetries;
  }

  private width(): number {
    return Math.max(20, Math.min(this.out.columns || 120, 160));
  }

  /** The width of running text; without a terminal, lines are as long as they are. */
  private lineWidth(): number {
    return this.out.isTTY === true ? this.width() : Number.POSITIVE_INFINITY;
  }

  private line(text: string): void {
    this.clearStatus();
    this.out.write(`${text}\n`);
  }

  private status(): void {
    if (this.out.isTTY !== true || this.counters === null) return;
    const text = statusText(this.counters(), this.bound());
    this.clearStatus();
    this.out.write(this.paint('inverse', ` ${clip(text, this.width() - 2)} `));
    this.statusShown = true;
  }

  private clearStatus(): void {
    if (!this.statusShown) return;
    this.out.write('\r\u001b[K');
    this.statusShown = false;
  }

  private paint(style: Style, text: string): string {
    return styleText(style, text, { stream: this.out });
  }
}
