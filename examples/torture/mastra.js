/** Mastra's agent. `best`: more steps and retries, a tool for the answer that it must call, and a loop until it did. */
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { call, goOn, reportInput, rounds, say, sayReport, task } from './tools.js';

const isBest = task.settings === 'best';
const made = (id, description, inputSchema, execute) =>
  createTool({ id, description, inputSchema: z.fromJSONSchema(inputSchema), execute });
const tools = Object.fromEntries(
  task.tools.map(({ name, description, inputSchema }) => [
    name,
    made(name, description, inputSchema, (input) => call(name, input)),
  ]),
);
let [report, why] = [undefined, 'it ended without a report'];
const keep = async (given) => (report = given).content;
if (isBest) tools.final_report = made('final_report', 'Ends the task.', reportInput, keep);
const model = { id: `torture/${task.model}`, url: task.baseUrl, apiKey: 'none' };
const own = { id: 'clerk', name: 'clerk', instructions: task.instructions, model, tools };
const agent = new Agent({ ...own, ...(isBest && { maxRetries: 4 }) });
const stopWhen = [() => report !== undefined, ({ steps }) => steps.length >= task.maxRequests];
const best = { toolChoice: 'required', stopWhen, maxSteps: task.maxRequests };
const messages = [{ role: 'user', content: task.prompt }];
for (const _ of isBest ? rounds : [1]) {
  let kept = [];
  const onStepFinish = ({ response }) => (kept = response?.messages ?? kept);
  try {
    const { text, error } = await agent.generate(messages, { ...(isBest && best), onStepFinish });
    if (error !== undefined) throw error;
    if (!isBest) say('done', text);
  } catch (error) {
    why = error.message;
    if (!isBest) say('failed', why);
  }
  if (report !== undefined) break;
  messages.push(...kept, { role: 'user', content: goOn });
}
if (isBest) sayReport(report, why);
process.exit(0);
