import type { Message } from '../../../machines/index.ts';
import { checkEntries } from '../../journal/entries.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { SessionCounters } from '../../observe/counters.ts';
import { Records } from '../../observe/records.ts';
import { Recording } from '../../session/replay/recording.ts';
import type { SentRequest } from '../../session/replay/replayed.ts';
import type { OfferedTool } from '../../vocabulary/offered-tool.ts';
import { type CounterValues, counterValues } from './counts.ts';
import { MicrostepLog } from './microstep-log.ts';
import { emptyRecordingPart, type Observation, type RecordingPart, type ShownRequest } from './recording-data.ts';

/** Plays a recorded session step by microstep: the machines and folds say what happened, and nothing else does (S-8). */
export class MicrostepReplay {
  readonly log = new MicrostepLog();
  private readonly recording: Recording;
  private readonly accounts = new Map<string, { counters: SessionCounters; records: Records; last: CounterValues }>();
  private readonly conversations = new Map<string, { messages: readonly Message[]; version: number }>();
  private readonly toolLists = new Map<readonly OfferedTool[], number>();
  private part = emptyRecordingPart();
  private scopes = new Map<string, string>();
  private shown = 0;

  constructor() {
    this.recording = new Recording([], {
      inspect: (scope, event) => {
        this.log.at.entry = this.recording.entry;
        this.log.inspect(scope, event);
      },
      fact: (scope, fact, at) => {
        const { records, counters } = this.accountOf(scope);
        records.fact(fact, at);
        counters.fact(fact);
        this.tell(scope, { scope, at, entry: this.recording.entry, fact });
      },
      sighting: (scope, sighting, at) => {
        if (sighting.type === 'model.delta') return;
        const { records, counters } = this.accountOf(scope);
        records.sighting(sighting);
        counters.sighting(sighting);
        this.tell(scope, { scope, at, entry: this.recording.entry, sighting });
      },
    });
  }

  /** Plays the entries that follow. Throws `invalid_journal` if they cannot be played. */
  play(entries: readonly JournalEntry[]): RecordingPart {
    checkEntries(entries, this.recording.entry);
    this.part = emptyRecordingPart();
    const { log, recording, part } = this;
    const first = log.microsteps.length;
    for (const entry of entries) {
      if (entry.type !== 'started') continue;
      part.heads.push({ scope: entry.scope, head: entry.head });
      this.scopes.set(entry.head.sessionId, entry.scope);
    }
    recording.play(entries, () => {
      log.close();
      this.showRequests();
    });
    log.close();
    part.microsteps = log.microsteps.slice(first);
    part.entries = recording.entry;
    part.difference = recording.difference;
    return part;
  }

  private tell(scope: string, told: Observation): void {
    const { log, part } = this;
    part.told.push(told);
    log.at.facts += 1;
    const account = this.accountOf(scope);
    const now = counterValues(account.counters.all);
    for (const [path, value] of now) {
      if (account.last.get(path) === value) continue;
      part.changes.push({ scope, told: log.at.facts, path, value });
    }
    account.last = now;
  }

  private showRequests(): void {
    const { requests } = this.recording;
    for (let next = requests[this.shown]; next !== undefined; next = requests[this.shown]) {
      this.shown += 1;
      this.part.requests.push(this.shownRequest(next));
    }
  }

  private shownRequest({ sessionId, messages, tools, ...request }: SentRequest): ShownRequest {
    const scope = this.scopes.get(sessionId) ?? '';
    const known = this.conversations.get(scope) ?? { messages: [], version: 0 };
    let from = 0;
    while (from < known.messages.length && known.messages[from] === messages[from]) from += 1;
    const version = known.version + (from < known.messages.length ? 1 : 0);
    if (from < messages.length) this.part.messages.push({ scope, version, from, messages: messages.slice(from) });
    this.conversations.set(scope, { messages, version });
    const number = this.toolLists.get(tools) ?? this.toolLists.size;
    if (number === this.toolLists.size) {
      this.toolLists.set(tools, number);
      this.part.tools.push(tools);
    }
    return { ...request, scope, entry: this.recording.entry, messages: messages.length, version, tools: number };
  }

  private accountOf(scope: string) {
    const known = this.accounts.get(scope);
    if (known !== undefined) return known;
    const records = new Records();
    const account = { records, counters: new SessionCounters(records), last: new Map() };
    this.accounts.set(scope, account);
    return account;
  }
}

/**
 * Returns where the entries after `from` can be split: `most` entries on, or later so that a step keeps its sightings.
 */
export function partEnd(entries: readonly JournalEntry[], from: number, most: number): number {
  let end = Math.min(entries.length, from + most);
  while (entries[end]?.type === 'sighted') end += 1;
  return end;
}
