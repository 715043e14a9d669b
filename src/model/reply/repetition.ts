/** How much of a text must repeat one line or period, in UTF-16 units, for its reply to be cut off (F-4): 16 KiB. */
const repeatedUnits = 16_384;
/** The longest period that is looked for. */
const longestPeriod = 2_048;
/** How often the end of a text is looked at. */
const step = 4_096;

type Piece = { kind: 'text' | 'reasoning' | 'tool-input'; part: number; delta: string };

/** Watches the parts of a reply for one that repeats itself, as they stream in. */
export class EndlessReply {
  private part = -1;
  private tail = '';
  private unseen = 0;

  /** Takes a piece of a part; says whether the part now repeats itself. Of an input, only white space counts. */
  take({ kind, part, delta }: Piece): boolean {
    if (part !== this.part) {
      this.part = part;
      this.tail = '';
    }
    for (let at = 0; at < delta.length; at += step) {
      const piece = delta.slice(at, at + step);
      this.tail = (this.tail + piece).slice(-repeatedUnits);
      this.unseen += piece.length;
      if (this.unseen < step || this.tail.length < repeatedUnits) continue;
      this.unseen = 0;
      if (kind === 'tool-input' ? this.tail.trim() === '' : isPeriodic(this.tail)) return true;
    }
    return false;
  }
}

/** Whether a text is one period, again and again: it is its own start, moved by the period. */
function isPeriodic(text: string): boolean {
  const { length } = text;
  // For each end of the text so far, the length of the longest start that it repeats.
  const borders = new Uint16Array(length);
  for (let at = 1, border = 0; at < length; at += 1) {
    while (border > 0 && text[at] !== text[border]) border = borders[border - 1] ?? 0;
    if (text[at] === text[border]) border += 1;
    borders[at] = border;
  }
  return length - (borders[length - 1] ?? 0) <= longestPeriod;
}
