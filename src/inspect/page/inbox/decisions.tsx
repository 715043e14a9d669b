import { useEffect, useState } from 'preact/hooks';
import { systemClock } from '../../../host/clock.ts';
import { tame } from '../../../platform/text.ts';
import type { InboxCall } from '../../live/inbox.ts';
import { Ago } from '../content/ago.tsx';
import { Json, Text } from '../content/content.tsx';
import { Field } from '../field.tsx';
import { type Card, cardKey } from './cards.ts';
import type { InboxCards } from './use-inbox.ts';

/** How long what has just appeared takes no click, in ms: it may be the second of two that were meant for another. */
const settleMs = 600;

/** The calls that wait for a decision, then those of a kind at once. `isAlone`: all are of one session, which is shown. */
export function Decisions({ inbox, isAlone = false }: { inbox: InboxCards; isAlone?: boolean }) {
  const { cards, decide, clear } = inbox;
  const [cleared, setCleared] = useState(0);
  const open = cards.filter(({ state }) => state === 'open').map(({ call }) => call);
  const kinds = [...Map.groupBy(open, ({ agent, tool }) => `${agent} ${tool}`)].filter(([, { length }]) => length > 1);
  const there = `${cleared} ${cards.map(({ call, state }) => `${cardKey(call)} ${call.shown} ${state}`).join(' ')}`;
  return (
    <>
      {cards.map((card) => (
        <article
          key={cardKey(card.call)}
          class={card.state}
          aria-label={`${tame(card.call.tool)} of ${tame(card.call.agent)}`}
        >
          <What call={card.call} isAlone={isAlone} />
          <Decision
            what=""
            note={card.note}
            isOpen={card.state === 'open'}
            seen={`${cleared} ${card.call.shown}`}
            take={(...how) => decide([card.call], ...how)}
          />
        </article>
      ))}
      {kinds.map(([kind, alike]) => (
        <article class="all" key={kind}>
          <Decision
            what={`all ${alike.length} ${tame(alike[0]?.tool ?? '')}`}
            note=""
            isOpen
            seen={there}
            take={(...how) => decide(alike, ...how)}
          />
        </article>
      ))}
      {cards.some(({ state }) => state === 'decided') ? (
        <button
          type="button"
          onClick={() => {
            setCleared(cleared + 1);
            clear();
          }}
        >
          Hide what is decided
        </button>
      ) : null}
    </>
  );
}

function What({ call, isAlone }: { call: InboxCall; isAlone: boolean }) {
  const { tool, agent, sessionId, metadata, since, input, preview, isPreviewDue, prompt } = call;
  const about = Object.entries(metadata).map(([name, value]) => `${name}: ${value}`);
  return (
    <>
      <p>
        <b>{tame(tool)}</b> of {tame(agent)}
        {isAlone ? null : (
          <>
            {' '}
            in <a href={`#${encodeURIComponent(sessionId)}`}>{tame(sessionId)}</a>
          </>
        )}
        , <Ago at={since} />
        {isAlone || about.length === 0 ? '' : ` · ${tame(about.join(', '))}`}
      </p>
      {isAlone || prompt === '' ? null : <p class="asked">{tame(prompt)}</p>}
      {isPreviewDue ? <p class="due">Its tool has not said yet what it would do.</p> : null}
      {preview === null ? null : <Text text={preview} />}
      <Json value={input} />
    </>
  );
}

type DecisionProps = {
  /** How many it is about, if not one. */
  what: string;
  note: Card['note'];
  isOpen: boolean;
  /** What is decided about, as it is shown: a change of it takes no click at first. */
  seen: string;
  take: (approved: boolean, reason: string) => void;
};

/** Approve, or deny with a reason that the model reads. */
function Decision({ what, note, isOpen, seen, take }: DecisionProps) {
  const [reason, setReason] = useState('');
  const [settled, setSettled] = useState<string | null>(null);
  useEffect(() => systemClock.alarm(settleMs, () => setSettled(seen)), [seen]);
  const isOff = !isOpen || settled !== seen;
  const of = what === '' ? '' : ` ${what}`;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        // Enter in the field comes past the button.
        if (!isOff) take(false, reason);
      }}
    >
      <button type="button" disabled={isOff} onClick={() => take(true, '')}>
        {`Approve${of}`}
      </button>
      <button type="submit" disabled={isOff}>{`Deny${of}`}</button>
      {isOpen ? (
        <Field
          label={`Why${of === '' ? ' it is' : `${of} are`} denied`}
          placeholder="why it is denied"
          value={reason}
          take={setReason}
        />
      ) : null}
      {note === '' ? null : <output>{tame(note)}</output>}
    </form>
  );
}
