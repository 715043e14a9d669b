import { type Counters, turnName } from '../../../machines/index.ts';
import { defineAgent } from '../../agent/define-agent.ts';
import type { Journal } from '../../journal/journal.ts';
import { type BilledRequest, billOf, billTotal } from '../../journal/replay/bill.ts';
import { counted, inColumns, tame } from '../../platform/text.ts';
import { knownPrice } from '../../vocabulary/known-prices.ts';
import type { Price } from '../../vocabulary/prices.ts';
import { readAgentFile } from '../agent-file.ts';
import { exitCodes, type Flags, UsageError } from '../command-line.ts';
import { sessionRow, withJournal } from './opened-journal.ts';

/**
 * What requests with the same name cost. `savedUsd` is what the cache saved, and `brokenUsd` what it would have saved more
 * if each request had extended the one before; null if a target has no price. `prefixBreaks` counts those that did not.
 */
type CostRow = ReturnType<typeof billTotal> & {
  name: string;
  savedUsd: number | null;
  prefixBreaks: Counters['cachePrefixBreaks'];
  brokenUsd: number | null;
};

/** `pawl cost`: what a session cost, by turn, agent and target; or each session of a journal. */
export async function costCommand([id, ...rest]: readonly string[], flags: Flags): Promise<number> {
  if (rest.length > 0) throw new UsageError(`Pass one session, or none for all; got ${[id, ...rest].join(' ')}.`);
  const prices = flags.agent === undefined ? {} : defineAgent(await readAgentFile(flags.agent)).pricing;
  const tables = await withJournal(flags, (journal) =>
    id === undefined ? ofJournal(journal, prices) : ofSession(journal, id, prices),
  );
  const text = flags.json ? JSON.stringify(tables) : Object.entries(tables).map(tableOf).join('\n\n');
  process.stdout.write(`${text}\n`);
  return exitCodes.succeeded;
}

async function ofSession(journal: Journal, id: string, prices: Prices): Promise<Record<string, CostRow[]>> {
  const { sessionId } = await sessionRow(journal, id);
  const { requests } = billOf(await journal.read(sessionId));
  const by = (nameOf: (request: BilledRequest) => string) => rowsOf(requests, nameOf, prices);
  return {
    turn: by(({ agent, sessionId: of, turn }) => [...(of === sessionId ? [] : [agent]), turnName(turn)].join(' ')),
    agent: by(({ agent }) => agent),
    target: by(({ target }) => target),
    all: by(() => sessionId),
  };
}

async function ofJournal(journal: Journal, prices: Prices): Promise<Record<string, CostRow[]>> {
  const all: BilledRequest[] = [];
  const rows: CostRow[] = [];
  for (const { sessionId, agent } of await journal.list({})) {
    const { head, requests } = billOf(await journal.read(sessionId));
    if (head === null) continue;
    all.push(...requests);
    rows.push(...rowsOf(requests, () => `${sessionId} ${agent}`, prices));
  }
  return { session: rows, target: rowsOf(all, ({ target }) => target, prices), all: rowsOf(all, () => 'all', prices) };
}

type Prices = Readonly<Record<string, Price>>;

function rowsOf(
  requests: readonly BilledRequest[],
  nameOf: (request: BilledRequest) => string,
  prices: Prices,
): CostRow[] {
  const names = [...new Set(requests.map(nameOf))];
  return names.map((name) => {
    const own = requests.filter((request) => nameOf(request) === name);
    return { name, ...billTotal(own), ...ofCaches(own, prices) };
  });
}

/** What the cache saved: its tokens at the price of fresh input, less what they cost; and what breaks of the prefix cost. */
function ofCaches(
  requests: readonly BilledRequest[],
  prices: Prices,
): Pick<CostRow, 'savedUsd' | 'prefixBreaks' | 'brokenUsd'> {
  const prefixBreaks: CostRow['prefixBreaks'] = {};
  let [savedUsd, brokenUsd]: [number | null, number | null] = [0, 0];
  for (const { target, usage, prefixBreak, brokenTokens } of requests) {
    if (prefixBreak !== null) prefixBreaks[prefixBreak] = (prefixBreaks[prefixBreak] ?? 0) + 1;
    const price = prices[target] ?? knownPrice(target);
    if (price === undefined || savedUsd === null || brokenUsd === null) {
      [savedUsd, brokenUsd] = [null, null];
      continue;
    }
    const { input, cacheRead = input, cacheWrite = input } = price;
    savedUsd += (usage.cacheRead * (input - cacheRead) + usage.cacheWrite * (input - cacheWrite)) / 1_000_000;
    brokenUsd += (brokenTokens * (input - cacheRead)) / 1_000_000;
  }
  return { savedUsd, prefixBreaks, brokenUsd };
}

function tableOf([by, rows]: [string, CostRow[]]): string {
  if (rows.length === 0) return `by ${by}: no request`;
  const cells = rows.map(({ name, requests, usage, costUsd, savedUsd, prefixBreaks, brokenUsd }) => [
    tame(name).replaceAll('\n', ' '),
    counted(requests, 'request'),
    `${usage.input} in`,
    `${share(usage.cacheRead, usage.input)} cached`,
    `${usage.output} out`,
    costUsd === null ? 'no price' : money(costUsd),
    savedUsd === null ? '' : `cache saved ${money(savedUsd)}`,
    breaksText(prefixBreaks, brokenUsd),
  ]);
  return [by === 'all' ? 'in all' : `by ${by}`, ...inColumns(cells).map((line) => `  ${line}`)].join('\n');
}

function breaksText(breaks: CostRow['prefixBreaks'], brokenUsd: number | null): string {
  const causes = Object.entries(breaks).map(([cause, count]) => `${count} ${cause}`);
  if (causes.length === 0) return '';
  return `prefix breaks: ${causes.join(', ')}${brokenUsd === null ? '' : ` cost ${money(brokenUsd)}`}`;
}

/** US dollars with as many digits as small sums need. */
export function money(dollars: number): string {
  const digits = dollars !== 0 && Math.abs(dollars) < 1 ? 4 : 2;
  return `${dollars < 0 ? '-' : ''}$${Math.abs(dollars).toFixed(digits)}`;
}

function share(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.round((100 * part) / whole)} %`;
}
