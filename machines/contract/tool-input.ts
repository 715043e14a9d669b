import type { JsonObject } from './json.ts';

/** The parsed text of a tool call's input. */
export type ParsedInput =
  | { state: 'object'; value: JsonObject }
  /** Blank text, which counts as `{}`. */
  | { state: 'empty'; value: JsonObject }
  | { state: 'malformed'; reason: string };

/** Some serializers fail on inputs nested more deeply. */
const deepest = 500;

/** Parses a tool call's input (C-5): a complete JSON object or blank. It never guesses, repairs or completes. */
export function parseToolInput(text: string): ParsedInput {
  if (text.trim() === '') return { state: 'empty', value: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { state: 'malformed', reason: error instanceof Error ? error.message : 'not JSON' };
  }
  if (!isObject(value)) {
    const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    const hint =
      typeof value === 'string' && isObject(parsedText(value)) ? '; send the object, not a string of it' : '';
    return { state: 'malformed', reason: `the input is ${kind}, not an object${hint}` };
  }
  if (text.length > 2 * deepest && depthOf(text) > deepest) {
    return { state: 'malformed', reason: `the input is more than ${deepest} levels deep` };
  }
  if (/__proto__|\\u/.test(text) && hasProtoKey(value)) {
    return { state: 'malformed', reason: 'the input has a key named __proto__' };
  }
  return { state: 'object', value };
}

function parsedText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function depthOf(json: string): number {
  let depth = 0;
  let most = 0;
  let inText = false;
  for (let index = 0; index < json.length; index += 1) {
    const character = json[index];
    if (inText) {
      if (character === '\\') index += 1;
      else if (character === '"') inText = false;
    } else if (character === '"') {
      inText = true;
    } else if (character === '{' || character === '[') {
      depth += 1;
      most = Math.max(most, depth);
    } else if (character === '}' || character === ']') {
      depth -= 1;
    }
  }
  return most;
}

/** Parses the input of a tool that takes a text: a JSON string, kept as `{ text }`. */
export function parseTextInput(input: string): ParsedInput {
  try {
    const text: unknown = JSON.parse(input);
    if (typeof text === 'string') return { state: 'object', value: { text } };
  } catch {
    // Not JSON, so not a JSON string either.
  }
  return { state: 'malformed', reason: 'the input is not a JSON string' };
}

/** Returns the input as kept in the history, in a form that every provider accepts (C-2). */
export function historyInput({ input, isText }: { input: string; isText?: true }): JsonObject {
  const parsed = isText === true ? parseTextInput(input) : parseToolInput(input);
  return parsed.state === 'malformed' ? { malformed_input: input } : parsed.value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasProtoKey(root: unknown): boolean {
  const rest: unknown[] = [root];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (Object.hasOwn(value, '__proto__')) return true;
    rest.push(...Object.values(value));
  }
  return false;
}
