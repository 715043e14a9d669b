import type { JsonObject } from '../../../machines/index.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { counted, formatDollars, span } from '../../platform/text.ts';
import { thousands } from './counters.ts';
import type { Screen } from './screen.ts';
import { clip, clipMiddle, oneLine } from './text.ts';

type Of<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;
type Paint = Screen['paint'];

/** Columns of a level of the tree. */
const levelColumns = 3;

/** What is in flight, and since when (epoch ms). `callId`: the call, if it is one. */
export type InFlight = { text: string; at: number; callId: string | null };

type Call = InFlight & { input: string; waits: boolean };

/** One session as a tree of attempts and their calls: the lines of what happened, and what it is doing. */
export class SessionTree {
  private readonly paint: Paint;
  private readonly width: () => number;
  /** Null for one that began before its process did. */
  private begunAt: number | null = null;
  private isLastTurn = false;
  /** The attempt in flight; null between attempts. */
  private attempt: (InFlight & { spent: string }) | null = null;
  private readonly calls = new Map<string, Call>();
  /** What it waits for before an attempt. */
  private pause: InFlight | null = null;

  /** `width`: the columns that its lines may take. */
  constructor(paint: Paint, width: () => number) {
    this.paint = paint;
    this.width = width;
  }

  /** Whether a call waits for a person, who is asked elsewhere. */
  get waits(): boolean {
    return [...this.calls.values()].some(({ waits }) => waits);
  }

  /** What it is doing: its calls, or else the attempt or what it waits for. */
  inFlight(): InFlight[] {
    if (this.calls.size > 0) return [...this.calls.values()];
    const doing = this.attempt ?? this.pause;
    return doing === null ? [] : [doing];
  }

  /** Takes an event, and returns the lines about it. */
  takeEvent(event: SessionEvent): string[] {
    switch (event.type) {
      case 'session.started':
        this.begunAt = event.at;
        return [
          `${this.paint('bold', `session ${clip(event.agent, 64)}`)}  ${this.paint('dim', `${event.maxTurns} turns x ${event.maxRetries} attempts = at most ${event.maxTurns * event.maxRetries} requests`)}`,
        ];
      case 'session.resumed':
        this.begunAt = event.at;
        return [
          this.paint('bold', `session ${clip(event.agent, 64)} resumed`) +
            (event.interrupted.length === 0
              ? ''
              : this.paint('yellow', `  interrupted: ${event.interrupted.join(', ')}`)),
        ];
      case 'turn.started':
        this.isLastTurn = event.isLastTurn;
        return [];
      case 'attempt.started': {
        const text = `turn ${event.turn}, attempt ${event.attempt}`;
        this.pause = null;
        this.attempt = { text: `${text}  ${event.target}`, at: event.at, callId: null, spent: '' };
        const last = this.isLastTurn ? this.paint('yellow', '  last turn: only the report is permitted') : '';
        return [
          `├─ ${text}  ${this.paint('dim', event.target)}${last}`,
          ...(event.notice === null ? [] : [`│  ${this.paint('cyan', oneLine(event.notice))}`]),
        ];
      }
      case 'attempt.replied':
        if (this.attempt !== null) Object.assign(this.attempt, { spent: spentIn(event) });
        return [];
      case 'attempt.finished':
      case 'attempt.progressed':
        return this.ended(event, this.paint('green', 'ok'), '');
      case 'attempt.failed':
        return this.ended(event, this.paint('red', `failed: ${event.slugs.join(', ')}`), event.detail ?? '');
      case 'attempt.aborted':
        return this.ended(event, this.paint('red', 'aborted'), '');
      case 'session.succeeded':
        return [this.end('green', '● succeeded', event.at)];
      case 'session.failed':
      case 'session.aborted':
      case 'session.suspended': {
        const said = `● ${event.type.replace('session.', '')}: ${event.failure.slugs.join(', ')}`;
        return [this.end('red', said, event.at)];
      }
      default:
        return event.type.startsWith('tool.') ? this.callLines(event) : this.otherLines(event);
    }
  }

  /** Text of the model, below its attempt. */
  said(line: string): string {
    return `│  ${this.paint('dim', line)}`;
  }

  private end(color: 'green' | 'red', said: string, at: number): string {
    const took = this.begunAt === null ? '' : `  ${this.paint('dim', span(at - this.begunAt))}`;
    return `└─ ${this.paint(color, said)}${took}`;
  }

  private ended(event: SessionEvent, outcome: string, detail: string): string[] {
    const took = this.attempt === null ? '' : span(event.at - this.attempt.at);
    const spent = this.attempt?.spent ?? '';
    this.attempt = null;
    // A provider answers its own calls in the reply.
    this.calls.clear();
    const numbers = [took, spent].filter((text) => text !== '').join(' · ');
    const about = [numbers, oneLine(detail)]
      .filter((text) => text !== '')
      .map((text) => `  ${this.paint('dim', text)}`);
    return [`│  └─ ${outcome}${about.join('')}`];
  }

  private callLines(event: SessionEvent): string[] {
    switch (event.type) {
      case 'tool.requested': {
        this.callOf(event, event.input);
        return [];
      }
      case 'tool.approvalRequested': {
        this.callOf(event, event.input).waits = true;
        const input = oneLine(JSON.stringify(event.input));
        return [`│  ├─ ${clip(event.name, 64)}  ${this.paint('yellow', 'waiting for approval')}  ${input}`];
      }
      case 'tool.approved':
      case 'tool.denied':
      case 'tool.started':
        this.callOf(event, {}).waits = false;
        return [];
      case 'tool.answered':
        return [this.answered(event)];
      default:
        return [];
    }
  }

  /** A call in flight. After a crash, nothing says that it was requested. */
  private callOf({ callId, name, at }: { callId: string; name: string; at: number }, given: JsonObject): Call {
    const known = this.calls.get(callId);
    if (known !== undefined) return known;
    const input = oneLine(JSON.stringify(given));
    const shown = input === '{}' ? '' : ` ${clipMiddle(input, 60)}`;
    const call = { text: `${clip(name, 64)}${shown}`, at, callId, input, waits: false };
    this.calls.set(callId, call);
    return call;
  }

  private answered(event: Of<'tool.answered'>): string {
    const call = this.calls.get(event.callId);
    this.calls.delete(event.callId);
    const name = event.name === '' ? '(no name)' : clip(event.name, 64);
    const { slug, result, output } = event;
    const size = output.type === 'text' ? counted(Buffer.byteLength(output.value), 'byte') : output.type;
    const time = call === undefined ? [] : [span(event.at - call.at)];
    const [outcome, about] = slug === null ? ['ok', [size, ...time].join(' · ')] : [slug, oneLine(result.message)];
    // The outcome has to be seen; of the input, what there is room for.
    const taken = 2 * levelColumns + name.length + outcome.length + (slug === null ? about.length : 0) + 6;
    const room = this.width() - taken;
    const input = call?.input ?? '';
    const called = input === '' || input === '{}' || room < 4 ? name : `${name} ${clipMiddle(input, room)}`;
    return `│  ├─ ${called}  ${this.paint(slug === null ? 'green' : 'red', outcome)}  ${this.paint('dim', about)}`;
  }

  private otherLines(event: SessionEvent): string[] {
    switch (event.type) {
      case 'progress.reported':
        return [`│  ${this.paint('magenta', `… ${oneLine(event.message)}`)}`];
      case 'wait.started': {
        const text = `waiting ${span(event.dueAt - event.at)} for ${event.target}`;
        this.pause = { text, at: event.at, callId: null };
        return [`├─ ${this.paint('yellow', text)}`];
      }
      case 'admission.requested':
        this.pause = { text: `waiting for a place at ${event.target}`, at: event.at, callId: null };
        return [];
      case 'admission.ended': {
        const waitedMs = event.at - (this.pause?.at ?? event.at);
        return waitedMs < 100 ? [] : [`├─ ${this.paint('yellow', `waited ${span(waitedMs)} for a place`)}`];
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
          `│  ${this.paint('red', `report rejected: ${event.slug}`)}  ${this.paint('dim', oneLine(event.reasons))}`,
        ];
      default:
        return [];
    }
  }
}

/** Whether a session, or a sub-agent's, has come to an end with this event. */
export function isSessionEnd({ type }: SessionEvent): boolean {
  return /^session\.(?:succeeded|failed|aborted|suspended)$/.test(type);
}

function spentIn({ usage, costUsd }: Of<'attempt.replied'>): string {
  const tokens = `${thousands.format(usage.input + usage.output)} tokens`;
  return costUsd === null || costUsd === 0 ? tokens : `${tokens} · ${formatDollars(costUsd)}`;
}
