/** What all loops of the suite share: their task, how its tools are called, what they keep, and how they say how they ended. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

export const task = JSON.parse(process.env.TORTURE_TASK);

/** Makes a call of a tool; one with a key is made once. Throws with what the tool's server said. */
export async function call(name, input, key) {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  const response = await fetch(`${task.toolUrl}/${name}`, { method: 'POST', headers, body: JSON.stringify(input) });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

const file = `${task.state}/kept.json`;

/** For a loop that goes on after a kill: a text that the folder of the task has kept; null at first. */
export const kept = existsSync(file) ? readFileSync(file, 'utf8') : null;
export const keep = (text) => writeFileSync(file, text);

/** For a loop that reports by a tool: its input, and what it is told if it ends without. */
export const reportInput = {
  type: 'object',
  properties: { status: { type: 'string', enum: ['success', 'failure'] }, content: { type: 'string' } },
  required: ['status', 'content'],
};
export const goOn = 'You have not called final_report. Go on where you are, and call it once you are done.';
export const rounds = [1, 2, 3, 4, 5];

export function say(status, answer) {
  console.log(JSON.stringify({ status, answer: String(answer) }));
}

export function sayReport(report, why) {
  if (report === undefined) say('failed', why);
  else say(report.status === 'success' ? 'done' : 'failed', report.content);
}
