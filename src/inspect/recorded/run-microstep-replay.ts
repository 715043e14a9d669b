import type { JournalEntry } from '../../journal/journal.ts';
import { MicrostepLog } from './microstep-log.ts';
import { emptyRecordingPart, type RecordingPart } from './recording-data.ts';
import { RunReplay } from './run-replay.ts';

/** Plays a recorded workflow run microstep by microstep, as `MicrostepReplay` does a session (S-8). */
export class RunMicrostepReplay {
  readonly log = new MicrostepLog();
  private readonly player: RunReplay;
  private part = emptyRecordingPart();

  constructor() {
    const { log } = this;
    this.player = new RunReplay({
      inspect: (event) => {
        log.at.entry = this.player.entry;
        log.inspect('', event);
      },
      fact: (runFact, at) => {
        this.part.told.push({ scope: '', at, entry: this.player.entry, runFact });
        log.at.facts += 1;
      },
    });
  }

  /** Plays the entries that follow. Throws `invalid_journal` if they cannot be played. */
  play(entries: readonly JournalEntry[]): RecordingPart {
    this.part = emptyRecordingPart();
    const { log, player, part } = this;
    const first = log.microsteps.length;
    part.run = entries.find((entry) => entry.type === 'run')?.head ?? null;
    player.play(entries, () => log.close());
    part.microsteps = log.microsteps.slice(first);
    part.entries = player.entry;
    part.difference = player.difference;
    return part;
  }
}
