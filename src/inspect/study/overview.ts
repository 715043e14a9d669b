import type { Fact, Json } from '../../../machines/index.ts';
import { counted } from '../../platform/text.ts';
import type { Row } from '../recorded/row-list.ts';
import type { ShownRecording } from '../recorded/shown-recording.ts';

type Of<T extends Fact['type']> = Extract<Fact, { type: T }>;
type End = Of<'session.succeeded' | 'session.failed' | 'session.aborted'>;

/** What a session and its sub-agents spent: tokens, and US dollars, null where a price is unknown. */
export type SpentTogether = {
  requests: number;
  input: number;
  output: number;
  cacheRead: number;
  costUsd: number | null;
};
export type SpentBy = SpentTogether & { name: string };

const nothing: SpentTogether = { requests: 0, input: 0, output: 0, cacheRead: 0, costUsd: 0 };

/** How a session ended; null while it has not, or its recording breaks off. */
export function endingOf(recorded: ShownRecording): End | null {
  for (const { fact } of recorded.factsBefore(recorded.told.length, ''))
    if (fact.type === 'session.succeeded' || fact.type === 'session.failed' || fact.type === 'session.aborted')
      return fact;
  return null;
}

/** The report that was accepted; null if none was. */
export function reportOf(recorded: ShownRecording): Json {
  for (const { fact } of recorded.factsBefore(recorded.told.length, ''))
    if (fact.type === 'report.accepted') return fact.content;
  return null;
}

/** Tells in one sentence how a session ended, and why: `status` is that of its journal, if it has not ended. */
export function sessionStory(recorded: ShownRecording, status: string): string {
  const end = endingOf(recorded);
  const turns = turnsOf(recorded.rows.root);
  const last = turns.at(-1);
  const attempts = last?.children.filter(({ kind }) => kind === 'attempt') ?? [];
  if (end === null) {
    const open = recorded.rows.byId.filter(
      ({ ended, children, kind }) => ended === null && kind !== 'session' && children.length === 0,
    );
    const doing = open.at(-1);
    const what = doing === undefined ? '' : `: ${[doing.title, doing.detail].filter((text) => text !== '').join(', ')}`;
    return `${capital(status)}${last === undefined ? '' : ` in ${last.title}`}${what}.`;
  }
  if (end.type === 'session.succeeded') return `Succeeded after ${counted(end.turns, 'turn')}.`;
  const how = end.type === 'session.failed' ? 'Failed' : 'Aborted';
  const where = last === undefined ? ' before the first turn' : ` in ${last.title}`;
  const { slugs, detail } = end.failure;
  const failed = attempts.filter(({ state, slugs: own }) => state === 'failed' && own.length > 0);
  const why = failed.at(-1);
  const all =
    failed.length === 0 || attempts.length === 0
      ? ''
      : `: ${failed.length} of ${counted(attempts.length, 'attempt')} failed`;
  const cause = why === undefined ? slugs.join(', ') : why.slugs.join(', ');
  const said = why === undefined ? detail : (failureDetail(recorded, why) ?? detail);
  const told = said === null || said === '' ? '' : `, “${said}”`;
  return `${how}${where}${all}; ${why === undefined ? '' : 'the last: '}${cause}${told}.`;
}

function failureDetail(recorded: ShownRecording, row: Row): string | null {
  const one = row.ended === null ? undefined : recorded.told[row.ended - 1];
  return one !== undefined && 'fact' in one && one.fact.type === 'attempt.failed' ? one.fact.detail : null;
}

function turnsOf(root: Row | null): Row[] {
  return root?.children.filter(({ kind }) => kind === 'turn') ?? [];
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Returns what the whole tree spent, after so many facts and sightings. */
export function spentInTree(recorded: ShownRecording, told = recorded.told.length): SpentTogether {
  return [...recorded.heads.keys()].reduce((sum, scope) => together(sum, spentAt(recorded, told, scope)), nothing);
}

/** Returns what each agent of the tree spent itself, the dearest first. */
export function spentByAgent(recorded: ShownRecording): SpentBy[] {
  const all = new Map<string, SpentTogether>();
  for (const [scope, head] of recorded.heads)
    all.set(head.agent, together(all.get(head.agent) ?? nothing, spentAt(recorded, recorded.told.length, scope)));
  return dearestFirst(all);
}

/** Returns what the requests to each model cost. */
export function spentByModel(recorded: ShownRecording): SpentBy[] {
  return byReply(recorded, (fact) => fact.target);
}

/** Returns what the requests of each turn of the session itself cost, in order. */
export function spentByTurn(recorded: ShownRecording): SpentBy[] {
  return byReply(recorded, ({ turn }, scope) => (scope === '' ? `turn ${turn}` : null)).sort(
    (one, other) => Number(one.name.slice(5)) - Number(other.name.slice(5)),
  );
}

/** Returns what a request cost; null before its reply. */
export function spentFor(fact: Of<'attempt.replied'> | null): SpentTogether | null {
  if (fact === null) return null;
  const { input, output, cacheRead } = fact.usage;
  return { requests: 1, input, output, cacheRead, costUsd: fact.costUsd };
}

function byReply(
  recorded: ShownRecording,
  nameOf: (fact: Of<'attempt.replied'>, scope: string) => string | null,
): SpentBy[] {
  const all = new Map<string, SpentTogether>();
  for (const one of recorded.told) {
    if (!('fact' in one) || one.fact.type !== 'attempt.replied') continue;
    const name = nameOf(one.fact, one.scope);
    if (name !== null) all.set(name, together(all.get(name) ?? nothing, spentFor(one.fact) ?? nothing));
  }
  return dearestFirst(all);
}

function spentAt(recorded: ShownRecording, told: number, scope: string): SpentTogether {
  const counters = recorded.countersAt(told, scope);
  const of = (path: string) => counters.get(path) ?? 0;
  return {
    requests: of('requests'),
    input: of('tokens.input'),
    output: of('tokens.output'),
    cacheRead: of('tokens.cacheRead'),
    costUsd: counters.get('costUsd') === undefined ? 0 : (counters.get('costUsd') ?? null),
  };
}

function together(one: SpentTogether, other: SpentTogether): SpentTogether {
  return {
    requests: one.requests + other.requests,
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    costUsd: one.costUsd === null || other.costUsd === null ? null : one.costUsd + other.costUsd,
  };
}

function dearestFirst(all: ReadonlyMap<string, SpentTogether>): SpentBy[] {
  const size = ({ costUsd, input, output }: SpentTogether) => [costUsd ?? -1, input + output] as const;
  return [...all]
    .map(([name, spent]) => ({ name, ...spent }))
    .sort((one, other) => size(other)[0] - size(one)[0] || size(other)[1] - size(one)[1]);
}
