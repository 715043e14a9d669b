import type { InboxCall } from '../../live/inbox.ts';

/** A call on the page, and what came of it. It keeps its place while others wait, so that no click meets another call. */
export type Card = {
  call: InboxCall;
  state: 'open' | 'sent' | 'decided';
  /** What came of it; empty while it waits. */
  note: string;
};

export const cardKey = ({ sessionId, madeBy, callId }: InboxCall) => JSON.stringify([sessionId, madeBy, callId]);

/** Returns the cards after the list was read: each where it stood, new ones last. Once none waits, none is left. */
export function withCalls(cards: readonly Card[], calls: readonly InboxCall[]): Card[] {
  const listed = new Map(calls.map((call) => [cardKey(call), call]));
  const kept = cards.map((card): Card => {
    const call = listed.get(cardKey(card.call));
    if (call !== undefined) return card.state === 'decided' ? { call, state: 'open', note: '' } : { ...card, call };
    if (card.state !== 'open') return card;
    return { ...card, state: 'decided', note: 'Decided elsewhere, or over' };
  });
  const known = new Set(cards.map(({ call }) => cardKey(call)));
  const added = calls
    .filter((call) => !known.has(cardKey(call)))
    .map((call): Card => ({ call, state: 'open', note: '' }));
  const all = [...kept, ...added];
  return all.some(({ state }) => state !== 'decided') ? all : [];
}

/** Returns the cards with what came of some of them. */
export function withOutcome(
  cards: readonly Card[],
  some: readonly InboxCall[],
  outcome: Pick<Card, 'state' | 'note'>,
): Card[] {
  const keys = new Set(some.map(cardKey));
  return cards.map((card) => (keys.has(cardKey(card.call)) ? { ...card, ...outcome } : card));
}
