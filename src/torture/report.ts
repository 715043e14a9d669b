import { tame } from '../platform/text.ts';
import type { Judgement } from './judge.ts';
import type { TaskResult } from './task-result.ts';
import type { TortureReport } from './torture.ts';

/** What each judgement says of a loop. */
export const judgementWords: Record<Judgement, string> = {
  right: 'right: the world is as it should be',
  failed: 'said that it failed',
  claimed: 'claimed done, and it was not',
  twice: 'did something twice',
  exceeded: 'sent more requests than it may',
  hung: 'did not end',
};

/** A line for a task that did not end right. */
export function lineOf({ id, judgement, requests, faults, answer }: TaskResult): string {
  const after = faults.length === 0 ? 'no fault' : faults.join(', ');
  return `${id.padEnd(14)} ${judgement.padEnd(8)} ${requests} requests; ${after}${answer === '' ? '' : `; “${tame(answer).replaceAll(/\s+/g, ' ').slice(0, 120)}”`}`;
}

/** The report as text: a line for each judgement. */
export function tortureText({ totals, tasks, requests, wire, world, seed, rate, kills }: TortureReport): string {
  const how = `${tasks.length} tasks${world === null ? '' : ` of \`${world}\``}, ${wire} wire, seed ${seed}, ${Math.round(rate * 100)} % of the replies bad${kills === null ? '' : `, killed once, ${kills === 'request' ? 'while it waits for the model' : 'after a call was carried out'}`}`;
  const lines = Object.entries(judgementWords).map(
    ([judgement, words]) => `${String(totals[judgement as Judgement]).padStart(4)}  ${words}`,
  );
  return `${how}, ${requests} requests\n${lines.join('\n')}\n`;
}

/** What shields.io takes from an address: a badge. */
export function tortureBadge({ totals, tasks }: TortureReport): {
  schemaVersion: 1;
  label: string;
  message: string;
  color: string;
} {
  const untrue = totals.claimed + totals.twice + totals.hung + totals.exceeded;
  return {
    schemaVersion: 1,
    label: 'loop-torture',
    message: `${totals.right} of ${tasks.length} right, ${untrue} untrue`,
    color: untrue > 0 ? 'red' : totals.right === tasks.length ? 'brightgreen' : 'yellow',
  };
}
