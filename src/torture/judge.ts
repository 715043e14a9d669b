import { stuckAnswer } from './scripted-model.ts';
import { canonical, carryOut, LivedWorld, type Task, type World } from './world.ts';

/** What became of a task, the worst that is true of it. */
export const judgements = ['right', 'failed', 'claimed', 'twice', 'exceeded', 'hung'] as const;
export type Judgement = (typeof judgements)[number];

/** How a loop ended: what its last line said; null if it did not end in time, `killed` if it was beyond its bound. */
export type LoopEnd = { status: 'done' | 'failed'; answer: string } | 'killed' | null;

export type Judged = {
  world: World;
  task: Task;
  lived: LivedWorld;
  end: LoopEnd;
  requests: number;
  maxRequests: number;
};

/** Judges by the database and the ledger; by what the loop said only whether it claims to have done it. */
export async function judgementOf({ world, task, lived, end, requests, maxRequests }: Judged): Promise<Judgement> {
  if (requests > maxRequests || end === 'killed') return 'exceeded';
  if (end === null) return 'hung';
  const gold = new LivedWorld(world);
  try {
    await carryOut(task, gold);
    if (hasMore(lived, gold)) return 'twice';
    if (end.status === 'failed' || end.answer.includes(stuckAnswer)) return 'failed';
    return (await lived.hash()) === (await gold.hash()) ? 'right' : 'claimed';
  } finally {
    await gold.close();
  }
}

/** Whether a call of the task that changes something was carried out more often than it should. */
function hasMore(lived: LivedWorld, gold: LivedWorld): boolean {
  const [made, wanted] = [effectsOf(lived), effectsOf(gold)];
  return [...made].some(([call, count]) => count > (wanted.get(call) ?? Number.POSITIVE_INFINITY));
}

function effectsOf({ ledger }: LivedWorld): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { name, input, isEffect } of ledger) {
    if (!isEffect) continue;
    const key = canonical([name, input]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
