import { useEffect, useRef, useState } from 'preact/hooks';
import { systemClock } from '../../../host/clock.ts';
import type { InboxCall, InboxList } from '../../live/inbox.ts';
import { decide, inbox } from '../live.ts';
import { type Card, withCalls, withOutcome } from './cards.ts';

/** How often the list is read while it is seen, in ms: what a call would do may change. And while something is due. */
const lookMs = 5_000;
const dueMs = 1_000;

export type Decide = (some: readonly InboxCall[], approved: boolean, reason: string) => void;

export type InboxCards = {
  cards: readonly Card[];
  unreadable: InboxList['unreadable'];
  /** Whether the list has been read. */
  isKnown: boolean;
  /** Why the list could not be read; empty if it was. */
  trouble: string;
  decide: Decide;
  /** Takes the cards of calls that are decided away. */
  clear(): void;
};

/**
 * The calls that wait, of one session or of all, read again when `news` changes and while the page is seen. `news` is null
 * if nothing waits.
 */
export function useInbox(sessionId: string | null, news: string | null): InboxCards {
  const [cards, setCards] = useState<readonly Card[]>([]);
  const [unreadable, setUnreadable] = useState<InboxList['unreadable']>([]);
  const [isKnown, setKnown] = useState(false);
  const [trouble, setTrouble] = useState('');
  // A list that was asked for before a decision does not know of it.
  const decisions = useRef(0);
  const looking = useRef(false);
  /** Whether something has happened that the last list did not have. */
  const unread = useRef(true);
  const look = async () => {
    // A server that is slow is not asked again meanwhile.
    if (looking.current) return;
    looking.current = true;
    unread.current = false;
    const own = decisions.current;
    try {
      const list = await inbox(sessionId);
      if (own !== decisions.current) return;
      setCards((before) => withCalls(before, list.calls));
      setUnreadable(list.unreadable);
      setKnown(true);
      setTrouble('');
    } catch (error) {
      setTrouble(String(error instanceof Error ? error.message : error));
    } finally {
      looking.current = false;
      setLooks((count) => count + 1);
    }
  };
  const [looks, setLooks] = useState(0);
  const isQuiet = news === null && cards.length === 0;
  const isDue = trouble !== '' || cards.some(({ state, call }) => state === 'open' && call.isPreviewDue);
  useEffect(() => {
    unread.current = true;
    if (!isQuiet) void look();
  }, [sessionId, news]);
  useEffect(() => {
    if (isQuiet || looking.current) return;
    if (unread.current) {
      void look();
      return;
    }
    return systemClock.alarm(isDue ? dueMs : lookMs, () => {
      if (document.hidden) setLooks((count) => count + 1);
      else void look();
    });
  }, [sessionId, news, isQuiet, isDue, looks]);
  const act: Decide = (some, approved, reason) => {
    decisions.current += 1;
    setCards((before) => withOutcome(before, some, { state: 'sent', note: 'Sending' }));
    const why = approved || reason.trim() === '' ? {} : { reason };
    const sent = some.map(async (call) => {
      const taken = await decide(call, { approved, ...why }).catch((error) => String(error.message));
      decisions.current += 1;
      setCards((before) => withOutcome(before, [call], outcomeOf(taken, approved, reason)));
    });
    void Promise.all(sent).then(() => {
      unread.current = true;
      setLooks((count) => count + 1);
    });
  };
  const clear = () => setCards((before) => before.filter(({ state }) => state !== 'decided'));
  return { cards, unreadable, isKnown, trouble, decide: act, clear };
}

/** `taken`: whether the decision counted, or why it could not be sent. */
function outcomeOf(taken: boolean | string, approved: boolean, reason: string): Pick<Card, 'state' | 'note'> {
  if (typeof taken === 'string') return { state: 'open', note: taken };
  if (!taken) return { state: 'open', note: 'Not decided: it had changed, or waits no more' };
  if (approved) return { state: 'decided', note: 'Approved' };
  return { state: 'decided', note: reason.trim() === '' ? 'Denied' : `Denied: ${reason}` };
}
