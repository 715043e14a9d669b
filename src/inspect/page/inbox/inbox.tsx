import { useEffect, useRef, useState } from 'preact/hooks';
import type { JournaledSession } from '../../../journal/journal.ts';
import { tame } from '../../../platform/text.ts';
import { followAll } from '../live.ts';
import { Decisions } from './decisions.tsx';
import { useInbox } from './use-inbox.ts';

/** The calls of all sessions that wait for a person: in the order in which the page saw them, the longest waiting first. */
export function InboxPage() {
  const [waiting, setWaiting] = useState<ReadonlyMap<string, JournaledSession['waitingCalls']>>(new Map());
  const [away, setAway] = useState('');
  const [isListed, setListed] = useState(false);
  useEffect(
    () =>
      followAll((news) => {
        setAway('failure' in news ? news.failure : '');
        if ('failure' in news) return;
        setListed(true);
        setWaiting((before) => {
          const now = new Map(news.isWhole ? [] : before);
          for (const id of news.gone) now.delete(id);
          for (const { sessionId, waitingCalls } of news.rows) now.set(sessionId, waitingCalls);
          return new Map([...now].filter(([, calls]) => calls.length > 0));
        });
      }),
    [],
  );
  const inbox = useInbox(null, waiting.size === 0 ? null : JSON.stringify([...waiting]));
  const { cards, unreadable, trouble } = inbox;
  const isKnown = waiting.size === 0 ? isListed : inbox.isKnown;
  const open = cards.filter(({ state }) => state !== 'decided').length;
  const others = [...waiting.values()].flat().filter(({ awaits }) => awaits === 'answer').length;
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    // Not on the next button: a key that is pressed twice would decide two calls.
    if (document.activeElement === document.body) main.current?.focus();
    document.title = open === 0 ? 'Pawl' : `(${open}) Pawl`;
  }, [cards]);
  return (
    <div class="page inbox">
      <header>
        <h1>Inbox</h1>
        <a href="#/">All sessions</a>
        <span class="numbers" role="status">
          {isKnown ? `${open} waiting for a decision` : 'looking'}
          {others === 0 ? '' : ` · ${others} for the answer of a program`}
        </span>
      </header>
      <main ref={main} tabindex={-1} aria-label="Waiting for a decision">
        {away === '' && trouble === '' ? null : (
          <p class="trouble">{tame([away, trouble].filter(Boolean).join(' '))}</p>
        )}
        {isKnown && cards.length === 0 ? <p class="empty">No call waits for a person.</p> : null}
        <Decisions inbox={inbox} />
        {unreadable.map(({ sessionId, reason }) => (
          <p class="trouble" key={sessionId}>
            The calls of <a href={`#${encodeURIComponent(sessionId)}`}>{tame(sessionId)}</a> cannot be shown:{' '}
            {tame(reason)}
          </p>
        ))}
      </main>
    </div>
  );
}
