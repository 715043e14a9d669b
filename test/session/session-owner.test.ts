import { describe, expect, it } from 'vitest';
import { type Delivery, type Fact, userMessage } from '../../machines/index.ts';
import { SessionOwner, type SessionOwnerParts } from '../../src/session/wiring/owner.ts';

const delivery = { key: 'a', at: 7 } as unknown as Delivery;

type Given = { onDelivery?: SessionOwnerParts['onDelivery']; isSilent?: boolean; withSubAgents?: boolean };

function owner({ onDelivery, isSilent = false, withSubAgents = true }: Given = {}) {
  const told: unknown[] = [];
  const messages: unknown[] = [];
  const observer = {
    isSilent,
    folds: { conversation: { messages } },
    takeFact: (fact: Fact) => told.push(['fact', fact.type]),
    sight: (sighting: object) => told.push(['sight', sighting]),
    userCodeFailed: (name: string, error: unknown) => told.push(['failed', name, (error as Error).message]),
  };
  const subAgents = { stop: () => told.push(['stop']) };
  const times = { deliveredAt: 0 };
  const made = new SessionOwner({
    observer: observer as never,
    secrets: ['hidden'],
    times,
    onDelivery,
    subAgents: (withSubAgents ? subAgents : null) as never,
  });
  return { made, told, messages, times };
}

describe('D-1: what a running machine tells its session', () => {
  it('a fact is taken in; a stop reaches the sub-agents after it', () => {
    const { made, told } = owner();
    made.takeFact({ type: 'session.stopping' });
    made.takeFact({ type: 'session.succeeded', turns: 1 });
    expect(told).toEqual([['fact', 'session.stopping'], ['stop'], ['fact', 'session.succeeded']]);
    const alone = owner({ withSubAgents: false });
    alone.made.takeFact({ type: 'session.stopping' });
    expect(alone.told).toEqual([['fact', 'session.stopping']]);
  });

  it('D-3: a delivery sets the time of its facts, and is told, unless it is replayed', () => {
    const seen: Delivery[] = [];
    const live = owner({ onDelivery: (given) => void seen.push(given) });
    live.made.delivering(delivery);
    expect([live.times.deliveredAt, seen]).toEqual([7, [delivery]]);
    const replayed = owner({ onDelivery: (given) => void seen.push(given), isSilent: true });
    replayed.made.delivering(delivery);
    expect([replayed.times.deliveredAt, seen]).toEqual([7, [delivery]]);
    const unheard = owner();
    unheard.made.delivering(delivery);
    expect([unheard.times.deliveredAt, unheard.told]).toEqual([7, []]);
  });

  it('S-6: a listener of deliveries that throws or rejects is reported', async () => {
    const throws = owner({
      onDelivery: () => {
        throw new Error('thrown');
      },
    });
    throws.made.delivering(delivery);
    expect(throws.told).toEqual([['failed', 'onDelivery', 'thrown']]);
    const rejects = owner({ onDelivery: (async () => Promise.reject(new Error('rejected'))) as never });
    rejects.made.delivering(delivery);
    await new Promise(setImmediate);
    expect(rejects.told).toEqual([['failed', 'onDelivery', 'rejected']]);
  });

  it('D-2: steering that comes too late stays in the conversation, and no other command does', () => {
    const { made, messages } = owner();
    made.tooLate({ type: 'session.steer', text: 'Faster.' });
    made.tooLate({ type: 'session.stop' });
    expect(messages).toEqual([userMessage('Faster.')]);
  });

  it('D-2: a late result is sighted, and a defect is described without secrets', () => {
    const { made, told } = owner();
    made.late('turn-1/attempt-1/model');
    expect(told).toEqual([['sight', { type: 'effect.late', key: 'turn-1/attempt-1/model' }]]);
    expect(made.describeDefect(new Error('a hidden thing'))).toBe('a [redacted] thing');
  });
});
