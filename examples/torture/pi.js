/** The loop of pi, which has no choice of tools: `best` is a tool for the answer that ends it. */
import { Agent } from '@earendil-works/pi-agent-core';
import { createModels, createProvider } from '@earendil-works/pi-ai';
import { openAICompletionsApi } from '@earendil-works/pi-ai/api/openai-completions.lazy';
import { call, say, task } from './tools.js';

const isBest = task.settings === 'best';
const model = {
  ...{ id: task.model, name: task.model, api: 'openai-completions', provider: 'torture', baseUrl: task.baseUrl },
  ...{ reasoning: false, input: ['text'], contextWindow: 1_000_000, maxTokens: 1_000 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
};
const auth = { apiKey: { name: 'Torture', resolve: async () => ({ auth: { apiKey: 'none' } }) } };
const models = createModels();
const own = { id: 'torture', name: 'Torture', baseUrl: task.baseUrl, auth, models: [model] };
models.setProvider(createProvider({ ...own, api: openAICompletionsApi() }));
const said = (text, more = {}) => ({ content: [{ type: 'text', text }], details: {}, ...more });
const tools = task.tools.map(({ name, description, inputSchema: parameters }) => ({
  ...{ name, label: name, description, parameters },
  execute: async (_, input) => said(await call(name, input)),
}));
const content = { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] };
let report = null;
if (isBest)
  tools.push({
    ...{ name: 'final_report', label: 'report', description: 'Ends the task.', parameters: content },
    execute: async (_, given) => {
      report = given.content;
      return said(report, { terminate: true });
    },
  });
const initialState = { systemPrompt: task.instructions, model, tools };
const agent = new Agent({ initialState, streamFn: models.streamSimple.bind(models) });
await agent.prompt(task.prompt);
const last = agent.state.messages.findLast(({ role }) => role === 'assistant');
if (last.stopReason === 'error' || (isBest && report === null)) say('failed', last.errorMessage ?? 'no report');
else say('done', report ?? last.content.map(({ text = '' }) => text).join(''));
