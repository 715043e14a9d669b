import { describe, expect, it } from 'vitest';
import { Slots } from '../../src/shared/slots.ts';

/** Takes slots, and tells which were given. */
function taking(slots: Slots) {
  const given: string[] = [];
  const gone: Record<string, unknown> = {};
  const free: Record<string, () => void> = {};
  const take = (name: string, signal = new AbortController().signal) =>
    slots.takeSlot(signal).then(
      (release) => {
        given.push(name);
        free[name] = release;
      },
      (reason) => {
        gone[name] = reason;
      },
    );
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { given, gone, free, take, settled };
}

describe('the tools of a session that run at once', () => {
  it('as many run at once as there are slots; the rest follow in order', async () => {
    const { given, free, take, settled } = taking(new Slots(2));
    for (const name of ['a', 'b', 'c', 'd', 'e']) void take(name);
    await settled();
    expect(given).toEqual(['a', 'b']);
    free.b?.();
    await settled();
    expect(given).toEqual(['a', 'b', 'c']);
    free.a?.();
    free.c?.();
    await settled();
    expect(given).toEqual(['a', 'b', 'c', 'd', 'e']);
    // All are free again, and no more than there were.
    free.d?.();
    free.e?.();
    for (const name of ['f', 'g', 'h']) void take(name);
    await settled();
    expect(given.slice(5)).toEqual(['f', 'g']);
  });

  it('D-2: an aborted waiter gets no slot and costs none', async () => {
    const { given, gone, free, take, settled } = taking(new Slots(1));
    const [before, waiting] = [new AbortController(), new AbortController()];
    before.abort('too early');
    await take('early', before.signal);
    expect(gone).toEqual({ early: 'too early' });
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      void take(name, name === 'c' || name === 'd' ? waiting.signal : new AbortController().signal);
    await settled();
    waiting.abort('no longer');
    await settled();
    expect(gone).toEqual({ early: 'too early', c: 'no longer', d: 'no longer' });
    expect(given).toEqual(['a']);
    free.a?.();
    await settled();
    expect(given).toEqual(['a', 'b']);
    free.b?.();
    await settled();
    expect(given).toEqual(['a', 'b', 'e']);
  });

  it('a slot that is freed just as its waiter is aborted is given to the next waiter', async () => {
    const { given, gone, free, take, settled } = taking(new Slots(1));
    const leaving = new AbortController();
    void take('a');
    void take('b', leaving.signal);
    void take('c');
    await settled();
    leaving.abort('now');
    free.a?.();
    await settled();
    expect(gone).toEqual({ b: 'now' });
    expect(given).toEqual(['a', 'c']);
    free.c?.();
    void take('d');
    await settled();
    expect(given).toEqual(['a', 'c', 'd']);
  });
});
