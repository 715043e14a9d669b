/** Mastra's agent. `best`: more steps than five, and a tool for the answer, which a choice of `required` makes it call. */
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { call, say, task } from './tools.js';

const isBest = task.settings === 'best';
const tools = Object.fromEntries(
  task.tools.map(({ name, description, inputSchema }) => [
    name,
    createTool({
      ...{ id: name, description, inputSchema: z.fromJSONSchema(inputSchema) },
      execute: (input) => call(name, input),
    }),
  ]),
);
let report = null;
if (isBest)
  tools.final_report = createTool({
    ...{ id: 'final_report', description: 'Ends the task.', inputSchema: z.object({ content: z.string() }) },
    execute: async ({ content }) => {
      report = content;
      return content;
    },
  });
const model = { id: `torture/${task.model}`, url: task.baseUrl, apiKey: 'none' };
const agent = new Agent({ id: 'clerk', name: 'clerk', instructions: task.instructions, model, tools });
const stopWhen = [() => report !== null, ({ steps }) => steps.length >= task.maxRequests];
try {
  const best = { toolChoice: 'required', stopWhen, maxSteps: task.maxRequests };
  const { text, error } = await agent.generate(task.prompt, isBest ? best : {});
  if (error !== undefined || (isBest && report === null)) say('failed', error?.message ?? 'it ended without a report');
  else say('done', report ?? text);
} catch (error) {
  say('failed', error.message);
}
process.exit(0);
