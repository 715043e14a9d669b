import type { LanguageModelV4 } from '@ai-sdk/provider';
import { providerFetch } from '../http/patient-fetch.ts';
import { messageOf, PawlError } from '../input/errors.ts';

/** Returns a model on an OpenAI-compatible server. Needs the optional peer `@ai-sdk/openai-compatible`. */
export async function openaiCompatible(baseURL: string, model: string, apiKey?: string): Promise<LanguageModelV4> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible').catch((cause) => {
    throw new PawlError(
      'invalid_model',
      `Cannot load @ai-sdk/openai-compatible (${messageOf(cause)}). Install it to use ${baseURL}.`,
      { cause },
    );
  });
  return createOpenAICompatible({
    name: 'compatible',
    baseURL,
    includeUsage: true,
    fetch: providerFetch(),
    ...(apiKey !== undefined && { apiKey }),
  })(model);
}
