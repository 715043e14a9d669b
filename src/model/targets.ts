import { type LanguageModelV4, NoSuchModelError, type ProviderV4 } from '@ai-sdk/provider';
import { createProviderRegistry, type LanguageModel, wrapLanguageModel } from 'ai';
import { messageOf } from '../errors.ts';
import { boundedFetch } from './bounded-fetch.ts';

/** The user's reference to a model: an AI SDK language model, or `provider:model`. */
export type ModelReference = LanguageModel;

/**
 * AI SDK providers that a `provider:model` string may name without further setup: optional peers, loaded on demand, with
 * the function that each package exports to create its provider.
 */
const creators: Readonly<Record<string, string>> = {
  anthropic: 'createAnthropic',
  google: 'createGoogleGenerativeAI',
  groq: 'createGroq',
  mistral: 'createMistral',
  openai: 'createOpenAI',
  xai: 'createXai',
};

export const knownProviders: readonly string[] = Object.keys(creators);

/** Splits `provider:model` into its two parts; null if the text has another form. */
export function parseModelString(text: string): { provider: string; model: string } | null {
  const match = /^([^:\s]+):(\S+)$/.exec(text);
  return match?.[1] !== undefined && match[2] !== undefined ? { provider: match[1], model: match[2] } : null;
}

/** Returns a target's name in events and logs: `provider:model`. */
export function targetName(model: ModelReference): string {
  if (typeof model === 'string') return model;
  return `${model.provider.split('.')[0]}:${model.modelId}`;
}

/** One target of an agent. It loads its model at the first request, so that a failure to load is a fault. */
export class Target {
  readonly name: string;
  private readonly reference: ModelReference;
  private readonly providers: Record<string, ProviderV4>;
  private resolved: LanguageModelV4 | null = null;

  constructor(name: string, reference: ModelReference, providers: Record<string, ProviderV4>) {
    this.name = name;
    this.reference = reference;
    this.providers = providers;
  }

  /** Returns the target's model. Throws the errors of the provider's package: a missing key, an unknown model. */
  async model(): Promise<LanguageModelV4> {
    this.resolved ??= await this.resolve();
    return this.resolved;
  }

  private async resolve(): Promise<LanguageModelV4> {
    const { reference } = this;
    if (typeof reference !== 'string') return adapted(reference);
    const parsed = parseModelString(reference);
    if (parsed === null) throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel' });
    const provider = this.providers[parsed.provider] ?? (await loadProvider(parsed.provider, reference));
    return createProviderRegistry({ [parsed.provider]: provider }).languageModel(`${parsed.provider}:${parsed.model}`);
  }
}

async function loadProvider(name: string, reference: string): Promise<ProviderV4> {
  if (!knownProviders.includes(name)) {
    const message = `Unknown provider ${name}. Known: ${knownProviders.join(', ')} and the agent's providers.`;
    throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel', message });
  }
  const packageName = `@ai-sdk/${name}`;
  let loaded: Record<string, unknown>;
  try {
    loaded = await import(packageName);
  } catch (cause) {
    const message = `Cannot load ${packageName} (${messageOf(cause)}). Install it to use ${reference}.`;
    throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel', message });
  }
  const create = loaded[creators[name] ?? ''];
  const provider: unknown = typeof create === 'function' ? create({ fetch: boundedFetch() }) : null;
  if (isProvider(provider)) return provider;
  const message = `The package ${packageName} exports no supported version of provider ${name}.`;
  throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel', message });
}

function isProvider(value: unknown): value is ProviderV4 {
  return (typeof value === 'function' || typeof value === 'object') && value !== null && 'languageModel' in value;
}

/** Adapts models of older specification versions to v4. */
function adapted(model: Exclude<LanguageModel, string>): LanguageModelV4 {
  return model.specificationVersion === 'v4' ? model : wrapLanguageModel({ model, middleware: {} });
}
