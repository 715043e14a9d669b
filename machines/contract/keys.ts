/**
 * The keys of effects (D-1): built from counters, so that a replay gives the same ones. No other file writes or reads
 * them.
 */

/** The effects of a session that are requested once. */
export const prepareKey = 'prepare';
export const deadlineKey = 'deadline';
export const closeKey = 'close';

/** Where in a session an attempt is; turns and attempts count from 1. */
export type AttemptPlace = { turn: number; attempt: number };

/** Where in an attempt a call is; `index` counts the calls of the reply from 0. */
export type CallPlace = AttemptPlace & { index: number };

/** The name of a turn, such as `turn-2`. */
export function turnName(turn: number): string {
  return `turn-${turn}`;
}

/** The name of an attempt, with which the keys of its effects begin: `turn-2/attempt-1`. */
export function attemptName({ turn, attempt }: AttemptPlace): string {
  return `${turnName(turn)}/attempt-${attempt}`;
}

/** `turn-2/plan`. */
export function planKey(turn: number): string {
  return `${turnName(turn)}/plan`;
}

/** `turn-2/compact`. */
export function compactKey(turn: number): string {
  return `${turnName(turn)}/compact`;
}

/** `turn-2/attempt-1/model`. */
export function modelKey(place: AttemptPlace): string {
  return `${attemptName(place)}/model`;
}

/** `turn-2/attempt-2/wait`: the wait before that attempt. */
export function waitKey(place: AttemptPlace): string {
  return `${attemptName(place)}/wait`;
}

/** `turn-2/attempt-1/admission`: what precedes that attempt. */
export function admissionKey(place: AttemptPlace): string {
  return `${attemptName(place)}/admission`;
}

/** `turn-2/attempt-1/approval-0`. */
export function approvalKey(place: CallPlace): string {
  return `${attemptName(place)}/approval-${place.index}`;
}

/** `turn-2/attempt-1/tool-0`. */
export function toolKey(place: CallPlace): string {
  return `${attemptName(place)}/tool-${place.index}`;
}

/** Returns the attempt that is named, or whose effect has this key; the first one for a turn's name. Else null. */
export function attemptIn(text: string): AttemptPlace | null {
  const [, turn, attempt = '1'] = /^turn-([1-9]\d*)(?:$|\/attempt-([1-9]\d*)(?:\/|$))/.exec(text) ?? [];
  return turn === undefined ? null : { turn: Number(turn), attempt: Number(attempt) };
}

/** Returns the attempt whose request has this key; null for the key of another effect. */
export function requestOfKey(key: string): AttemptPlace | null {
  const place = attemptIn(key);
  return place !== null && modelKey(place) === key ? place : null;
}

/** Whether this is the key of what prepares a session, or plans a turn. */
export function isPreparing(key: string): boolean {
  return key === prepareKey || /^turn-[1-9]\d*\/plan$/.test(key);
}

/** The effects of a workflow run that are requested once. */
export const restoreKey = 'restore';
export const reviewKey = 'review';
export const summariseKey = 'summarise';

/** What a run does again and again: `scan-3`, `take-3`, `capture-1`; the wait before another scan is `scan-3/wait`. */
export function runKey(what: 'scan' | 'take' | 'capture', count: number): string {
  return `${what}-${count}`;
}

export function scanWaitKey(scans: number): string {
  return `${runKey('scan', scans)}/wait`;
}

/** One try of a phase of the work on an item: `item-2/processing/try-1`. */
export function workKey(iteration: number, phase: string, tries: number): string {
  return `item-${iteration}/${phase}/try-${tries}`;
}

/** The wait before the next try: `item-2/processing/wait-1`. */
export function workWaitKey(iteration: number, phase: string, tries: number): string {
  return `item-${iteration}/${phase}/wait-${tries}`;
}

/** What ends the work on an item: `item-2/archive`, `item-2/set-aside`. */
export function itemKey(iteration: number, what: 'archive' | 'set-aside'): string {
  return `item-${iteration}/${what}`;
}
