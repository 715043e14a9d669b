import { betweenSecrets, withoutSecrets } from '../../agent/redact.ts';
import type { Sighting } from '../events.ts';

type Delta = Extract<Sighting, { type: 'model.delta' }>;

/** Removes secrets from deltas, even one that is split: it holds back text that may be the beginning of one (S-5). */
export class DeltaSecrets {
  private readonly secrets: readonly string[];
  /** What each part holds back, as a delta that is still to come. */
  private readonly held = new Map<number, Delta>();

  constructor(secrets: readonly string[]) {
    this.secrets = secrets;
  }

  /** Returns what may be shown of a delta and of the text held back before it; null if that is nothing yet. */
  take(given: Delta): Delta | null {
    const delta = { ...given, toolName: withoutSecrets(given.toolName, this.secrets) };
    const text = (this.held.get(delta.part)?.delta ?? '') + delta.delta;
    const shown = this.safeLength(text);
    if (shown < text.length) this.held.set(delta.part, { ...delta, delta: text.slice(shown) });
    else this.held.delete(delta.part);
    return shown === 0 ? null : { ...delta, delta: withoutSecrets(text.slice(0, shown), this.secrets) };
  }

  /** Returns what is held back of a part that has ended, so that it precedes the next part; null if nothing is. */
  endOf(part: number): Delta | null {
    const held = this.held.get(part);
    this.held.delete(part);
    return held === undefined ? null : { ...held, delta: withoutSecrets(held.delta, this.secrets) };
  }

  /** Returns all text held back: nothing more of these parts will come. */
  rest(): Delta[] {
    const rest = [...this.held.values()];
    this.held.clear();
    return rest.map((delta) => ({ ...delta, delta: withoutSecrets(delta.delta, this.secrets) }));
  }

  /** Returns how much of a text no secret can begin in and go on beyond; none is cut in two either. */
  private safeLength(text: string): number {
    return betweenSecrets(text, text.length - this.longestBeginning(text), this.secrets, 'start');
  }

  /** Returns the length of the longest end of `text` with which a secret begins. */
  private longestBeginning(text: string): number {
    let longest = 0;
    for (const secret of this.secrets) {
      for (let length = Math.min(secret.length - 1, text.length); length > longest; length -= 1) {
        if (text.endsWith(secret.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}
