import type { Counters } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import { systemClock } from '../../host/clock.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { span } from '../../platform/text.ts';
import type { SessionResult } from '../../session/session.ts';
import { statusText, summary } from './counters.ts';
import { markdownLines } from './markdown.ts';
import { Screen } from './screen.ts';
import { type InFlight, isSessionEnd, SessionTree } from './session-tree.ts';
import { StreamedBlocks } from './streamed-blocks.ts';
import { clip, clipPainted, wrapped } from './text.ts';

/** A session of the tree. A sub-agent's lines are kept until it ends, so that those of several do not mix. */
type Shown = {
  tree: SessionTree;
  /** The session that called it, and the call; null for the session itself. */
  above: Shown | null;
  callId: string | null;
  agent: string;
  /** The names of the sub-agents down to it. */
  path: readonly string[];
  kept: string[];
  /** The calls that sub-agents answer, which stand for them. */
  calls: Set<string>;
};

/** The most lines about what is in flight. */
const mostInFlight = 8;
const tickMs = 1_000;
/** How often what is in flight is drawn at most, in ms. */
const drawMs = 50;

/**
 * The live view of a session: a tree that grows with what happened. On a terminal, what is in flight stands below it, with
 * its seconds, and a line that shows how much of the bound is used.
 */
export class TerminalView {
  private readonly screen: Screen;
  private readonly agent: Agent;
  private readonly root: Shown;
  /** The sub-agents that run, by their sessions. */
  private readonly below = new Map<string, Shown>();
  private readonly ended = new Set<string>();
  private counters: (() => Readonly<Counters>) | null = null;
  /** The text of the reply that streams. */
  private readonly text = new StreamedBlocks();
  private growing: readonly string[] = [];
  private begunAt: number | null = null;
  private cancelTick: (() => void) | null = null;
  private isDue = false;
  private drawnAt = 0;
  private hasEnded = false;

  constructor(out: NodeJS.WriteStream, agent: Agent) {
    this.screen = new Screen(out);
    this.agent = agent;
    this.root = this.shownBelow(null, null, []);
  }

  /** Sets what returns the counters for the status line. */
  watch(counters: () => Readonly<Counters>): void {
    this.counters = counters;
  }

  show(event: SessionEvent): void {
    // A tool that ignored the abort may end after its session.
    if (this.hasEnded) return;
    this.begunAt ??= event.at;
    if (event.type === 'model.delta') {
      this.stream(event);
      return;
    }
    const shown = this.shownFor(event);
    // A tool of a sub-agent that ignored the abort.
    if (shown === null) return;
    if (event.type === 'subAgent.started') {
      shown.calls.add(event.callId);
      this.below.set(event.childSessionId, this.shownBelow(shown, event.callId, [...event.path, event.name]));
    }
    if (event.type === 'subAgent.ended') this.release(event.childSessionId);
    const isEnd = shown === this.root && isSessionEnd(event);
    const said = event.type === 'attempt.replied' ? this.saidIn(event, shown) : [];
    const lines = shown.tree.takeEvent(event);
    // The end of the session itself is told with its result.
    for (const line of [...said, ...(isEnd ? [] : lines)]) this.line(shown, line);
    this.refresh();
  }

  end(result: SessionResult): void {
    this.hasEnded = true;
    this.cancelTick?.();
    for (const sessionId of [...this.below.keys()]) this.release(sessionId);
    this.screen.clear();
    const { status, report, slugs } = result;
    const mark = result.success
      ? this.screen.paint('green', `● ${status}`)
      : this.screen.paint('red', `● ${status}: ${slugs.join(', ')}`);
    const took = this.begunAt === null ? '' : `${span(systemClock.now() - this.begunAt)} · `;
    const end = `└─ ${mark}  ${this.screen.paint('dim', `${took}report: ${report.source}`)}`;
    this.screen.line(clipPainted(end, this.screen.width));
    this.screen.line('');
    const { content } = report;
    const lines =
      typeof content === 'string'
        ? markdownLines(content, this.screen)
        : wrapped(JSON.stringify(content, null, 2), this.screen.textWidth);
    for (const line of lines) this.screen.line(line);
    this.screen.line('');
    for (const line of wrapped(summary(result, this.bound()), this.screen.textWidth))
      this.screen.line(this.screen.paint('dim', line));
  }

  private shownBelow(above: Shown | null, callId: string | null, path: readonly string[]): Shown {
    // A sub-agent stands below the attempt that called it, two levels further in.
    const tree = new SessionTree(
      (...styled) => this.screen.paint(...styled),
      () => this.screen.width - 6 * path.length,
    );
    return { tree, above, callId, agent: path.at(-1) ?? this.agent.name, path, kept: [], calls: new Set() };
  }

  /** The session of an event; null for a sub-agent that has ended. */
  private shownFor({ sessionId, path }: SessionEvent): Shown | null {
    const known = this.below.get(sessionId);
    if (known !== undefined || path.length === 0) return known ?? this.root;
    if (this.ended.has(sessionId)) return null;
    const key = JSON.stringify(path);
    const shown = this.below.get(key) ?? this.resumedAt(path);
    this.below.delete(key);
    this.below.set(sessionId, shown);
    return shown;
  }

  /** A sub-agent that began before a crash: nothing says so, and what is above it may tell nothing yet. */
  private resumedAt(path: readonly string[]): Shown {
    const aboveIt = path.slice(0, -1);
    const key = JSON.stringify(aboveIt);
    let above =
      aboveIt.length === 0 ? this.root : [...this.below.values()].find((one) => JSON.stringify(one.path) === key);
    if (above === undefined) {
      above = this.resumedAt(aboveIt);
      this.below.set(key, above);
    }
    const shown = this.shownBelow(above, null, path);
    shown.kept.push(this.screen.paint('bold', `session ${clip(shown.agent, 64)} resumed`));
    return shown;
  }

  private line(shown: Shown, text: string): void {
    if (shown.above !== null) shown.kept.push(text);
    else this.screen.line(clipPainted(text, this.screen.width));
  }

  /** Shows the lines of a sub-agent that has ended, in a block. */
  private release(sessionId: string): void {
    const shown = this.below.get(sessionId);
    if (shown?.above == null) return;
    for (const [id, one] of [...this.below]) if (one.above === shown) this.release(id);
    this.below.delete(sessionId);
    this.ended.add(sessionId);
    if (shown.callId !== null) shown.above.calls.delete(shown.callId);
    for (const [index, line] of shown.kept.entries()) this.line(shown.above, `│  ${index === 0 ? '├─' : '│ '} ${line}`);
  }

  private saidIn(event: Extract<SessionEvent, { type: 'attempt.replied' }>, { tree, above }: Shown): string[] {
    this.growing = [];
    const rest = above === null ? this.text.end() : null;
    if (rest !== null) return rest === '' ? [] : this.saidLines(rest);
    const text = event.reply?.content.find((part) => part.type === 'text');
    if (text?.type !== 'text' || text.text.trim() === '') return [];
    return [tree.said(`"${clip(text.text, this.screen.width - 12)}"`)];
  }

  /** Shows text as it comes: whole blocks, and the end of the one that grows. */
  private stream({ kind, delta, path }: Extract<SessionEvent, { type: 'model.delta' }>): void {
    if (kind !== 'text' || path.length > 0 || !this.screen.isTerminal) return;
    for (const block of this.text.takeDelta(delta)) for (const line of this.saidLines(block)) this.screen.line(line);
    this.growing = this.text.growing(this.screen.width - 5).map((line) => this.root.tree.said(line));
    this.refresh();
  }

  private saidLines(text: string): string[] {
    return wrapped(text, this.screen.width - 5).map((line) => this.root.tree.said(line));
  }

  private bound(): number {
    return this.agent.limits.maxTurns * this.agent.limits.maxRetries;
  }

  /** Draws what is in flight and the status: at once, unless it was just drawn, and each second from then on. */
  private refresh(): void {
    if (!this.screen.isTerminal || this.isDue) return;
    this.cancelTick?.();
    const dueMs = this.drawnAt + drawMs - systemClock.now();
    if (dueMs <= 0) {
      this.draw();
      return;
    }
    this.isDue = true;
    this.cancelTick = systemClock.alarm(Math.min(dueMs, drawMs), () => this.draw());
  }

  private draw(): void {
    this.isDue = false;
    this.drawnAt = systemClock.now();
    const all = [this.root, ...this.below.values()];
    // A question stands there.
    if (all.some(({ tree }) => tree.waits)) {
      this.screen.clear();
      return;
    }
    const flying = all.flatMap((shown) => this.flyingIn(shown));
    const lines = flying.slice(0, mostInFlight).map((one) => this.flyingLine(one));
    if (flying.length > mostInFlight) lines.push(`   and ${flying.length - mostInFlight} more`);
    lines.push(...this.growing);
    if (this.counters !== null) {
      const text = statusText(this.counters(), this.bound());
      lines.push(this.screen.paint('inverse', ` ${clip(text, this.screen.width - 2)} `));
    }
    this.screen.last(...lines);
    this.cancelTick = flying.length === 0 ? null : systemClock.alarm(tickMs, () => this.draw());
  }

  /** What a session is doing; a sub-agent stands for its call. */
  private flyingIn(shown: Shown): (InFlight & { who: string })[] {
    const who = shown.above === null ? '' : `${clip(shown.agent, 24)}: `;
    return shown.tree
      .inFlight()
      .filter(({ callId }) => callId === null || !shown.calls.has(callId))
      .map((one) => ({ ...one, who }));
  }

  private flyingLine({ who, text, at }: InFlight & { who: string }): string {
    const seconds = Math.max(0, Math.floor((systemClock.now() - at) / 1_000));
    const line = `${this.screen.paint('cyan', '◌')} ${this.screen.paint('dim', `${seconds} s`.padStart(5))}  ${who}${text}`;
    return clipPainted(line, this.screen.width);
  }
}
