/** What all loops of the suite share: their task, and how its tools are called. */
export const task = JSON.parse(process.env.TORTURE_TASK);

/** Makes a call of a tool. Throws with what the tool's server said. */
export async function call(name, input) {
  const response = await fetch(`${task.toolUrl}/${name}`, { method: 'POST', body: JSON.stringify(input) });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

/** Says how the loop ended, as the suite wants it: on the last line. */
export function say(status, answer) {
  console.log(JSON.stringify({ status, answer: String(answer) }));
}
