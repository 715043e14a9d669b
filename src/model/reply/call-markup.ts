import { jsonIn } from '../../platform/plain-json.ts';

/** Marks that models put round a tool call, and in no prose: the formats of Qwen, Hermes, GLM, DeepSeek, Kimi, Mistral, Llama and Claude. */
const marks = [
  /<\/?tool_calls?>/,
  /<\/?[|｜]+DSML[|｜]+[^<>]*>/,
  /<[|｜]tool[_▁ ]?calls?[_▁][^<>]*>/,
  /<[|｜]python_tag[|｜]>/,
  /\[\/?TOOL_CALLS\]/,
  /\[(?:END_)?TOOL_REQUEST\]/,
  /<\/?function_calls>/,
  /<function=[^<>]+>/,
  /<parameter=[^<>]+>/,
  /<(?:antml:)?invoke name=[^<>]+>/,
];

/** What closes a call beside those; without one of them it is any other markup. */
const closers = [/<\/(?:antml:)?(?:function|parameter|invoke|arg_value|arg_key)>/];

const anyOf = (patterns: readonly RegExp[]) => new RegExp(patterns.map(({ source }) => source).join('|'), 'g');
const mark = anyOf(marks);
const markOrCloser = anyOf([...marks, ...closers]);

/** The input of a call after its mark: JSON, or the arguments of a function, with the name of the tool before it. */
const input = /^[\w.:-]*(?:\[ARGS\]|[|｜<>\w▁]*>)?\s*(?:[[{].*[\]}]|\(.*\))$/s;

/**
 * Whether a reply's text is, or ends in, the markup of a tool call (F-4): it ends with a mark or closer of one, or with the
 * input behind a mark, or with the JSON of a call to one of the `tools`. Nothing of it is ever parsed into a call.
 */
export function isCallMarkup(text: string, tools: readonly string[]): boolean {
  const said = text.trim();
  if (said.search(mark) !== -1) {
    const last = [...said.matchAll(markOrCloser)].at(-1);
    const rest = said.slice((last?.index ?? 0) + (last?.[0].length ?? 0)).trim();
    if (rest === '' || input.test(rest)) return true;
  }
  return endsInCall(said, tools);
}

/** The most places from which the end of a text is read as JSON, and how much of it, in UTF-16 units. */
const mostStarts = 20;
const mostJson = 262_144;

function endsInCall(said: string, tools: readonly string[]): boolean {
  const text = withoutFence(said).slice(-mostJson);
  if (!/[}\]]$/.test(text)) return false;
  const starts = [...text.matchAll(/^[ \t]*(?=[[{])/gm)].slice(-mostStarts);
  return starts.some((start) => callsIn(jsonIn(text.slice(start.index))).some((name) => tools.includes(name)));
}

/** Returns what stands in the fence that ends a text; the text itself without one. */
function withoutFence(said: string): string {
  const fence = '```';
  const start = said.endsWith(fence) ? said.lastIndexOf(fence, said.length - fence.length - 1) : -1;
  return start === -1 ? said : said.slice(said.indexOf('\n', start) + 1, -fence.length).trim();
}

/** Returns the names of the calls that a value describes, in the ways that models write them; empty for any other. */
function callsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(callsIn);
  if (typeof value !== 'object' || value === null) return [];
  const { name, tool, tool_name, function: named, tool_calls: calls } = value as Record<string, unknown>;
  if (Array.isArray(calls) || typeof named === 'object') return callsIn(calls ?? named);
  const hasInput = ['arguments', 'parameters', 'input', 'args'].some((field) => field in value);
  const called = [name, tool, tool_name, named].find((one) => typeof one === 'string');
  return hasInput && typeof called === 'string' ? [called] : [];
}
