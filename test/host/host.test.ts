import { describe, expect, it } from 'vitest';
import type { Effect } from '../../machines/index.ts';
import { Host } from '../../src/host/host.ts';

const effect = (key: string): Effect => ({ kind: 'close', key, request: {} });

/** A host, and what it has sent to the leaf that requests an effect with each key. */
function hosted() {
  const host = new Host();
  const sent: unknown[] = [];
  const request = (key: string) => host.request(effect(key), { send: (event) => void sent.push([key, event]) });
  return { host, request, sent };
}

describe('D-1, D-2: the host', () => {
  it('passes on each start and cancellation once, in the order of their requests', () => {
    const { host, request } = hosted();
    request('b');
    request('a');
    expect(host.drain()).toEqual({ start: [effect('b'), effect('a')], cancel: [] });
    request('c');
    host.cancel('b');
    host.cancel('a');
    host.cancel('b');
    expect(host.drain()).toEqual({ start: [effect('c')], cancel: ['b', 'a'] });
    expect(host.drain()).toEqual({ start: [], cancel: [] });
  });

  it('neither starts nor cancels an effect that is cancelled before the driver has seen it', () => {
    const { host, request } = hosted();
    request('a');
    request('b');
    request('c');
    host.cancel('b');
    expect(host.drain()).toEqual({ start: [effect('a'), effect('c')], cancel: [] });
  });

  it('cancels nothing that was never requested, or that is settled', () => {
    const { host, request } = hosted();
    request('a');
    host.drain();
    host.deliver({ key: 'a', at: 7, chance: 0.5, outcome: {} });
    host.cancel('a');
    host.cancel('unknown');
    expect(host.drain()).toEqual({ start: [], cancel: [] });
  });

  it('sends an outcome to the leaf that asked, and a defect as a break; later results are refused', () => {
    const { host, request, sent } = hosted();
    request('a');
    request('b');
    request('c');
    host.cancel('c');
    expect(host.deliver({ key: 'b', at: 7, defect: 'it broke' })).toBe(true);
    expect(host.deliver({ key: 'a', at: 8, chance: 0.5, outcome: {} })).toBe(true);
    expect(host.deliver({ key: 'a', at: 9, chance: 0.5, outcome: {} })).toBe(false);
    expect(host.deliver({ key: 'c', at: 9, chance: 0.5, outcome: {} })).toBe(false);
    expect(host.deliver({ key: 'unknown', at: 9, defect: 'it broke' })).toBe(false);
    expect(sent).toEqual([
      ['b', { type: 'effect.broke', message: 'it broke' }],
      ['a', { type: 'effect.delivered', delivered: { at: 8, chance: 0.5, outcome: {} } }],
    ]);
  });

  it('breaks a leaf whose key was requested before, even if that effect is settled', () => {
    const { host, request, sent } = hosted();
    request('a');
    host.deliver({ key: 'a', at: 7, defect: 'it broke' });
    host.drain();
    request('a');
    expect(sent[1]).toEqual(['a', { type: 'effect.broke', message: 'the effect a was requested twice' }]);
    expect(host.drain()).toEqual({ start: [], cancel: [] });
  });
});
