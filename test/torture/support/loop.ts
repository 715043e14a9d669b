import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes loops without any library into a folder. `more`: what one does besides, given `task`, `ask`, `call` and `say`. */
export function loopIn(folder: string): (name: string, more?: string) => string[] {
  return (name, more = '') => {
    const file = join(folder, `${name}.mjs`);
    writeFileSync(
      file,
      `const task = JSON.parse(process.env.TORTURE_TASK);
const say = (status, answer) => console.log(JSON.stringify({ status, answer }));
const call = async (name, input) =>
  (await fetch(task.toolUrl + '/' + name, { method: 'POST', body: input })).text();
const tools = task.tools.map(({ name, description, inputSchema: parameters }) =>
  ({ type: 'function', function: { name, description, parameters } }));
const messages = [{ role: 'system', content: task.instructions }, { role: 'user', content: task.prompt }];
const ask = async () => {
  const body = JSON.stringify({ model: task.model, messages, tools });
  const response = await fetch(task.baseUrl + '/chat/completions', { method: 'POST', body });
    return (await response.json()).choices[0].message;
};
${more}
for (;;) {
  const message = await ask();
  messages.push(message);
  if (message.tool_calls === undefined) {
    say('done', message.content);
    break;
  }
  for (const { id, function: made } of message.tool_calls)
    messages.push({ role: 'tool', tool_call_id: id, content: await call(made.name, made.arguments) });
}
`,
    );
    return [process.execPath, file];
  };
}
