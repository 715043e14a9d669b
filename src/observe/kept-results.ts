import { type Fact, keptResultId, resultText } from '../../machines/index.ts';
import { headOf } from '../text.ts';
import type { Fold } from './events.ts';

/** The results that the model has read in part, to be read in pages. */
export class KeptResults implements Fold {
  private readonly texts = new Map<string, string>();
  private readonly resultBytes: number;
  private readonly pageBytes: number;

  /** `resultBytes` is the most of a result that the model reads at once. A page leaves room for its heading. */
  constructor(resultBytes: number) {
    this.resultBytes = resultBytes;
    this.pageBytes = Math.max(64, resultBytes - 160);
  }

  fact(fact: Fact): void {
    if (fact.type !== 'tool.answered' || !fact.executed) return;
    const text = resultText(fact.result);
    if (Buffer.byteLength(text) > this.resultBytes) this.texts.set(keptResultId(fact), text.toWellFormed());
  }

  /** Returns a page of a result, counting from 1, or null if there is none. */
  page(id: string, number: number): { text: string; of: number } | null {
    const pages = this.pagesOf(this.texts.get(id) ?? '');
    const text = pages[number - 1];
    return text === undefined ? null : { text, of: pages.length };
  }

  private pagesOf(text: string): string[] {
    const pages: string[] = [];
    for (let rest = text; rest !== ''; ) {
      const page = headOf(rest, this.pageBytes);
      pages.push(page);
      rest = rest.slice(page.length);
    }
    return pages;
  }
}
