/** The loop of pi. `best`: a tool for the answer that ends it, more retries, and a loop until it was called. */
import { Agent } from '@earendil-works/pi-agent-core';
import { createModels, createProvider } from '@earendil-works/pi-ai';
import { call, goOn, keep, kept, reportInput, rounds, say, sayReport, task } from './tools.js';

const isBest = task.settings === 'best';
const baseUrl = task.wire === 'anthropic' ? task.baseUrl.replace(/\/v1$/, '') : task.baseUrl;
const apis = { openai: 'openai-completions', anthropic: 'anthropic-messages', gemini: 'google-generative-ai' };
const name = apis[task.wire] ?? task.wire;
const [api] = Object.values(await import(`@earendil-works/pi-ai/api/${name}.lazy`));
const model = {
  ...{ id: task.model, name: task.model, api: name, provider: 'torture', baseUrl },
  ...{ reasoning: false, input: ['text'], contextWindow: 1_000_000, maxTokens: 1_000, cost: {} },
};
const auth = { apiKey: { name: 'Torture', resolve: async () => ({ auth: { apiKey: 'none' } }) } };
const models = createModels();
const own = { id: 'torture', name: 'Torture', baseUrl, auth, models: [model] };
models.setProvider(createProvider({ ...own, api: api() }));
const said = (text, more = {}) => ({ content: [{ type: 'text', text }], details: {}, ...more });
const tools = task.tools.map(({ name, description, inputSchema: parameters }) => ({
  ...{ name, label: name, description, parameters },
  execute: async (_, input) => said(await call(name, input)),
}));
let report;
if (isBest)
  tools.push({
    ...{ name: 'final_report', label: 'report', description: 'Ends the task.', parameters: reportInput },
    execute: async (_, given) => said((report = given).content, { terminate: true }),
  });
const more = isBest && { maxRetries: 4 };
const streamFn = (one, context, options) => models.streamSimple(one, context, { ...options, ...more });
const before = { messages: JSON.parse(isBest && kept !== null ? kept : '[]') };
const agent = new Agent({ initialState: { systemPrompt: task.instructions, model, tools, ...before }, streamFn });
if (isBest) agent.subscribe(({ type }) => type === 'turn_end' && keep(JSON.stringify(agent.state.messages)));
await (before.messages.length > 0 ? agent.continue() : agent.prompt(task.prompt));
for (const _ of isBest ? rounds.slice(1) : []) if (report === undefined) await agent.prompt(goOn);
const last = agent.state.messages.findLast(({ role }) => role === 'assistant');
if (isBest) sayReport(report, last.errorMessage ?? 'it ended without a report');
else if (last.stopReason === 'error') say('failed', last.errorMessage);
else say('done', last.content.map(({ text = '' }) => text).join(''));
