import type { WorkOutcome } from '../../../machines/index.ts';
import { defineAgent } from '../../agent/define-agent.ts';
import type { Agent } from '../../agent/definition.ts';
import { shown } from '../../input/errors.ts';
import type { ReportDefinition } from '../../report/registry.ts';
import { lastStated, unreadable } from '../backlog/reading/last-object.ts';

/** What an agent's report says of its work. */
export type Verdict = Pick<WorkOutcome, 'message'> & { verdict: 'succeeded' | 'failed' | 'blocked' };

/** What an agent that brings no report format of its own is asked for. */
const verdictSchema: NonNullable<ReportDefinition['schema']> = {
  type: 'object',
  properties: {
    status: { enum: ['succeeded', 'failed', 'blocked'], description: 'blocked: a person has to do something first' },
    message: { type: 'string', minLength: 1, description: 'what was done; or why not, or what a person has to do' },
  },
  required: ['status', 'message'],
};

const asked = new WeakMap<Agent, Agent>();

/** Returns the agent with a report that states a verdict, unless it brings a format, or a check of it, of its own (W-1). */
export function statingVerdict(agent: Agent): Agent {
  const { definition } = agent;
  const { report, finish, checkReport } = definition;
  if (report !== undefined || finish === 'text' || checkReport !== undefined) return agent;
  const known = asked.get(agent) ?? defineAgent({ ...definition, report: { format: 'json', schema: verdictSchema } });
  asked.set(agent, known);
  return known;
}

/**
 * Reads the verdict from a report (W-1): the last JSON object in it that has fields decides, or else the worse of its first
 * and last line. What is not clearly a success is a failure.
 */
export function verdictIn(content: unknown): Verdict {
  const fields = typeof content === 'string' ? lastStated(content) : asObject(content);
  if (fields === unreadable) return { verdict: 'failed', message: `The JSON of the report cannot be read: ${content}` };
  if (fields !== null) {
    const whole = typeof content === 'string' ? content.trim() : shown(content);
    return { verdict: verdictOf(fields), message: messageIn(fields) ?? whole };
  }
  if (typeof content !== 'string')
    return { verdict: 'failed', message: `The report states no verdict: ${shown(content)}` };
  const text = content.trim();
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const said = [lines[0], lines.at(-1)].map((line = '') => lineVerdict(line));
  const verdict = (['blocked', 'failed', 'succeeded'] as const).find((one) => said.includes(one));
  return verdict === undefined
    ? { verdict: 'failed', message: `The report states no verdict: ${text}` }
    : { verdict, message: text };
}

const statusNames = ['status', 'verdict', 'result', 'outcome', 'state'];
const goodFlags = ['success', 'succeeded', 'passed', 'ok', 'done', 'completed'];
/** Fields that count, list or describe failures. */
const ofFailures = /^(?:still|remaining)?(?:failed|failing|failures?|errors?)$/;
const things = 'num(?:ber)?|of|total|count|found|units?|tests?|checks?|suites?|specs?|lint|type|build';
/** Fields in which only a number counts failures: `tests_failed`, `numFailedTests`, but not `failing_test: 'a.ts'`. */
const ofCounts = new RegExp(`^(?:${things})*(?:failed|failing|failures?|errors?)(?:${things})*$`);
/** Fields that tell counts in words: `"tests": "3 failed, 5 passed"`. */
const ofResults = /^(?:tests?|checks?)(?:results?)?$/;
/** Fields that tell how it was before the work. */
const ofBefore = /^(?:before|previous(?:ly)?|baseline|initial(?:ly)?)/;
const goodWords = new Set([
  ...['success', 'successful', 'succeeded', 'pass', 'passed', 'passing', 'ok', 'okay', 'done', 'complete', 'completed'],
  ...['fixed', 'resolved', 'implemented', 'verified', 'true', 'yes'],
]);

/** Any sign of a blockade or a failure outweighs those of success. */
function verdictOf(fields: Record<string, unknown>): Verdict['verdict'] {
  const inner = statusNames.map((name) => asObject(fields[name])).filter((one) => one !== null);
  // What a verdict holds may be other data, in which only words that are clearly good or bad are verdicts.
  const nested = inner.flatMap(wordsIn).filter((word) => goodWords.has(word) || badWord.test(word));
  const said = [...wordsIn(fields), ...nested];
  if ([fields, ...inner].some(({ blocked }) => isSome(blocked)) || said.some((word) => word.startsWith('block')))
    return 'blocked';
  const flags = [fields, ...inner].flatMap((one, level) =>
    [...statusNames, ...(level === 0 ? goodFlags : ['success', 'passed', 'ok'])].flatMap((name) => flagIn(one[name])),
  );
  const isBad = said.some((word) => !goodWords.has(word)) || flags.includes(false) || tellsFailures(fields);
  return !isBad && (said.length > 0 || flags.includes(true)) ? 'succeeded' : 'failed';
}

const badWord = /^(?:block|fail|error|partial|partly|incomplete|unfinished|almost|nearly|(?:not?|none|false)\b)/;

/** Returns the words that name a status. */
function wordsIn(fields: Record<string, unknown>): string[] {
  return statusNames.flatMap((name) => {
    const value = fields[name];
    // A result may be a list of anything.
    const words = name === 'status' || name === 'verdict' ? [value].flat() : [value];
    return words.flatMap((word) => (typeof word === 'string' ? [plain(word)] : []));
  });
}

/** A text that denies, by itself or before a sign; what begins like one may be about the work: `Error handling was added`. */
const denial =
  /^(?:false|no|none|not|failed|failure|errors?|blocked|partial(?:ly)?|partly|not (?:yet|done|passed|complete)\b.*)(?:$|\s*[.,:;!(–—]|\s-)/;

/** Returns what a field that is a flag says, if it says anything. */
function flagIn(value: unknown): boolean[] {
  if (typeof value === 'boolean') return [value];
  return typeof value === 'string' && denial.test(plain(value)) ? [false] : [];
}

/** Levels at which failures are looked for: `"tests": { "unit": [{ "failed": 2 }] }`. */
const mostLevels = 5;

/** Whether fields tell of failures. Deep down, what is no count may be about the work: `"changes": [{ "error": "…" }]`. */
function tellsFailures(value: unknown, level = 1): boolean {
  if (typeof value !== 'object' || value === null || level > mostLevels) return false;
  return Object.entries(value).some(([name, one]) => {
    const bare = name.toLowerCase().replaceAll(/[^a-z]/g, '');
    if (ofBefore.test(bare)) return false;
    if (level <= 2 && ofFailures.test(bare)) return isSome(one);
    if (ofCounts.test(bare)) return isCount(one);
    if (level <= 2 && ofResults.test(bare) && typeof one === 'string') return isTakenBack(one);
    return tellsFailures(one, level + 1);
  });
}

function isCount(value: unknown): boolean {
  return value === true || (typeof value === 'number' && value > 0) || /^[1-9]\d*$/.test(plain(value));
}

/** `0 of 12`, `No errors`, but not `no such file`. */
const nothing =
  /^(?:|nothing|false|null|n\/a|(?:0|no|none)(?:\s+(?:of\s+\d+|errors?|failures?|failed|failing|tests?|issues?|problems?)\b.*)?)$/;

/** Whether a field that counts, lists or tells failures, or what blocks the work, has any. */
function isSome(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isSome);
  if (typeof value === 'string') return !nothing.test(plain(value));
  return value !== undefined && value !== null && value !== false && value !== 0;
}

/** Characters in which a verdict is looked for, in a line or a field. */
const mostOfWord = 200;

const label = /^(?:status|verdict|result|outcome)\s*[:=]\s*/i;

/** Reads a line that is a verdict, or begins with one and a colon: `PASSED`, `Status: done`, `BLOCKED: a licence`. */
function lineVerdict(line: string): Verdict['verdict'] | null {
  const bare = line
    .slice(0, mostOfWord)
    .replaceAll(/[#*_`>]+/g, ' ')
    .trim();
  const isLabelled = label.test(bare);
  const [head = '', ...rest] = bare.replace(label, '').split(/[:–—]|\s-\s/);
  const word = plain(head);
  if (/^block(?:ed|ing)?$/.test(word)) return 'blocked';
  if (/^(?:fail(?:ed|ure|s|ing)?|errors?)$/.test(word) || countOfFailures.test(bare)) return 'failed';
  if (goodWords.has(word)) return isTakenBack(rest.join(':')) ? 'failed' : 'succeeded';
  return isLabelled ? 'failed' : null;
}

const isDenied = /^\s*(?:(?:no|none|false)\s*[.!,;]?\s*$|(?:not|partial(?:ly)?|partly|almost|nearly)\b)/i;
const countsAfter = /\b(?:fail(?:s|ed|ures?)?\s*[:=]?|(?:failing|errors?)\s*[:=])\s*[1-9]/i;
/** `2 of 14 tests fail`, but neither `fixed 3 failures` nor `3 failing tests pass`. */
const countsBefore =
  /(?<!\b(?:of|fix(?:es|ed)?|resolve[sd]?|all|the)\s+|\d)[1-9]\d*(?:\s+of\s+\d+)?\s+(?:tests?\s+|checks?\s+)?(?:(?:still|are|is)\s+)*(?:fail(?:s|ed|ures?|ing(?=\s*(?:$|[.,;)\]])))?|errors?)\b(?!\s*[:=]\s*0)/i;

/** A line that begins with what failed: `Tests failed: 3 of 10`, `2 tests failed`. */
const countOfFailures =
  /^(?:(?:some\s+)?(?:tests?|checks?)|[1-9]\d*(?:\s+(?:of|out of)\s+\d+)?(?:\s+(?:tests?|checks?))?)\s+(?:still\s+)?fail/i;

/** Whether what follows a good word says otherwise: `Passed: no`, `Passed: 3, failed: 7`, `Done - 3 of 10`. */
function isTakenBack(rest: string): boolean {
  const [, done, of] = /^\s*(\d+)\s*(?:\/|of|out of)\s*(\d+)\b/i.exec(rest) ?? [];
  const isShort = done !== undefined && Number(done) < Number(of);
  return isShort || [isDenied, countsAfter, countsBefore].some((sign) => sign.test(rest));
}

/** Returns a word in small letters, without signs around it. */
function plain(value: unknown): string {
  return String(value)
    .slice(0, mostOfWord)
    .toLowerCase()
    .replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
}

function messageIn({ reason, message, summary }: Record<string, unknown>): string | null {
  const text = [reason, message, summary].find((one) => typeof one === 'string' && one.trim() !== '');
  return typeof text === 'string' ? text : null;
}

export function asObject(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
}
