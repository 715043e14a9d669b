import { type Fact, keptResultId } from '../../machines/index.ts';
import { headOf } from '../text.ts';
import type { Fold } from './events.ts';

/** The results only partly read by the model, divided into pages. */
export class KeptResults implements Fold {
  private readonly texts = new Map<string, string>();
  private readonly pages = new Map<string, string[]>();
  private readonly pageBytes: number;

  /** `resultBytes` limits the text that the model reads at once. A page leaves room for its heading. */
  constructor(resultBytes: number) {
    this.pageBytes = Math.max(64, resultBytes - 160);
  }

  fact(fact: Fact): void {
    if (fact.type === 'tool.answered' && fact.kept !== null) this.texts.set(keptResultId(fact), fact.kept);
  }

  /** Returns page `number` of a result, where the first is 1; null if there is no such page. */
  page(id: string, number: number): { text: string; of: number } | null {
    const pages = this.pages.get(id) ?? this.pagesOf(this.texts.get(id) ?? '');
    this.pages.set(id, pages);
    const text = pages[number - 1];
    return text === undefined ? null : { text, of: pages.length };
  }

  private pagesOf(text: string): string[] {
    const pages: string[] = [];
    for (let from = 0; from < text.length; ) {
      // A page has at most as many UTF-16 units as bytes.
      const page = headOf(text.slice(from, from + this.pageBytes), this.pageBytes);
      pages.push(page);
      from += page.length;
    }
    return pages;
  }
}
