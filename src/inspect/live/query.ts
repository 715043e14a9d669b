import { unexpected } from '../../input/errors.ts';
import { ruleFacts } from '../study/rules.ts';

/** What a search asks for. All must hold. */
export type Query = {
  /** Words of the conversation: a phrase, or the beginning of a word. */
  words: { text: string; isPhrase: boolean }[];
  fields: { agent: string[]; slug: string[]; status: string[]; target: string[]; tool: string[] };
  /** Facts that one of each list must have been told. */
  facts: (readonly string[])[];
  /** Epoch ms. */
  since: number;
};

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads a search such as `slug:unknown_tool rule:B-4 since:1d "system notice" cancel`. Throws `invalid_options`
 * for an unknown field, an invalid time, or a rule that leaves no fact.
 */
export function readQuery(text: string, now: number): Query {
  const query: Query = {
    words: [],
    fields: { agent: [], slug: [], status: [], target: [], tool: [] },
    facts: [],
    since: 0,
  };
  for (const [, name, quoted, word = ''] of text.replaceAll('\0', ' ').matchAll(/(?:(\w+):)?(?:"([^"]*)"|(\S+))/g)) {
    const value = quoted ?? word;
    if (name === undefined) query.words.push({ text: value, isPhrase: quoted !== undefined });
    else if (name === 'since') query.since = now - spanOf(value);
    else if (name === 'rule') query.facts.push(factsOf(value));
    else if (isField(query, name)) query.fields[name].push(value);
    else
      throw unexpected(
        'invalid_options',
        'search',
        `${name}:`,
        'agent:, slug:, status:, target:, tool:, rule: or since:',
      );
  }
  return query;
}

function isField({ fields }: Query, name: string): name is keyof Query['fields'] {
  return Object.hasOwn(fields, name);
}

function spanOf(text: string): number {
  const [, digits, unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const ms = units[unit];
  if (digits !== undefined && ms !== undefined) return Number(digits) * ms;
  throw unexpected('invalid_options', 'since', text, 'a number of minutes, hours or days, such as 30m, 2h or 1d');
}

function factsOf(rule: string): readonly string[] {
  const facts = Object.hasOwn(ruleFacts, rule) ? ruleFacts[rule] : undefined;
  if (facts !== undefined) return facts;
  const known = Object.keys(ruleFacts).join(', ');
  throw unexpected('invalid_options', 'rule', rule, `one that leaves a fact: ${known}`);
}
