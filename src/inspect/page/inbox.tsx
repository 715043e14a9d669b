import { useEffect, useRef, useState } from 'preact/hooks';
import type { JournaledSession } from '../../journal/journal.ts';
import { tame } from '../../platform/text.ts';
import type { InboxCall } from '../live/inbox.ts';
import { Json, Text } from './content/content.tsx';
import { Field } from './field.tsx';
import { decide, followAll, inbox } from './live.ts';
import { ago, clock } from './text.ts';

/** The calls of all sessions that wait for a person, the longest waiting first. */
export function InboxPage() {
  const [calls, setCalls] = useState<readonly InboxCall[] | null>(null);
  const [others, setOthers] = useState(0);
  const [trouble, setTrouble] = useState('');
  const look = () => inbox().then(setCalls, (error) => setTrouble(String(error.message)));
  useEffect(() => {
    const waiting = new Map<string, JournaledSession['waitingCalls']>();
    return followAll((news) => {
      setTrouble('failure' in news ? news.failure : '');
      if ('failure' in news) return;
      const before = JSON.stringify([...waiting]);
      for (const id of news.gone) waiting.delete(id);
      for (const { sessionId, waitingCalls } of news.rows)
        if (waitingCalls.length === 0) waiting.delete(sessionId);
        else waiting.set(sessionId, waitingCalls);
      setOthers([...waiting.values()].flat().filter(({ awaits }) => awaits === 'answer').length);
      if (news.isWhole || JSON.stringify([...waiting]) !== before) void look();
    });
  }, []);
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    // Not on the next button: a key that is pressed twice would decide two calls.
    if (document.activeElement === document.body) main.current?.focus();
    document.title = (calls ?? []).length === 0 ? 'Pawl' : `(${calls?.length}) Pawl`;
  }, [calls]);
  const act = async (some: readonly InboxCall[], approved: boolean, reason: string) => {
    const why = approved || reason.trim() === '' ? {} : { reason };
    const taken = await Promise.all(some.map((call) => decide(call, { approved, ...why })));
    const missed = taken.filter((one) => !one).length;
    setTrouble(missed === 0 ? '' : `${missed} of ${taken.length} had been decided, or wait with another input.`);
    await look();
  };
  const take = (some: readonly InboxCall[], approved: boolean, reason: string) =>
    void act(some, approved, reason).catch((error) => setTrouble(String(error.message)));
  return (
    <div class="page inbox">
      <header>
        <h1>Inbox</h1>
        <a href="#/">All sessions</a>
        <span class="numbers" role="status">
          {calls === null ? 'looking' : `${calls.length} waiting for a decision`}
          {others === 0 ? '' : ` · ${others} for the answer of a program`}
        </span>
      </header>
      <main ref={main} tabindex={0} aria-label="Waiting for a decision">
        {trouble === '' ? null : <p class="trouble">{tame(trouble)}</p>}
        {calls?.length === 0 ? <p class="empty">No call waits for a person.</p> : null}
        {[...Map.groupBy(calls ?? [], ({ agent, tool }) => `${agent} ${tool}`).entries()].map(([kind, alike]) => (
          <section key={kind} aria-label={`${tame(alike[0]?.tool ?? '')} of ${tame(alike[0]?.agent ?? '')}`}>
            {alike.map((call) => (
              <Card key={`${call.madeBy} ${call.callId}`} call={call} take={(...how) => take([call], ...how)} />
            ))}
            {alike.length < 2 ? null : (
              <article class="all">
                <Decision
                  what={`all ${alike.length} ${tame(alike[0]?.tool ?? '')}`}
                  take={(...how) => take(alike, ...how)}
                />
              </article>
            )}
          </section>
        ))}
      </main>
    </div>
  );
}

type Take = (approved: boolean, reason: string) => void;

function Card({ call, take }: { call: InboxCall; take: Take }) {
  const { tool, agent, sessionId, metadata, since, input, preview } = call;
  const about = Object.entries(metadata).map(([name, value]) => `${name}: ${value}`);
  return (
    <article>
      <p>
        <b>{tame(tool)}</b> of {tame(agent)} in <a href={`#${encodeURIComponent(sessionId)}`}>{tame(sessionId)}</a>,{' '}
        <span title={clock(since)}>{ago(since)}</span>
        {about.length === 0 ? '' : ` · ${tame(about.join(', '))}`}
      </p>
      {preview === null ? null : <Text text={preview} />}
      <Json value={input} />
      <Decision what="" take={take} />
    </article>
  );
}

/** Approve, or deny with a reason that the model reads. `what`: how many it is about, if not one. */
function Decision({ what, take }: { what: string; take: Take }) {
  const [reason, setReason] = useState('');
  const of = what === '' ? '' : ` ${what}`;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        take(false, reason);
      }}
    >
      <button type="button" onClick={() => take(true, '')}>
        {`Approve${of}`}
      </button>
      <button type="submit">{`Deny${of}`}</button>
      <Field
        label={`Why${of === '' ? ' it is' : `${of} are`} denied`}
        placeholder="why it is denied"
        value={reason}
        take={setReason}
      />
    </form>
  );
}
