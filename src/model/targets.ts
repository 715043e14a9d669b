import { type LanguageModelV4, NoSuchModelError, type ProviderV4 } from '@ai-sdk/provider';
import { createProviderRegistry, type LanguageModel, wrapLanguageModel } from 'ai';
import { messageOf } from '../errors.ts';

/** A model as a user names it: an AI SDK language model, or `provider:model`. */
export type ModelReference = LanguageModel;

/**
 * Providers of the AI SDK that a `provider:model` string may name without more ado: optional peers, loaded at need. Each
 * package exports its provider under the provider's name.
 */
export const knownProviders: readonly string[] = ['anthropic', 'google', 'groq', 'mistral', 'openai', 'xai'];

/** `provider:model`, taken apart; null when it is not of that form. */
export function parseModelString(text: string): { provider: string; model: string } | null {
  const match = /^([^:\s]+):(\S+)$/.exec(text);
  return match?.[1] !== undefined && match[2] !== undefined ? { provider: match[1], model: match[2] } : null;
}

/** The name that a target goes by in events and logs: `provider:model`. */
export function targetName(model: ModelReference): string {
  if (typeof model === 'string') return model;
  return `${model.provider.split('.')[0]}:${model.modelId}`;
}

/** One target of an agent: its model is looked up at the first request, so that a fault of it is a fault. */
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

  /** The model behind the target. Throws what the provider's package throws: a missing key, an unknown model. */
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
    const message = `No provider is named ${name}; known are ${knownProviders.join(', ')}, and those in the agent's providers.`;
    throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel', message });
  }
  const packageName = `@ai-sdk/${name}`;
  let loaded: Record<string, unknown>;
  try {
    loaded = await import(packageName);
  } catch (cause) {
    const message = `The package ${packageName} could not be loaded (${messageOf(cause)}); install it to use ${reference}.`;
    throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel', message });
  }
  const provider = loaded[name];
  if (isProvider(provider)) return provider;
  const message = `The package ${packageName} has no provider named ${name} of a version that is known here.`;
  throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel', message });
}

function isProvider(value: unknown): value is ProviderV4 {
  return (typeof value === 'function' || typeof value === 'object') && value !== null && 'languageModel' in value;
}

/** Models of the SDK's older generations are adapted to the one that is called here. */
function adapted(model: Exclude<LanguageModel, string>): LanguageModelV4 {
  return model.specificationVersion === 'v4' ? model : wrapLanguageModel({ model, middleware: {} });
}
