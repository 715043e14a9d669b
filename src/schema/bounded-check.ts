import type { Context, Script } from 'node:vm';
import { builtin } from '../platform/node.ts';

/** The only way to end synchronous code, even inside a regular expression: a script with a timeout calls it. */
type Sandbox = { context: Context; script: Script };
let sandbox: Sandbox | null = null;

/** How often a task is tried that got too little time on the processor; each try has twice the limit of the one before. */
const mostTries = 4;

/**
 * Runs `task`, and ends it with an error after `limitMs`. If the process spent that time waiting for the processor, the
 * task is run again, so it must have no side effects. It costs about a quarter of a millisecond. A runtime that lacks
 * `node:vm` runs it without a limit; such a runtime has no schemas from outside.
 */
export function runBounded<T>(limitMs: number, task: () => T): T {
  const vm = builtin('node:vm');
  if (vm === undefined) return task();
  for (let tries = 1; ; tries += 1) {
    const before = process.cpuUsage();
    try {
      return tried(vm, limitMs * 2 ** (tries - 1), task);
    } catch (error) {
      const { user, system } = process.cpuUsage(before);
      if (!wasEnded(error) || tries === mostTries || (user + system) / 1_000 >= limitMs) throw error;
    }
  }
}

function tried<T>(vm: typeof import('node:vm'), limitMs: number, task: () => T): T {
  sandbox ??= { context: vm.createContext({}), script: new vm.Script('run()') };
  const results: T[] = [];
  sandbox.context.run = () => {
    results.push(task());
  };
  sandbox.script.runInContext(sandbox.context, { timeout: limitMs });
  const [result] = results as [T];
  return result;
}

/** Whether the error says that `bounded` ended its task. */
export function wasEnded(error: unknown): boolean {
  // The error is the sandbox's, so it is no `Error` here.
  const isObject = typeof error === 'object' && error !== null;
  return isObject && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
