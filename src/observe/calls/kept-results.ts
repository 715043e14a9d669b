import { type Fact, keptResultId, outputText } from '../../../machines/index.ts';
import { headOf } from '../../platform/text.ts';
import { betweenSecrets } from '../../secrets/redact.ts';
import type { Conversation } from '../conversation.ts';
import type { Fold } from '../events.ts';
import { transcriptOf } from '../transcript.ts';

/** The results that the model read only in part, or not at all, divided into pages. */
export class KeptResults implements Fold {
  private readonly kept = new Map<string, { text: string; pages?: string[] }>();
  /** The pages of so many messages. */
  private history: { of: number; pages: string[] } = { of: 0, pages: [] };
  private readonly pageBytes: number;
  private readonly conversation: Conversation;
  private readonly secrets: readonly string[];
  private readonly above: (id: string) => string | null;

  /**
   * `resultBytes` limits the text that the model reads at once. A page leaves room for its heading. `above` returns what the
   * sessions above keep.
   */
  constructor(
    resultBytes: number,
    conversation: Conversation,
    secrets: readonly string[],
    above: (id: string) => string | null = () => null,
  ) {
    this.above = above;
    this.conversation = conversation;
    this.secrets = secrets;
    this.pageBytes = Math.max(64, resultBytes - 160);
  }

  fact(fact: Fact): void {
    if (fact.type !== 'tool.answered' || fact.kept === null) return;
    const kept = { text: fact.kept };
    this.kept.set(keptResultId(fact), kept);
    this.kept.set(fact.callId, kept);
  }

  /** Returns page `number`, from 1, of a result, by its own id or its call's; null if there is no such page. */
  page(id: string, number: number): { text: string; of: number } | null {
    const kept = this.kept.get(id) ?? { text: this.whole(id) ?? '' };
    kept.pages ??= this.pagesOf(kept.text);
    const { pages } = kept;
    // A missing result may be stored later.
    if (pages.length > 0) this.kept.set(id, kept);
    const text = pages[number - 1];
    return text === undefined ? null : { text, of: pages.length };
  }

  /** Returns a result by its own id or its call's, of this session or of one above; null if none has it (B-7e). */
  whole(id: string): string | null {
    return this.kept.get(id)?.text ?? (this.answerTo(id) || this.above(id));
  }

  /** Returns page `number`, from 1, of what compactions took out of the conversation (T-9); null if there is no such page. */
  historyPage(number: number): { text: string; of: number } | null {
    const { replaced } = this.conversation;
    if (this.history.of !== replaced.length)
      this.history = { of: replaced.length, pages: this.pagesOf(transcriptOf(replaced)) };
    const { pages } = this.history;
    const text = pages[number - 1];
    return text === undefined || replaced.length === 0 ? null : { text, of: pages.length };
  }

  /** The text of an answer in the conversation: a request may have left it out (T-6). */
  private answerTo(callId: string): string {
    const { messages, replaced } = this.conversation;
    for (const { role, content } of [...replaced, ...messages]) {
      if (role !== 'tool') continue;
      const answer = content.find((part) => part.toolCallId === callId);
      if (answer !== undefined) return outputText(answer.output);
    }
    return '';
  }

  private pagesOf(text: string): string[] {
    const pages: string[] = [];
    for (let from = 0; from < text.length; ) {
      // A page has at most as many UTF-16 units as bytes.
      const most = from + headOf(text.slice(from, from + this.pageBytes), this.pageBytes).length;
      // No secret is split, unless it is longer than a page (S-5).
      const end = betweenSecrets(text, most, this.secrets, 'start');
      const to = end > from ? end : most;
      pages.push(text.slice(from, to));
      from = to;
    }
    return pages;
  }
}
