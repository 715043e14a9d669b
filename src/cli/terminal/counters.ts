import type { Counters } from '../../../machines/index.ts';
import { counted, formatDollars } from '../../platform/text.ts';
import type { SessionResult } from '../../session/session.ts';

export const thousands = new Intl.NumberFormat('en-US');

/** The line below a running session: how much of its bound is used. */
export function statusText({ requests, tokens, toolCalls, tree }: Counters, bound: number): string {
  const parts = [
    `${requests} of at most ${bound} requests`,
    `${counted(toolCalls.executed, 'tool call')} run`,
    `${thousands.format(tokens.input + tokens.output)} tokens`,
    ...costIn(tree),
  ];
  return parts.join(' · ');
}

/** One line about an ended session, in words: what happened, and nothing about what did not. */
export function summary({ counters, turns }: Pick<SessionResult, 'counters' | 'turns'>, bound: number): string {
  const { requests, toolCalls, reports, collapses, waits, tokens, tree, failedAttempts } = counters;
  const slugs = turns.flatMap(({ attempts }) => attempts.flatMap((one) => (one.status === 'failed' ? one.slugs : [])));
  const refused = Object.entries(toolCalls.rejected);
  const calls = [
    `${counted(toolCalls.executed, 'tool call')} run`,
    ...(toolCalls.failed > 0 ? [`${toolCalls.failed} failed`] : []),
    ...(refused.length > 0 ? [`${sum(refused)} refused (${tally(refused)})`] : []),
  ];
  return [
    `${requests} of at most ${bound} requests`,
    ...(failedAttempts > 0 ? [`${counted(failedAttempts, 'attempt')} failed (${tally(counts(slugs))})`] : []),
    ...(toolCalls.executed > 0 || refused.length > 0 ? [calls.join(', ')] : []),
    ...(reports.rejected > 0 ? [`${counted(reports.rejected, 'report')} rejected`] : []),
    ...(collapses > 0 ? ['turns cut short'] : []),
    ...(waits > 0 ? [`waited ${counted(waits, 'time')}`] : []),
    ...(tree.sessions > 1
      ? [`${counted(tree.sessions - 1, 'sub-agent session')}, ${tree.requests} requests in all`]
      : []),
    `${thousands.format(tokens.input)} tokens in, ${thousands.format(tokens.output)} out`,
    ...(tokens.cacheRead > 0 ? [`${thousands.format(tokens.cacheRead)} from the cache`] : []),
    ...costIn(tree),
  ].join(' · ');
}

/** What the tree has cost; what is not known is said so (S-4c). */
function costIn({ costUsd, tokens }: Counters['tree']): string[] {
  if (costUsd === null) return tokens.input + tokens.output === 0 ? [] : ['no price'];
  return costUsd === 0 ? [] : [formatDollars(costUsd)];
}

function counts(slugs: readonly string[]): [string, number][] {
  const found = new Map<string, number>();
  for (const slug of slugs) found.set(slug, (found.get(slug) ?? 0) + 1);
  return [...found];
}

function tally(found: readonly [string, number][]): string {
  return found.map(([slug, count]) => (count === 1 ? slug : `${slug} ${count}`)).join(', ');
}

function sum(found: readonly [string, number][]): number {
  return found.reduce((all, [, count]) => all + count, 0);
}
