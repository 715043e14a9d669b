/** The AI SDK's model on the wire of the task, for the loops that stand on the AI SDK. */
import { task } from './tools.js';

const { baseUrl: baseURL, model } = task;
const apiKey = 'none';
const makers = {
  openai: async () => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    return createOpenAICompatible({ name: 'torture', baseURL, apiKey, includeUsage: true })(model);
  },
  'openai-responses': async () => (await import('@ai-sdk/openai')).createOpenAI({ baseURL, apiKey }).responses(model),
  anthropic: async () => (await import('@ai-sdk/anthropic')).createAnthropic({ baseURL, apiKey })(model),
  gemini: async () => (await import('@ai-sdk/google')).createGoogleGenerativeAI({ baseURL, apiKey })(model),
};

export const sdkModel = await makers[task.wire]();
