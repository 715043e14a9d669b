/** Runs a task when those that were given before it have ended, however they did. */
export type OneAtATime = <T>(task: () => Promise<T>) => Promise<T>;

/** Returns a function that runs tasks one at a time, in call order. */
export function oneAtATime(): OneAtATime {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task);
    last = next.catch(() => undefined);
    return next;
  };
}

/** Returns a function that runs the tasks of each key one at a time, in call order. */
export function oneAtATimePerKey(): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const queues = new Map<string, { run: OneAtATime; tasks: number }>();
  return async (key, task) => {
    const queue = queues.get(key) ?? { run: oneAtATime(), tasks: 0 };
    queues.set(key, queue);
    queue.tasks += 1;
    try {
      return await queue.run(task);
    } finally {
      queue.tasks -= 1;
      if (queue.tasks === 0) queues.delete(key);
    }
  };
}

/** Whether a value is still to come. The keyword `then` of a JSON Schema is no function. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
