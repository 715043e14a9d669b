import type { SessionEvent } from '../../observe/events.ts';
import { tame } from '../../platform/text.ts';
import type { SessionResult } from '../../session/session.ts';
import { summary } from '../terminal/counters.ts';
import { markdownLines } from '../terminal/markdown.ts';
import { Screen } from '../terminal/screen.ts';
import { StreamedBlocks } from '../terminal/streamed-blocks.ts';
import { clip, wrapped } from '../terminal/text.ts';

/** Shows a conversation: the text as it comes, and a line for whatever else happens. */
export class ChatView {
  private readonly screen: Screen;
  private readonly text = new StreamedBlocks();
  /** Whether this session's last reply was shown as it came. */
  private wasStreamed = false;

  constructor(out: NodeJS.WriteStream) {
    this.screen = new Screen(out);
  }

  show(event: SessionEvent): void {
    if (event.path.length > 0) return;
    switch (event.type) {
      case 'model.delta':
        if (event.kind === 'text') this.stream(event.delta);
        return;
      case 'attempt.started':
        this.wasStreamed = false;
        return;
      case 'attempt.replied':
        this.endText();
        return;
      case 'attempt.failed':
        this.note(`attempt failed: ${event.slugs.join(', ')}${this.wasStreamed ? ' (its text does not count)' : ''}`);
        return;
      case 'tool.started':
        this.note(`${event.name} …`);
        return;
      case 'tool.answered':
        if (event.executed || event.slug !== null)
          this.note(
            `${clip(event.name, 40)}: ${event.slug ?? 'ok'}${event.slug === null ? '' : `  ${event.result.message}`}`,
          );
        return;
      case 'wait.started':
        this.note(`waiting ${((event.dueAt - event.at) / 1_000).toFixed(1)} s for ${event.target}`);
        return;
      case 'admission.requested':
        this.note(`waiting for a place at ${event.target}`);
        return;
      case 'session.steered':
        this.note('noted for the next request');
        return;
      default:
        return;
    }
  }

  end(result: SessionResult, bound: number): void {
    this.endText();
    const { success, report, failure, slugs } = result;
    if (!success) {
      const detail = failure.detail === null ? '' : `: ${failure.detail}`;
      this.line(this.screen.paint('red', clip(`${result.status} (${slugs.join(', ')})${detail}`, 400)));
    } else if (!this.wasStreamed) {
      this.said(String(report.content));
    }
    this.note(summary(result, bound));
  }

  /** A line about the conversation, apart from it. */
  note(text: string): void {
    for (const line of wrapped(`  · ${tame(text).replace(/\s+/g, ' ').trim()}`, this.width()))
      this.line(this.screen.paint('dim', line));
  }

  line(text: string): void {
    this.screen.line(text);
  }

  private stream(delta: string): void {
    this.wasStreamed = true;
    for (const block of this.text.takeDelta(delta)) {
      this.said(block);
      this.line('');
    }
    this.screen.last(...this.text.growing(this.width()));
  }

  private said(text: string): void {
    for (const line of markdownLines(text, this.screen)) this.line(line);
  }

  private endText(): void {
    const rest = this.text.end();
    if (rest !== null && rest !== '') this.said(rest);
  }

  private width(): number {
    return this.screen.textWidth - 1;
  }
}
