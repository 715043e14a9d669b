/** OpenAI's Agents SDK over chat completions. `best`: it stops at a tool for the answer, which it must call. */
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { call, say, task } from './tools.js';

setTracingDisabled(true);
const isBest = task.settings === 'best';
const made = (name, description, parameters, execute) =>
  tool({ name, description, parameters, strict: false, execute });
const tools = task.tools.map(({ name, description, inputSchema }) =>
  made(name, description, inputSchema, (input) => call(name, input)),
);
const content = { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] };
const report = made(
  'final_report',
  'Ends the task.',
  { ...content, additionalProperties: true },
  (given) => given.content,
);
const client = new OpenAI({ baseURL: task.baseUrl, apiKey: 'none' });
const agent = new Agent({
  name: 'clerk',
  instructions: task.instructions,
  model: new OpenAIChatCompletionsModel(client, task.model),
  tools: isBest ? [...tools, report] : tools,
  ...(isBest && {
    toolUseBehavior: { stopAtToolNames: ['final_report'] },
    modelSettings: { toolChoice: 'required' },
    resetToolChoice: false,
  }),
});
try {
  const { finalOutput } = await run(agent, task.prompt, isBest ? { maxTurns: task.maxRequests } : {});
  say('done', finalOutput ?? '');
} catch (error) {
  say('failed', error.message);
}
