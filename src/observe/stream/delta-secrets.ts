import { withoutSecrets } from '../../secrets/redact.ts';
import { safeLength, safeWrittenLength, withoutWrittenSecrets } from '../../secrets/written-secrets.ts';
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
  takeDelta(given: Delta): Delta | null {
    const { secrets } = this;
    const delta = { ...given, toolName: withoutSecrets(given.toolName, secrets) };
    const text = (this.held.get(delta.part)?.delta ?? '') + delta.delta;
    const shown = (isJson(delta) ? safeWrittenLength : safeLength)(text, secrets);
    if (shown < text.length) this.held.set(delta.part, { ...delta, delta: text.slice(shown) });
    else this.held.delete(delta.part);
    return shown === 0 ? null : this.shown({ ...delta, delta: text.slice(0, shown) });
  }

  /** Returns what is held back of a part that has ended, so that it precedes the next part; null if nothing is. */
  endOf(part: number): Delta | null {
    const held = this.held.get(part);
    this.held.delete(part);
    return held === undefined ? null : this.shown(held);
  }

  /** Returns all text held back: nothing more of these parts will come. */
  rest(): Delta[] {
    const rest = [...this.held.values()];
    this.held.clear();
    return rest.map((delta) => this.shown(delta));
  }

  private shown(delta: Delta): Delta {
    return { ...delta, delta: (isJson(delta) ? withoutWrittenSecrets : withoutSecrets)(delta.delta, this.secrets) };
  }
}

/** The input of a call is JSON. */
function isJson({ kind }: Delta): boolean {
  return kind === 'tool-input';
}
