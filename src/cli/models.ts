import type { LanguageModelV4 } from '@ai-sdk/provider';
import { systemClock } from '../host/clock.ts';
import { inTime } from '../host/deadline.ts';
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

/** Returns a model on an OpenAI-compatible server: the named one, or else the first one listed. */
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
  const id = model ?? (await firstModel(baseUrl));
  return openaiCompatible(baseUrl, id, process.env.OPENAI_API_KEY);
}

async function firstModel(baseUrl: string): Promise<string> {
  const url = `${baseUrl.replace(/\/$/, '')}/models`;
  const hint = 'name a model with --model';
  let body: unknown;
  try {
    const limits = { clock: systemClock, timeoutMs: 5_000 };
    const key = process.env.OPENAI_API_KEY ?? '';
    const headers: Record<string, string> = key === '' ? {} : { authorization: `Bearer ${key}` };
    body = await inTime(limits, 'no answer within 5 s', async (signal) => {
      const response = await fetch(url, { signal, headers });
      if (!response.ok) throw new UsageError(`${url} answered with status ${response.status}; ${hint}.`);
      return response.json();
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`Could not list the models at ${url}. Check that the server is running, or ${hint}.`);
  }
  const list = typeof body === 'object' && body !== null && 'data' in body && Array.isArray(body.data) ? body.data : [];
  const id: unknown = list[0]?.id;
  if (typeof id !== 'string') throw new UsageError(`${url} does not list any models; ${hint}.`);
  return id;
}
