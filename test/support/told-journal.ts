import type { Journal } from '../../src/index.ts';
import { journalWith } from './dying-journal.ts';

export type Method = Exclude<keyof Journal, 'leaseMs' | 'noted' | 'isClosed'>;

/** A call of a journal that has not been carried out. */
type Asked = { method: Method; goOn: () => Promise<void> };

const methods: readonly Method[] = [
  ...(['create', 'append', 'read', 'lease', 'renew', 'release', 'post', 'inbox', 'list', 'delete', 'close'] as const),
];

/** A journal that carries out the calls of the methods in `held`, and answers them, only when it is told to. */
export function toldJournal(inner: Journal, held: readonly Method[] = methods) {
  const waiting: Asked[] = [];
  const told = (method: Method) => {
    return (...given: unknown[]) => {
      const act = () => Reflect.apply(inner[method] as (...all: unknown[]) => Promise<unknown>, inner, given);
      if (!held.includes(method)) return act();
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      waiting.push({
        method,
        goOn: async () => {
          const done = act();
          done.then(resolve, reject);
          await done.catch(() => undefined);
        },
      });
      return promise;
    };
  };
  const journal = journalWith(inner, Object.fromEntries(methods.map((method) => [method, told(method)])));
  return {
    journal,
    waiting: (): readonly Method[] => waiting.map(({ method }) => method),
    /** Carries out the call at a place among those that wait, from 0; negative from the end. */
    answer: async (at = 0): Promise<void> => {
      const [asked] = waiting.splice(at, 1);
      await asked?.goOn();
    },
  };
}

/** Lets everything happen that needs no timer and no answer. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}
