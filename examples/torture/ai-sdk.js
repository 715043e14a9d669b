/** The AI SDK's `generateText`. `best`: the answer is a tool, which a choice of `required` makes it call. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, hasToolCall, jsonSchema, stepCountIs, tool } from 'ai';
import { call, say, task } from './tools.js';

const { baseUrl: baseURL, wire, model } = task;
const isBest = task.settings === 'best';
const provider =
  wire === 'anthropic'
    ? createAnthropic({ baseURL, apiKey: 'none' })
    : createOpenAICompatible({ name: 'torture', baseURL });
const tools = Object.fromEntries(
  task.tools.map(({ name, description, inputSchema }) => [
    name,
    tool({ description, inputSchema: jsonSchema(inputSchema), execute: (input) => call(name, input) }),
  ]),
);
const content = { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] };
if (isBest) tools.final_report = tool({ description: 'Ends the task.', inputSchema: jsonSchema(content) });
try {
  const { text, toolCalls } = await generateText({
    model: provider(model),
    system: task.instructions,
    prompt: task.prompt,
    tools,
    ...(isBest && { toolChoice: 'required' }),
    stopWhen: isBest ? [hasToolCall('final_report'), stepCountIs(task.maxRequests)] : stepCountIs(20),
  });
  const reported = toolCalls.find(({ toolName, invalid }) => toolName === 'final_report' && !invalid);
  if (isBest && reported === undefined) say('failed', 'it ended without a report');
  else say('done', reported?.input.content ?? text);
} catch (error) {
  say('failed', error.message);
}
