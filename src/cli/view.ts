import { styleText } from 'node:util';
import type { Counters } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { SessionResult } from '../session/options.ts';

type Style = Parameters<typeof styleText>[0];

/**
 * The live view of a session: a tree of session > turn > attempt > tool that grows with each event. On a terminal, a
 * status line below it shows how much of the bound is used.
 */
export class TerminalView {
  private readonly out: NodeJS.WriteStream;
  private readonly agent: Agent;
  private counters: Readonly<Counters> | null = null;
  private statusShown = false;
  /** The inputs of the calls in progress, by call id. */
  private readonly inputs = new Map<string, string>();

  constructor(out: NodeJS.WriteStream, agent: Agent) {
    this.out = out;
    this.agent = agent;
  }

  /** Sets the live counters for the status line. */
  watch(counters: Readonly<Counters>): void {
    this.counters = counters;
  }

  show(event: SessionEvent): void {
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
    this.line(tame(typeof report.content === 'string' ? report.content : JSON.stringify(report.content, null, 2)));
    this.line('');
    for (const [name, value] of counterRows(result, this.bound())) {
      this.line(`${this.paint('dim', name.padEnd(16))}${value}`);
    }
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

  private bound(): number {
    return this.agent.limits.maxTurns * this.agent.limits.maxRetries;
  }

  private width(): number {
    return Math.max(20, Math.min(this.out.columns ?? 120, 160));
  }

  private line(text: string): void {
    this.clearStatus();
    this.out.write(`${text}\n`);
  }

  private status(): void {
    if (this.out.isTTY !== true || this.counters === null) return;
    const { requests, tokens, toolCalls, waits } = this.counters;
    const text = `requests ${requests}/${this.bound()}  tokens ${tokens.input} in ${tokens.output} out  tools ${toolCalls.executed} run ${toolCalls.answered}/${toolCalls.requested} answered  waits ${waits}`;
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

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the text as one line of at most `width` characters. */
export function clip(text: string, width: number): string {
  const line = tame(text).replace(/\s+/g, ' ').trim();
  return line.length > width ? `${line.slice(0, Math.max(1, width - 1))}…` : line;
}

/** Joins the parts of an emoji, and is harmless there. */
const joiner = '\u200d';

/**
 * Writes characters that control the terminal, or hide or reorder text, as escapes such as `\u{202e}`. Newlines, tabs and
 * the joiners of emoji stay.
 */
export function tame(text: string): string {
  return text.replace(/(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character, at: number) => {
    if (character === joiner && /(?:\p{Extended_Pictographic}|\ufe0f)$/u.test(text.slice(Math.max(0, at - 2), at)))
      return character;
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}

function counterRows({ counters, turns }: SessionResult, bound: number): [string, string][] {
  const { toolCalls, tokens, costUsd, reports } = counters;
  const reasons = new Map<string, number>();
  const failures = turns.flatMap(({ attempts }) => attempts.filter(({ status }) => status === 'failed'));
  for (const slug of failures.flatMap(({ slugs }) => slugs)) reasons.set(slug, (reasons.get(slug) ?? 0) + 1);
  const rejected = Object.entries(toolCalls.rejected).map(([slug, count]) => `${slug} ${count}`);
  const failed = [...reasons].map(([slug, count]) => `${slug} ${count}`);
  return [
    ['requests', `${counters.requests} of at most ${bound}`],
    [
      'turns',
      `${counters.turns}, with ${counted(counters.attempts, 'attempt')}, ${counters.failedAttempts} failed${failed.length > 0 ? ` (${failed.join(', ')})` : ''}`,
    ],
    [
      'tool calls',
      `${toolCalls.requested} requested, ${toolCalls.answered} answered: ${toolCalls.executed} executed, ${toolCalls.acknowledged} answered without running${rejected.length > 0 ? `, rejected: ${rejected.join(', ')}` : ''}`,
    ],
    ['reports', `${reports.attempted} attempted, ${reports.rejected} rejected`],
    ['notices', String(counters.notices)],
    ['collapses', String(counters.collapses)],
    ['waits', String(counters.waits)],
    [
      'tokens',
      `${tokens.input} in, ${tokens.output} out, ${tokens.cacheRead} read from cache, ${tokens.cacheWrite} written to cache`,
    ],
    ...(counters.tree.sessions > 1
      ? [
          [
            'whole tree',
            `${counters.tree.sessions} sessions, ${counters.tree.requests} requests, ${counters.tree.toolCalls} tool calls`,
          ] as [string, string],
        ]
      : []),
    ['cost', costUsd === null ? 'unknown (no pricing set)' : `$${costUsd.toFixed(4)}`],
  ];
}
