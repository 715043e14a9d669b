/** The AI SDK's `generateText`. `best`: a tool for the answer that it must call, more retries, and a loop until it did. */
import { generateText, hasToolCall, isStepCount, jsonSchema, tool } from 'ai';
import { z } from 'zod';
import { sdkModel as model } from './sdk-model.js';
import { call, goOn, keep, kept, reportInput, rounds, say, sayReport, task } from './tools.js';

const { instructions: system } = task;
const tools = Object.fromEntries(
  task.tools.map(({ name, description, inputSchema }) => [
    name,
    tool({ description, inputSchema: jsonSchema(inputSchema), execute: (input) => call(name, input) }),
  ]),
);
const messages = JSON.parse(kept ?? JSON.stringify([{ role: 'user', content: task.prompt }]));

async function best() {
  tools.final_report = tool({ description: 'Ends the task.', inputSchema: z.fromJSONSchema(reportInput) });
  const stopWhen = [hasToolCall('final_report'), isStepCount(task.maxRequests)];
  let why = 'it ended without a report';
  for (const _ of rounds) {
    const onStepFinish = ({ response }) => {
      messages.push(...response.messages);
      keep(JSON.stringify(messages));
    };
    const options = { model, system, messages, tools, toolChoice: 'required', maxRetries: 4, stopWhen, onStepFinish };
    const result = await generateText(options).catch((error) => (why = error.message));
    const report = result.toolCalls?.find(({ toolName, invalid }) => toolName === 'final_report' && !invalid);
    if (report !== undefined) return sayReport(report.input);
    messages.push({ role: 'user', content: goOn });
  }
  sayReport(undefined, why);
}

const defaults = () => generateText({ model, system, messages, tools, stopWhen: isStepCount(20) });
if (task.settings === 'best') await best();
else
  await defaults()
    .then(({ text }) => say('done', text))
    .catch((error) => say('failed', error.message));
