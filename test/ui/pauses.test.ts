import { describe, expect, it } from 'vitest';
import { Pause } from '../../src/ui/pause.ts';
import { event, named } from '../support/ui-events.ts';

const of = (type: string, index = 0, fields: object = {}) => event(type, { ...named('look', index), ...fields });
const below = { sessionId: 's2', path: ['reader'] };
const begun = [event('attempt.started'), event('attempt.replied')];
const pauseAfter = (
  events: readonly ReturnType<typeof event>[],
  decided: { sessionId: string; callId: string }[] = [],
) => {
  const pause = new Pause(decided);
  for (const one of events) pause.takeEvent(one);
  return pause;
};
const isPaused = (...events: ReturnType<typeof event>[]) => pauseAfter([...begun, ...events]).isOn;

describe('S-6: whether a session waits for a person alone', () => {
  it('does, once all its calls wait for a decision or an answer', () => {
    const waits = [
      of('tool.requested'),
      of('tool.approvalRequested'),
      of('tool.requested', 1),
      of('tool.handedOut', 1),
    ];
    expect(isPaused(...waits)).toBe(true);
    expect(isPaused(...waits.slice(0, 3))).toBe(false);
    expect(isPaused(...waits, of('tool.answered', 1))).toBe(true);
    expect(isPaused()).toBe(false);
    expect(isPaused(of('tool.requested'), of('tool.answered'))).toBe(false);
  });

  it.each(['tool.approved', 'tool.denied'])('does not after %s, until the call is answered', (type) => {
    const waits = [of('tool.approvalRequested'), of('tool.approvalRequested', 1)];
    expect(isPaused(...waits, of(type))).toBe(false);
    expect(isPaused(...waits, of(type), of('tool.answered'))).toBe(true);
  });

  it('does not for a call that was decided already', () => {
    const events = [...begun, of('tool.approvalRequested')];
    expect(pauseAfter(events, [{ sessionId: 's', callId: 'c0' }]).isOn).toBe(false);
    expect(pauseAfter(events, [{ sessionId: 's2', callId: 'c0' }]).isOn).toBe(true);
    // The decided call continues without a person, so the session is not paused.
    const two = [...events, of('tool.approvalRequested', 1)];
    expect(pauseAfter(two, [{ sessionId: 's', callId: 'c0' }]).isOn).toBe(false);
    expect(pauseAfter([...begun, of('tool.handedOut')], [{ sessionId: 's', callId: 'c0' }]).isOn).toBe(false);
  });

  it.each(['attempt.finished', 'attempt.progressed', 'attempt.failed', 'attempt.aborted'])(
    'does not after %s, whatever waited in it, until the next reply',
    (type) => {
      expect(isPaused(of('tool.approvalRequested'), event(type))).toBe(false);
      expect(isPaused(of('tool.approvalRequested'), event(type), of('tool.handedOut'))).toBe(false);
      expect(isPaused(of('tool.approvalRequested'), event(type), event('attempt.replied'))).toBe(false);
      const next = [event(type), event('attempt.replied'), of('tool.handedOut')];
      expect(isPaused(of('tool.requested'), ...next)).toBe(true);
    },
  );

  it.each(['session.succeeded', 'session.failed', 'session.aborted'])('does not after %s', (type) => {
    expect(isPaused(of('tool.approvalRequested'), event(type))).toBe(false);
  });

  it('events of no consequence change nothing', () => {
    expect(isPaused(of('tool.approvalRequested'), event('model.delta'), event('session.steered'))).toBe(true);
  });
});

describe('S-6: a session whose sub-agent waits', () => {
  const started = of('subAgent.started', 0, { childSessionId: 's2' });
  const ended = of('subAgent.ended', 0, { childSessionId: 's2' });
  const reply = event('attempt.replied', below);
  const asks = of('tool.approvalRequested', 5, below);

  it('waits too, and tells which of its calls do', () => {
    const events = [...begun, of('tool.requested'), started];
    expect(pauseAfter(events).isOn).toBe(false);
    expect(pauseAfter([...events, reply]).isOn).toBe(false);
    const pause = pauseAfter([...events, of('tool.approvalRequested', 1), reply, asks]);
    expect([pause.isOn, pause.subAgentCalls]).toEqual([true, ['c0']]);
    expect(pauseAfter([...events, event('attempt.started', below), asks]).isOn).toBe(false);
  });

  it('continues when the sub-agent ends, until the call is answered', () => {
    const events = [...begun, of('tool.requested'), started, reply, asks, ended];
    const pause = pauseAfter([...events, of('tool.approvalRequested', 1)]);
    expect([pause.isOn, pause.subAgentCalls]).toEqual([false, []]);
    expect(pauseAfter([...events, of('tool.approvalRequested', 1), of('tool.answered')]).isOn).toBe(true);
  });

  it('what waited in the sub-agent does not wait when it is over', () => {
    const events = [...begun, of('tool.requested'), started, reply, asks, ended, of('tool.answered')];
    expect(pauseAfter(events).isOn).toBe(false);
    const next = [event('attempt.progressed'), event('attempt.replied'), of('tool.handedOut', 1)];
    expect(pauseAfter([...events, ...next]).isOn).toBe(true);
  });

  it('a call that was answered counts no more, in the next attempt either', () => {
    const answered = [...begun, of('tool.requested'), of('tool.answered'), event('attempt.progressed')];
    expect(pauseAfter([...answered, event('attempt.replied'), of('tool.handedOut', 1)]).isOn).toBe(true);
  });

  it('that does nothing yet has no calls', () => {
    expect(pauseAfter([]).subAgentCalls).toEqual([]);
  });
});
