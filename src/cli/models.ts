import type { LanguageModelV4 } from '@ai-sdk/provider';
import { expected } from '../input/errors.ts';
import { openaiCompatible } from '../model/compatible.ts';
import type { ModelReference } from '../model/targets.ts';
import type { Flags } from './command-line.ts';
import { UsageError } from './command-line.ts';

/** The default models, used if their key is set and no model is named. */
const standardModels = [
  { key: 'ANTHROPIC_API_KEY', model: 'anthropic:claude-sonnet-4-5' },
  { key: 'OPENAI_API_KEY', model: 'openai:gpt-5-mini' },
  { key: 'GOOGLE_GENERATIVE_AI_API_KEY', model: 'google:gemini-2.5-flash' },
] as const;

/** Returns the model that the flags or the environment select, or null if they select none. */
export async function chosenModel({ model, baseUrl }: Flags): Promise<ModelReference | null> {
  if (baseUrl !== undefined) return compatibleModel(baseUrl, model);
  if (model !== undefined) return model;
  return standardModels.find(({ key }) => (process.env[key] ?? '') !== '')?.model ?? null;
}

/** Returns a model on an OpenAI-compatible server. */
async function compatibleModel(baseUrl: string, model: string | undefined): Promise<LanguageModelV4> {
  const {
    protocol = '',
    username = '',
    password = '',
    search = '',
    hash = '',
  } = URL.canParse(baseUrl) ? new URL(baseUrl) : {};
  if (!/^https?:$/.test(protocol))
    throw new UsageError(expected('--base-url', baseUrl, 'a URL such as http://127.0.0.1:11434/v1'));
  if (username + password + search + hash !== '')
    throw new UsageError('`--base-url` must hold no user, no password and no query. A key goes into OPENAI_API_KEY.');
  if (model === undefined) throw new UsageError('Name a model of the server at `--base-url`: pass `--model`, too.');
  return openaiCompatible(baseUrl, model, process.env.OPENAI_API_KEY);
}
