import { RE2JS } from 're2js';

/** Compiles a regular expression for an engine whose time grows with the text alone; null for one that it does not know. */
export function linearPattern(pattern: string): { test(text: string): boolean } | null {
  // The linear-time engine misreads backreferences.
  if (/(?<!\\)(?:\\\\)*\\(?:[1-9]|k<)/.test(pattern)) return null;
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return { test: (text) => expression.matcher(text).find() };
  } catch {
    return null;
  }
}
