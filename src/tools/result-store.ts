import { headOf } from '../text.ts';

/** Results that were too large for the conversation, kept as long as the session so that the model can read them in pages. */
export class ResultStore {
  private readonly kept = new Map<string, string[]>();
  private readonly pageBytes: number;

  /** `resultBytes` is what a result may take of the conversation; a page leaves room for its heading. */
  constructor(resultBytes: number) {
    this.pageBytes = Math.max(64, resultBytes - 160);
  }

  /** Keeps a result; the id to read it by. */
  keep(text: string): string {
    const id = `r${this.kept.size + 1}`;
    const pages: string[] = [];
    for (let rest = text.toWellFormed(); rest !== ''; ) {
      const page = headOf(rest, this.pageBytes);
      pages.push(page);
      rest = rest.slice(page.length);
    }
    this.kept.set(id, pages);
    return id;
  }

  /** A page of a result, from 1; null where there is none. */
  page(id: string, number: number): { text: string; of: number } | null {
    const pages = this.kept.get(id);
    const text = pages?.[number - 1];
    return pages === undefined || text === undefined ? null : { text, of: pages.length };
  }
}
