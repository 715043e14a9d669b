import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { model, searched } from './pan.ts';

/** What SPIN found of one claim: how many states it looked at, and whether the claim holds in all of them. */
export type Claim = { name: string; size: string; states: number; holds: boolean };

/** The claims of the model, with what each one says. */
export const claims: Record<string, string> = {
  bound: 'B-2: requests <= maxTurns x maxRetries',
  turns: 'B-2, B-4: the turn and maxTurns stay within the maxTurns of the start',
  last: 'B-5: only the report on the last turn',
  tree: 'B-7: the session and its sub-agents send no more than the tree may',
  accounts: 'B-7: at the end all that was sent is accounted for, and every grant is back',
  ends: 'a session ends, if its effects settle (weak fairness)',
};

/** Defects put into the model, and the claim that then fails. */
const defects: [claim: string, from: string, to: string][] = [
  ['bound', 'attempt < RETRIES', 'attempt <= RETRIES'],
  ['turns', 'saw(COLLAPSE); maxTurns = turn + 1', 'saw(COLLAPSE); maxTurns = maxTurns + 1'],
  ['last', 'reportOnly = isLast || left == 1', 'reportOnly = left == 1'],
  ['tree', 'attempt < RETRIES && left > 0', 'attempt < RETRIES'],
  ['accounts', 'spent = spent + sent;', 'spent = spent;'],
  [
    'ends',
    'reserved = reserved - grant; spent = spent + sent; running--',
    'reserved = reserved - grant; spent = spent + sent',
  ],
];

const sizes = [
  { TURNS: 2, RETRIES: 2, TREE: 4 },
  { TURNS: 3, RETRIES: 2, TREE: 7 },
  { TURNS: 4, RETRIES: 3, TREE: 14 },
];

/** Throws an error if SPIN or a C compiler is missing. */
export function requireSpin(): void {
  for (const command of [
    ['spin', '-V'],
    ['gcc', '--version'],
  ] as const) {
    const [name, ...args] = command;
    if (spawnSync(name, args).status !== 0)
      throw new Error(`${name} is missing; install it, on Debian: apt-get install spin gcc`);
  }
}

/** Checks the model. */
export function checkedBySpin(): { claims: Claim[]; noticed: number; defects: number } {
  const text = readFileSync(model, 'utf8');
  const checked = Object.keys(claims).flatMap((name) => sizes.map((size) => check(text, name, size)));
  const noticed = defects.filter(([name, from, to]) => {
    if (!text.includes(from)) throw new Error(`${model} has changed: there is no "${from}"`);
    return !check(text.replaceAll(from, to), name, { TURNS: 3, RETRIES: 2, TREE: 7 }).holds;
  });
  return { claims: checked, noticed: noticed.length, defects: defects.length };
}

function check(text: string, name: string, size: Record<string, number>): Claim {
  const files = { 'session.pml': text };
  const report = searched({ files, constants: size, compile: ['-O2'], search: ['-a', '-f', '-m1000000', '-N', name] });
  const states = Number(/(\d+)\s+states, stored/.exec(report)?.[1]);
  return { name, size: Object.values(size).join(' x '), states, holds: report.includes('errors: 0') };
}
