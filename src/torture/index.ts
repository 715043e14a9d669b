/** A suite for agent loops: tasks in small worlds, a wire that misbehaves, and a judge that looks at the world. */
export { faultNames } from './faults.ts';
export type { Judgement, LoopEnd } from './judge.ts';
export { tortureBadge, tortureText } from './report.ts';
export type { TaskResult } from './task-result.ts';
export { type TortureOptions, type TortureReport, torture } from './torture.ts';
export { worlds } from './worlds/index.ts';
