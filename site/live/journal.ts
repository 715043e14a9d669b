import type { Journal } from '../../src/index.ts';

/** A journal of a process that can die: from then on, nothing that it writes arrives, and nothing answers it. */
export function mortal(journal: Journal): { journal: Journal; kill(): void } {
  let isDead = false;
  const never = new Promise<never>(() => {});
  const alive = new Proxy(journal, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => (isDead ? never : value.apply(target, given));
    },
  });
  return {
    journal: alive,
    kill: () => {
      isDead = true;
    },
  };
}
