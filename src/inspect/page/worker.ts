import { eventLoopTurn } from '../../host/clock.ts';
import { messageOf } from '../../input/errors.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { readTape } from '../../journal/tape.ts';
import { MicrostepReplay, partEnd } from '../recorded/microstep-replay.ts';
import { RunMicrostepReplay } from '../recorded/run-microstep-replay.ts';
import { ledTo, whatIf } from '../study/what-if.ts';
import { unpacked } from './packed.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

/** How many entries are played at once: a part that the page takes in well within a frame. */
const entriesAtOnce = 120;

type Scope = { onmessage: ((event: MessageEvent<ToWorker>) => void) | null; postMessage(message: FromWorker): void };

/** Runs the machines over the entries, in the worker: the page gets what they said, piece by piece. */
export function runWorker(scope: Scope): void {
  let replayer: MicrostepReplay | RunMicrostepReplay = new MicrostepReplay();
  const entries: JournalEntry[] = [];
  let played = 0;
  let isPlaying = false;
  const play = async () => {
    if (isPlaying) return;
    isPlaying = true;
    while (played < entries.length) {
      const end = partEnd(entries, played, entriesAtOnce);
      const part = replayer.play(entries.slice(played, end));
      played = end;
      scope.postMessage({ type: 'part', part, total: entries.length });
      await eventLoopTurn();
    }
    isPlaying = false;
  };
  const answer = (message: Extract<ToWorker, { id: number }>): unknown => {
    if (message.type === 'values') return replayer.log.valuesOf(message.paths);
    if (message.type === 'whatIf') return whatIf(entries, message.change);
    return message.type === 'context'
      ? replayer.log.contextAt(message.frame)
      : ledTo(entries, replayer.log.entryOf(message.frame));
  };
  const take = async (message: ToWorker) => {
    if ('id' in message) {
      try {
        scope.postMessage({ type: 'answer', id: message.id, value: answer(message) });
      } catch (error) {
        scope.postMessage({ type: 'refusal', id: message.id, message: messageOf(error) });
      }
      return;
    }
    for (const entry of message.type === 'file' ? readTape(await unpacked(message.file)) : message.entries)
      entries.push(entry);
    if (played === 0 && entries[0]?.type === 'run') replayer = new RunMicrostepReplay();
    await play();
  };
  scope.onmessage = ({ data }) => {
    take(data).catch((error) => scope.postMessage({ type: 'failed', message: String(error?.message ?? error) }));
  };
}
