/** Mastra's agent. `best`: more steps and retries, a tool for the answer that it must call, and a loop until it did. */
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { sdkModel } from './sdk-model.js';
import { call, goOn, keep, kept, reportInput, rounds, say, sayReport, task } from './tools.js';

const isBest = task.settings === 'best';
const made = (id, description, inputSchema, execute) =>
  createTool({ id, description, inputSchema: z.fromJSONSchema(inputSchema), execute });
const tools = {};
for (const { name, description, inputSchema } of task.tools)
  tools[name] = made(name, description, inputSchema, (input) => call(name, input));
let [report, why] = [undefined, 'it ended without a report'];
if (isBest)
  tools.final_report = made('final_report', 'Ends the task.', reportInput, async (given) => (report = given).content);
const routed = { id: `torture/${task.model}`, url: task.baseUrl, apiKey: 'none' };
const own = { id: 'clerk', name: 'clerk', instructions: task.instructions, tools, ...(isBest && { maxRetries: 4 }) };
const agent = new Agent({ ...own, model: task.wire === 'openai' ? routed : sdkModel });
const stopWhen = [() => report !== undefined, ({ steps }) => steps.length >= task.maxRequests];
const best = { toolChoice: 'required', stopWhen, maxSteps: task.maxRequests };
const messages = JSON.parse((isBest && kept) || JSON.stringify([{ role: 'user', content: task.prompt }]));
for (const _ of isBest ? rounds : [1]) {
  let last = [];
  const onStepFinish = ({ response }) => keep(JSON.stringify([...messages, ...(last = response?.messages ?? last)]));
  try {
    const { text, error } = await agent.generate(messages, { ...(isBest && best), onStepFinish });
    if (error !== undefined) throw error;
    if (!isBest) say('done', text);
  } catch (error) {
    why = error.message;
    if (!isBest) say('failed', why);
  }
  if (report !== undefined) break;
  messages.push(...last, { role: 'user', content: goOn });
}
if (isBest) sayReport(report, why);
process.exit(0);
