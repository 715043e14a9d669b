import { type LanguageModelV4, NoSuchModelError, type ProviderV4 } from '@ai-sdk/provider';
import type { LanguageModel } from 'ai';
import { watchingFetch } from '../http/bounded-fetch.ts';
import { providerFetch } from '../http/patient-fetch.ts';
import { messageOf } from '../input/errors.ts';
import { environmentVariable, isInstalled } from '../platform/node.ts';
import type { Gate } from '../shared/gate.ts';
import type { GateStore } from '../shared/gate-store.ts';
import { gateOf } from '../shared/gates.ts';
import { type GateLimits, noGateLimits } from '../shared/pace.ts';

/** The user's reference to a model: an AI SDK language model, or `provider:model`. */
export type ModelReference = LanguageModel;

/** A model with what is to be known of it. */
export type ModelEntry = {
  model: ModelReference;
  /** The size of its context window in tokens, or a function of its target name that returns it; default: the agent's. */
  contextWindow?: number | ((target: string) => number);
  /** What all sessions of the process may ask of it together (P-7); default: what is learnt from its responses. */
  limits?: Partial<GateLimits>;
  /**
   * Models with the same name of a gate share it, such as those of one account; with a `journal`, those of all processes that
   * use it do (P-7g). Default: its own gate.
   */
  gate?: string | { name: string; journal: { readonly gates?: GateStore } };
};

/** Returns the model of an entry of `models`. */
export function modelIn(entry: ModelReference | ModelEntry): ModelReference {
  return isEntry(entry) ? entry.model : entry;
}

/** Whether an entry of `models` says more than its model. */
export function isEntry(entry: unknown): entry is ModelEntry {
  return typeof entry === 'object' && entry !== null && 'model' in entry && !('specificationVersion' in entry);
}

type Model = Exclude<ModelReference, string>;

/**
 * AI SDK providers that a `provider:model` string may name without further setup: optional peers, loaded on demand, with
 * the function that each package exports to create its provider, and the variable that holds its key.
 */
const known: Readonly<Record<string, { create: string; key: string }>> = {
  anthropic: { create: 'createAnthropic', key: 'ANTHROPIC_API_KEY' },
  google: { create: 'createGoogleGenerativeAI', key: 'GOOGLE_GENERATIVE_AI_API_KEY' },
  groq: { create: 'createGroq', key: 'GROQ_API_KEY' },
  mistral: { create: 'createMistral', key: 'MISTRAL_API_KEY' },
  openai: { create: 'createOpenAI', key: 'OPENAI_API_KEY' },
  xai: { create: 'createXai', key: 'XAI_API_KEY' },
};

export const knownProviders: readonly string[] = Object.keys(known);

type ModelName = { provider: string; model: string };

/** Splits `provider:model` into its two parts; null if the text has another form. */
export function parseModelString(text: string): ModelName | null {
  const match = /^([^:\s]+):(\S+)$/.exec(text);
  return match?.[1] !== undefined && match[2] !== undefined ? { provider: match[1], model: match[2] } : null;
}

/** Returns the variable that holds the key of a `provider:model` string's provider; null if it is not known. */
export function keyVariable(text: string): string | null {
  return known[parseModelString(text)?.provider ?? '']?.key ?? null;
}

/** Returns a target's name in events and logs: `provider:model`. */
export function targetName(model: ModelReference): string {
  if (typeof model === 'string') return model;
  return `${model.provider.split('.')[0]}:${model.modelId}`;
}

/** What is known of a target: null for nothing of its own. */
export type TargetTraits = {
  contextWindow: number | null;
  gate: string | null;
  gateStore: GateStore | null;
  limits: GateLimits;
};

/** One target of an agent. It loads its model at the first request, so that a failure to load is a fault. */
export class Target {
  readonly name: string;
  private readonly reference: ModelReference;
  private readonly providers: Record<string, ProviderV4>;
  private readonly traits: TargetTraits;
  private resolved: LanguageModelV4 | null = null;

  constructor(
    name: string,
    reference: ModelReference,
    providers: Record<string, ProviderV4>,
    traits: Partial<TargetTraits> = {},
  ) {
    this.name = name;
    this.traits = { contextWindow: null, gate: null, gateStore: null, limits: noGateLimits, ...traits };
    this.reference = reference;
    this.providers = providers;
  }

  /** The size of its own context window, in tokens; null for that of the agent. */
  get contextWindow(): number | null {
    return this.traits.contextWindow;
  }

  /** The gate that all sessions of the process pass on their way to it (P-7). */
  get gate(): Gate {
    const { gate, gateStore: store, limits } = this.traits;
    if (gate === null) return gateOf({ owner: this.owner, name: this.ownName, store: null }, limits);
    return gateOf({ owner: null, name: store === null ? `#${gate}` : gate, store }, limits);
  }

  /** The model or the provider that the user made; null for one that is found by its name alone. */
  private get owner(): object | null {
    const { reference, providers } = this;
    if (typeof reference !== 'string') return reference;
    return providers[parseModelString(reference)?.provider ?? ''] ?? null;
  }

  private get ownName(): string {
    return typeof this.reference === 'string' ? this.reference : '';
  }

  /** Whether both are the same model of the same provider. */
  isSame(other: Target): boolean {
    const isAlike = other.reference === this.reference && other.owner === this.owner;
    const { gateStore, ...traits } = this.traits;
    const { gateStore: otherStore, ...otherTraits } = other.traits;
    return isAlike && gateStore === otherStore && JSON.stringify(otherTraits) === JSON.stringify(traits);
  }

  /** Returns the same target under another name. */
  named(name: string): Target {
    return name === this.name ? this : new Target(name, this.reference, this.providers, this.traits);
  }

  /** Returns the target's model. Throws the errors of the provider's package: a missing key, an unknown model. */
  async model(): Promise<LanguageModelV4> {
    this.resolved ??= await this.resolve();
    return this.resolved;
  }

  /** Returns why the model cannot be had at all, found without a request (P-2); null if that is not known. */
  unavailable(): string | null {
    const { reference } = this;
    const parsed = typeof reference === 'string' ? parseModelString(reference) : null;
    if (typeof reference !== 'string' || parsed === null) return null;
    const own = this.providers[parsed.provider];
    if (own !== undefined) return reasonToLack(own, parsed);
    const packageName = `@ai-sdk/${parsed.provider}`;
    if (!isInstalled(packageName)) return `${reference} needs the package ${packageName}: ${remedy(parsed.provider)}`;
    const { key = '' } = known[parsed.provider] ?? {};
    return (environmentVariable(key) ?? '') === '' ? `${reference} needs a key: set ${key}.` : null;
  }

  private async resolve(): Promise<LanguageModelV4> {
    const { reference } = this;
    if (typeof reference !== 'string') return adapted(reference);
    const parsed = parseModelString(reference);
    if (parsed === null) throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel' });
    const provider = this.providers[parsed.provider] ?? (await loadProvider(parsed.provider, reference));
    return adapted(modelOf(provider, parsed));
  }
}

/** Returns the targets that cannot be had at all, by index, and why. */
export function unavailableTargets(targets: readonly Target[]): { target: number; message: string }[] {
  return targets.flatMap((one, target) => {
    const message = one.unavailable();
    return message === null ? [] : [{ target, message }];
  });
}

/** Returns why the user's provider has no such model; null if it has. */
function reasonToLack(provider: ProviderV4, named: ModelName): string | null {
  try {
    modelOf(provider, named);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** What to do about a provider's package that is not there. */
function remedy(provider: string): string {
  return `npm install @ai-sdk/${provider}; in a bundle, pass \`providers: { ${provider} }\`.`;
}

async function loadProvider(name: string, reference: string): Promise<ProviderV4> {
  if (!knownProviders.includes(name)) {
    const message = `Unknown provider ${name}. Known: ${knownProviders.join(', ')} and the agent's providers.`;
    throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel', message });
  }
  const packageName = `@ai-sdk/${name}`;
  let loaded: Record<string, unknown>;
  try {
    // A bundler that looked into it would take in every file of every provider, or miss one that is not installed.
    loaded = await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ packageName);
  } catch (cause) {
    const message = `Cannot load ${packageName} (${messageOf(cause)}), which ${reference} needs: ${remedy(name)}`;
    throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel', message });
  }
  const create = loaded[known[name]?.create ?? ''];
  const provider: unknown = typeof create === 'function' ? create({ fetch: providerFetch() }) : null;
  if (isProvider(provider)) return provider;
  const message = `The package ${packageName} exports no supported version of provider ${name}.`;
  throw new NoSuchModelError({ modelId: reference, modelType: 'languageModel', message });
}

function isProvider(value: unknown): value is ProviderV4 {
  return (typeof value === 'function' || typeof value === 'object') && value !== null && 'languageModel' in value;
}

/** Returns a provider's model, which may have an older specification version. */
function modelOf(provider: ProviderV4, { provider: name, model }: ModelName): Model {
  const found = provider.languageModel?.(model) ?? null;
  if (found === null) throw new NoSuchModelError({ modelId: `${name}:${model}`, modelType: 'languageModel' });
  return found;
}

/**
 * Returns a chat model of the SDK with a `fetch` that notes the end of its streams. The SDK drops it, and without a finish
 * reason nothing else tells a whole reply from one that broke off (C-5).
 */
function watched(model: LanguageModelV4): LanguageModelV4 {
  const { config } = model as { config?: { fetch?: typeof globalThis.fetch } };
  if (!/ChatLanguageModel$/.test(model.constructor?.name ?? '') || typeof config !== 'object' || config === null)
    return model;
  const own = { ...config, fetch: watchingFetch(config.fetch ?? ((...given) => globalThis.fetch(...given))) };
  return Object.create(model, { config: { value: own } });
}

/** Adapts models of older specification versions to v4. Only these need `ai`, whose import takes long. */
async function adapted(model: Model): Promise<LanguageModelV4> {
  if (model.specificationVersion === 'v4') return watched(model);
  const { wrapLanguageModel } = await import('ai');
  return wrapLanguageModel({ model, middleware: {} });
}
