/** Every journal carries out each call, and answers it, only after turns of the event loop: `npm run test:slow-journals`. */
import { sqliteJournal } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';

const methods = ['create', 'append', 'read', 'lease', 'renew', 'release', 'post', 'inbox', 'list', 'delete'] as const;

/** Taken at once: tests replace it. */
const { setImmediate: soon } = globalThis;

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => soon(resolve));
}

const seen = ':memory:';
const sample = sqliteJournal(seen);
for (const prototype of [MemoryJournal.prototype, Object.getPrototypeOf(sample)]) {
  for (const method of methods) {
    const real = Reflect.get(prototype, method) as (...given: unknown[]) => Promise<unknown>;
    if (Object.hasOwn(real, 'isSlow')) continue;
    const slow = async function (this: unknown, ...given: unknown[]) {
      await turns(2);
      const answer = await Reflect.apply(real, this, given);
      await turns(2);
      return answer;
    };
    Reflect.set(prototype, method, Object.assign(slow, { isSlow: true }));
  }
}
await sample.close();
