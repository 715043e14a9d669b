import { type Context, createContext, Script } from 'node:vm';

/** The only way to end synchronous code, even inside a regular expression: a script with a timeout calls it. */
const script = new Script('run()');
let sandbox: Context | null = null;

/** Runs `task`, and ends it with an error after `limitMs`. It costs about a quarter of a millisecond. */
export function bounded<T>(limitMs: number, task: () => T): T {
  sandbox ??= createContext({});
  const results: T[] = [];
  sandbox.run = () => {
    results.push(task());
  };
  script.runInContext(sandbox, { timeout: limitMs });
  const [result] = results as [T];
  return result;
}

/** Whether the error says that `bounded` ended its task. */
export function wasEnded(error: unknown): boolean {
  // The error is the sandbox's, so it is no `Error` here.
  const isObject = typeof error === 'object' && error !== null;
  return isObject && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
