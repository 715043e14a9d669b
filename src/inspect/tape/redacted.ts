import { faultKinds, itemKinds, type Json, phases, priorities, slugs } from '../../../machines/index.ts';
import { PawlError } from '../../input/errors.ts';
import { checkEntries } from '../../journal/entries.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import type { Sighting } from '../../observe/events.ts';
import { type Ours, redactJson } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { checkFormat } from '../../session/head.ts';

/** Our own words, by the fields that hold them. A field with any other text is a model's, a tool's or a provider's. */
const words: Record<string, readonly string[]> = {
  type: [
    ...['text', 'json', 'error-text', 'error-json', 'execution-denied', 'content', 'file', 'data', 'url', 'custom'],
    ...['reasoning', 'reasoning-file', 'tool-call', 'tool-result', 'source', 'function', 'provider'],
    ...['session.stop', 'session.abort', 'session.steer', 'workflow.abort'],
  ],
  role: ['user', 'assistant', 'tool'],
  kind: [
    ...[
      ...faultKinds,
      'unknown',
      'real',
      'batch',
      'progress',
      'report',
      'provider',
      'text',
      'reasoning',
      'tool-input',
      ...itemKinds,
      'fresh',
      'crashed',
      'corrupt',
      'critical',
    ],
    ...['consecutive_failures', 'stop', 'critical_error', 'agent_unavailable', 'crash'],
  ],
  slug: slugs,
  slugs,
  verdict: ['succeeded', 'failed', 'blocked', 'unavailable', 'unstarted', 'critical', 'aborted'],
  priority: priorities,
  phase: phases,
  current_phase: [...phases, 'completed', 'exitedEarly'],
  decision: ['approved', 'denied', 'timeout'],
  tool: ['unknown', 'real', 'batch', 'progress', 'report', 'provider'],
  input: ['valid', 'malformed', 'invalid'],
  provided: ['success', 'failure', 'missing'],
  unified: ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'],
};

/** The fields whose contents a model, a tool, a provider or an application made up, with their names. */
const data = new Set([
  ...['input', 'value', 'output', 'metadata', 'settings', 'providerOptions', 'providerMetadata', 'inputSchema'],
  ...['source', 'kept', 'args', 'overrides'],
]);

const ours: Ours = {
  // Where a fact's part is to be found in the delivery.
  isWord: (field, text) => field === '$from' || (Object.hasOwn(words, field) && words[field]?.includes(text) === true),
  holdsData: (field) => data.has(field),
};

/**
 * Takes the secrets out of a session's entries, known ones and such as are recognized by pattern (S-5, S-8). Only texts change,
 * field by field, so the machines decide the same as before.
 */
export class Redactor {
  private readonly given: () => readonly string[];
  private secrets: readonly string[] = [];
  private taken = 0;
  /** How many entries changed. */
  changed = 0;

  /** The secrets are asked for again with each part, since an agent may begin with others meanwhile. */
  constructor(secrets: () => readonly string[]) {
    this.given = secrets;
  }

  /**
   * Returns the entries that follow, without secrets. Throws `machines_changed` for those of another format (D-6), and
   * `invalid_journal` for malformed entries.
   */
  takeEntries(entries: readonly JournalEntry[]): JournalEntry[] {
    checkEntries(entries, this.taken);
    const [first] = entries;
    if (this.taken === 0 && first !== undefined && first.type !== 'started' && first.type !== 'run')
      throw new PawlError('invalid_journal', 'The entries do not begin with the start of a session or a run.');
    this.taken += entries.length;
    this.secrets = writtenSecrets(this.given());
    return entries.map((entry) => this.clean(entry));
  }

  private clean(entry: JournalEntry): JournalEntry {
    const clean = this.cleaned(entry);
    if (JSON.stringify(clean) === JSON.stringify(entry)) return entry;
    if (entry.type !== 'sighted' || entry.sighting.type !== 'model.delta') this.changed += 1;
    return clean;
  }

  private cleaned(entry: JournalEntry): JournalEntry {
    switch (entry.type) {
      case 'started': {
        checkFormat(entry.head);
        const { input, format, machines } = entry.head;
        return { ...entry, head: { ...this.texts(entry.head), input, format, machines } };
      }
      case 'run': {
        const { head } = entry;
        checkFormat(head);
        return { ...entry, head: { ...head, input: { ...this.texts(head.input), limits: head.input.limits } } };
      }
      case 'run.delivered':
        return { ...entry, delivery: this.delivery(entry.delivery) };
      case 'offered':
        return { ...entry, tools: this.texts(entry.tools) };
      case 'sent':
        return { ...entry, provider: this.texts(entry.provider) };
      case 'delivered':
        return { ...entry, delivery: this.delivery(entry.delivery) };
      case 'stepped':
        return { ...entry, facts: entry.facts.map((fact) => ({ ...this.texts(fact), type: fact.type })) };
      case 'sighted': {
        // A secret may be split across deltas. The complete reply is in the delivery.
        if (entry.sighting.type === 'model.delta') {
          return { ...entry, sighting: { ...this.texts(entry.sighting), type: 'model.delta', delta: '' } };
        }
        const { type } = entry.sighting;
        return { ...entry, sighting: { ...this.texts(entry.sighting), type } as Sighting };
      }
      default:
        return entry;
    }
  }

  private delivery<D extends object>(delivery: D): D {
    return 'key' in delivery ? { ...this.texts(delivery), key: delivery.key } : this.texts(delivery);
  }

  private texts<T>(value: T): T {
    return redactJson(value as Json, this.secrets, ours) as T;
  }
}
