import type { JournalEntry } from '../../journal/journal.ts';
import { FrameLog } from './frames.ts';
import { emptyPart, type Part } from './recorded-data.ts';
import { RunPlayer } from './run-player.ts';

/** Plays a recorded workflow run step by microstep, as `Replayer` does a session (S-8). */
export class RunReplayer {
  readonly log = new FrameLog();
  private readonly player: RunPlayer;
  private part = emptyPart();

  constructor() {
    const { log } = this;
    this.player = new RunPlayer({
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
  play(entries: readonly JournalEntry[]): Part {
    this.part = emptyPart();
    const { log, player, part } = this;
    const first = log.frames.length;
    part.run = entries.find((entry) => entry.type === 'run')?.head ?? null;
    player.play(entries, () => log.close());
    part.frames = log.frames.slice(first);
    part.entries = player.entry;
    part.difference = player.difference;
    return part;
  }
}
