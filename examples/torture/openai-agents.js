/** OpenAI's Agents SDK over chat completions or Responses. `best`: it must call a tool for the answer, with more retries and a loop. */
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { call, goOn, reportInput, rounds, say, sayReport, task } from './tools.js';

setTracingDisabled(true);
const isBest = task.settings === 'best';
// The model is shown what the tool's server said.
const errorFunction = (_, error) => error.message;
const tools = task.tools.map(({ name, description, inputSchema: parameters }) =>
  tool({ name, description, parameters, strict: false, errorFunction, execute: (input) => call(name, input) }),
);
let report;
const execute = (given) => (report = given).content;
const parameters = { ...reportInput, additionalProperties: true };
const final = tool({ name: 'final_report', description: 'Ends the task.', parameters, strict: false, execute });
const client = new OpenAI({ baseURL: task.baseUrl, apiKey: 'none', ...(isBest && { maxRetries: 4 }) });
const Model = task.wire === 'openai' ? OpenAIChatCompletionsModel : OpenAIResponsesModel;
const model = new Model(client, task.model);
const forced = { toolUseBehavior: { stopAtToolNames: ['final_report'] }, modelSettings: { toolChoice: 'required' } };
const own = { name: 'clerk', instructions: task.instructions, model };
const agent = isBest
  ? new Agent({ ...own, tools: [...tools, final], ...forced, resetToolChoice: false })
  : new Agent({ ...own, tools });
let [input, why] = [task.prompt, 'it ended without a report'];
for (const _ of isBest ? rounds : [1]) {
  try {
    const { finalOutput, history } = await run(agent, input, isBest ? { maxTurns: task.maxRequests } : {});
    if (!isBest) say('done', finalOutput ?? '');
    input = [...history, { role: 'user', content: goOn }];
  } catch (error) {
    why = error.message;
    if (!isBest) say('failed', why);
    if (error.state !== undefined) input = [...error.state.history, { role: 'user', content: goOn }];
  }
  if (report !== undefined) break;
}
if (isBest) sayReport(report, why);
