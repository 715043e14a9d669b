/** The loop of pi. */
import { Agent } from '@earendil-works/pi-agent-core';
import { createModels, createProvider } from '@earendil-works/pi-ai';
import { openAICompletionsApi } from '@earendil-works/pi-ai/api/openai-completions.lazy';
import { measure } from './measure.js';

const object = (name) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] });
const said = (text, more = {}) => ({ content: [{ type: 'text', text }], details: {}, ...more });

await measure(async (url, id, onTool = () => {}) => {
  const model = {
    ...{ id, name: 'bench', api: 'openai-completions', provider: 'bench', baseUrl: url },
    ...{ reasoning: false, input: ['text'], contextWindow: 1_000_000, maxTokens: 1_000 },
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  };
  const models = createModels();
  models.setProvider(
    createProvider({
      id: 'bench',
      name: 'Bench',
      baseUrl: url,
      auth: { apiKey: { name: 'Bench', resolve: async () => ({ auth: { apiKey: 'none' } }) } },
      models: [model],
      api: openAICompletionsApi(),
    }),
  );
  const echo = {
    ...{ name: 'echo', label: 'echo', description: 'Echoes.', parameters: object('text') },
    execute: async (_, { text }) => {
      onTool();
      return said(text);
    },
  };
  const final_report = {
    ...{ name: 'final_report', label: 'report', description: 'Reports.', parameters: object('content') },
    execute: async () => said('reported', { terminate: true }),
  };
  return async () => {
    const agent = new Agent({
      initialState: { systemPrompt: '', model, tools: [echo, final_report] },
      streamFn: models.streamSimple.bind(models),
    });
    let taken = 0;
    agent.subscribe(({ type }) => {
      if (type === 'turn_end') taken += 1;
    });
    await agent.prompt('go');
    return taken;
  };
});
