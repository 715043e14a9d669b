/** OpenAI's Agents SDK. `best`: a tool for the answer, more retries, a loop until it was called, and the run in a file. */
import * as sdk from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { call, goOn, keep, kept, reportInput, rounds, say, sayReport, task } from './tools.js';

sdk.setTracingDisabled(true);
const isBest = task.settings === 'best';
const errorFunction = (_, error) => error.message;
const tools = task.tools.map(({ name, description, inputSchema: parameters }) =>
  sdk.tool({ name, description, parameters, strict: false, errorFunction, execute: (input) => call(name, input) }),
);
let report;
const ends = { name: 'final_report', description: 'Ends the task.', execute: (given) => (report = given).content };
const client = new OpenAI({ baseURL: task.baseUrl, apiKey: 'none', ...(isBest && { maxRetries: 4 }) });
const Model = task.wire === 'openai' ? sdk.OpenAIChatCompletionsModel : sdk.OpenAIResponsesModel;
const model = new Model(client, task.model);
const forced = { toolUseBehavior: { stopAtToolNames: ['final_report'] }, modelSettings: { toolChoice: 'required' } };
const own = { name: 'clerk', instructions: task.instructions, model, tools };
const parameters = z.fromJSONSchema(reportInput);
const more = isBest && { tools: [...tools, sdk.tool({ ...ends, parameters })], ...forced, resetToolChoice: false };
const agent = new sdk.Agent({ ...own, ...more });

async function best() {
  const begun = (input) => new sdk.RunState(new sdk.RunContext(), input, agent, task.maxRequests);
  let [state, why] = [kept === null ? begun(task.prompt) : await sdk.RunState.fromString(agent, kept), 'no report'];
  const respond = model.getResponse.bind(model);
  model.getResponse = (request) => keep(state.toString()) ?? respond(request);
  for (const _ of rounds) {
    await sdk.run(agent, state).catch((error) => (why = error.message));
    if (report !== undefined) break;
    state = begun([...state.history, { role: 'user', content: goOn }]);
  }
  sayReport(report, why);
}
const said = ({ finalOutput }) => say('done', finalOutput ?? '');
if (isBest) await best();
else await sdk.run(agent, task.prompt).then(said, (error) => say('failed', error.message));
