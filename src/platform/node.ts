type Builtins = {
  'node:async_hooks': typeof import('node:async_hooks');
  'node:crypto': typeof import('node:crypto');
  'node:fs': typeof import('node:fs');
  'node:module': typeof import('node:module');
  'node:sqlite': typeof import('node:sqlite');
  'node:vm': typeof import('node:vm');
};

/** Returns a module of Node; undefined on a runtime that lacks it. An import would keep `pawl` from bundling for those. */
export function builtin<Name extends keyof Builtins>(name: Name): Builtins[Name] | undefined {
  return globalThis.process?.getBuiltinModule?.(name);
}

/** Returns an environment variable; undefined on a runtime without an environment. */
export function environmentVariable(name: string): string | undefined {
  return globalThis.process?.env?.[name];
}

/** Returns a CommonJS package at once; undefined in a bundle that lacks it, and on a runtime without `require`. */
export function required<T>(name: string): T | undefined {
  const require = requireHere();
  return require !== null && resolves(require, name) ? require(name) : undefined;
}

/** Whether a package is installed. Where that cannot be known, its import fails if it is not. */
export function isInstalled(name: string): boolean {
  const require = requireHere();
  return require === null || resolves(require, name);
}

/** Returns the `require` of this file; null on a runtime without one, and in a CommonJS bundle, which has no address. */
function requireHere(): NodeJS.Require | null {
  const url: string | undefined = import.meta.url;
  return url === undefined ? null : (builtin('node:module')?.createRequire(url) ?? null);
}

function resolves(require: NodeJS.Require, name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch (error) {
    // Only this code means that the package is missing: it may be there without an entry for `require`.
    return !(error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND');
  }
}
