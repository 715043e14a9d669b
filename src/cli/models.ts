import type { LanguageModelV4 } from '@ai-sdk/provider';
import { openaiCompatible } from '../model/compatible.ts';
import type { ModelReference } from '../model/targets.ts';
import { type Flags, UsageError } from './exit.ts';

/** Models to fall back on where a key is set and no model is named. */
const standardModels = [
  { key: 'ANTHROPIC_API_KEY', model: 'anthropic:claude-sonnet-4-5' },
  { key: 'OPENAI_API_KEY', model: 'openai:gpt-5-mini' },
  { key: 'GOOGLE_GENERATIVE_AI_API_KEY', model: 'google:gemini-2.5-flash' },
] as const;

/** The model that the flags and the environment ask for; null when they ask for none. */
export async function chosenModel({ model, baseUrl }: Flags): Promise<ModelReference | null> {
  if (baseUrl !== undefined) return compatibleModel(baseUrl, model);
  if (model !== undefined) return model;
  return standardModels.find(({ key }) => (process.env[key] ?? '') !== '')?.model ?? null;
}

/** A model of an OpenAI-compatible server: the one named, or the first that the server lists. */
async function compatibleModel(baseUrl: string, model: string | undefined): Promise<LanguageModelV4> {
  if (!URL.canParse(baseUrl))
    throw new UsageError(`--base-url is ${baseUrl}: a URL such as http://127.0.0.1:11434/v1 is allowed.`);
  const id = model ?? (await firstModel(baseUrl));
  return openaiCompatible(baseUrl, id, process.env.OPENAI_API_KEY);
}

async function firstModel(baseUrl: string): Promise<string> {
  const url = `${baseUrl.replace(/\/$/, '')}/models`;
  const hint = 'name a model with --model';
  let body: unknown;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    if (!response.ok) throw new UsageError(`${url} answered with status ${response.status}: ${hint}.`);
    body = await response.json();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${url} could not be read, to find a model: check that the server runs, or ${hint}.`);
  }
  const list = typeof body === 'object' && body !== null && 'data' in body && Array.isArray(body.data) ? body.data : [];
  const id: unknown = list[0]?.id;
  if (typeof id !== 'string') throw new UsageError(`${url} lists no model: ${hint}.`);
  return id;
}
