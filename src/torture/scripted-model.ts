import type { RecordedRequest } from '../testing/model-server.ts';
import type { ScriptedResponse } from '../testing/scripted-response.ts';
import { type SeenCall, seenCalls, toolsIn } from './transcript.ts';
import { canonical, type Task } from './world.ts';

/** What the model says if it cannot go on. A loop that passes it on has said that it failed. */
export const stuckAnswer = 'I could not carry it out: a call is refused again and again.';

/** How often a call may be refused before the model gives up. */
const mostRefusals = 3;

/** What a tool's answer has in it, however often a loop has quoted it, once the call had its effect. */
const success = /ok(?:\\*["']|&quot;)\s*:\s*true/i;
const refusal = /ok(?:\\*["']|&quot;)\s*:\s*false/i;
const busy = /is busy/;

/**
 * The model of a task. It keeps nothing: it reads the transcript, and sends the next calls that it cannot see answered.
 * Once all are, it delivers the answer: by the tool `final_report` if that is offered, as a loop may want, else as text.
 */
export function nextReply(
  task: Task,
  request: Pick<RecordedRequest, 'body' | 'wire'>,
): Pick<ScriptedResponse, 'text' | 'calls'> {
  const seen = seenCalls(request.body, request.wire);
  const offered = toolsIn(request.body);
  const open = task.rounds
    .map((round) => round.filter((call) => !isDone(call, seen)))
    .find((round) => round.length > 0);
  const isStuck = open?.some((call) => refusalsOf(call, seen) >= mostRefusals) === true;
  if (open !== undefined && !isStuck) return { calls: open };
  const text = isStuck ? stuckAnswer : task.answer;
  const fields = offered.get('final_report');
  if (fields === undefined) return { text };
  return { calls: [reportCall(fields, isStuck ? 'failure' : 'success', text)] };
}

/** A call of the tool `final_report`, with the fields that it has. */
export function reportCall(fields: readonly string[], status: 'success' | 'failure', content: string) {
  return { name: 'final_report', input: { ...(fields.includes('status') && { status }), content } };
}

function isDone(call: { name: string; input: unknown }, seen: readonly SeenCall[]): boolean {
  return seen.some((one) => isSame(one, call) && one.result !== null && success.test(one.result));
}

function refusalsOf(call: { name: string; input: unknown }, seen: readonly SeenCall[]): number {
  return seen.filter(({ result, ...one }) => {
    if (!isSame(one, call) || result === null) return false;
    return refusal.test(result) && !busy.test(result);
  }).length;
}

function isSame(one: { name: string; input: unknown }, other: { name: string; input: unknown }): boolean {
  return one.name === other.name && canonical(one.input) === canonical(other.input);
}
