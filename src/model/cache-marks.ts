import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import type { Json, JsonObject, Message } from '../../machines/index.ts';
import type { ModelSettings } from '../agent/definition.ts';

/** The option that marks what a provider caches: `{ anthropic: { cacheControl: … } }`. */
export type CacheMark = { provider: string; option: string; value: JsonObject };

/** The most marks that a request may carry; more are ignored with a warning. */
const mostMarks = 4;

/**
 * Returns the option that marks what to cache; null if the provider needs no marks. `own` is the user's, from the
 * settings of the call, so that a `ttl` can be set.
 */
export function cacheMark(provider: string, own: JsonObject | null): CacheMark | null {
  if (/anthropic/.test(provider)) {
    return { provider: 'anthropic', option: 'cacheControl', value: own ?? { type: 'ephemeral' } };
  }
  if (/bedrock/.test(provider)) return { provider: 'bedrock', option: 'cachePoint', value: { type: 'default' } };
  return null;
}

/**
 * Takes the cache mark of the whole call out of the settings: it would mark the last block, which may be the notice
 * (N-3). The prompt carries it instead.
 */
export function withoutCallMark(settings: ModelSettings): { settings: ModelSettings; own: JsonObject | null } {
  const { anthropic } = settings.providerOptions ?? {};
  if (anthropic === undefined || !('cacheControl' in anthropic || 'cache_control' in anthropic))
    return { settings, own: null };
  const { cacheControl, cache_control: snake, ...rest } = anthropic;
  const mark: Json = JSON.parse(JSON.stringify(cacheControl ?? snake ?? null));
  const own = typeof mark === 'object' && mark !== null && !Array.isArray(mark) ? mark : null;
  return { settings: { ...settings, providerOptions: { ...settings.providerOptions, anthropic: rest } }, own };
}

type Options = { [provider: string]: { [option: string]: unknown } | undefined };
type Markable = { providerOptions?: Options | undefined };

export function isMarked(
  { providerOptions }: Markable,
  { provider, option }: Pick<CacheMark, 'provider' | 'option'>,
): boolean {
  return providerOptions?.[provider]?.[option] !== undefined;
}

/** Counts the user's own marks in a message and its parts. */
export function marksIn(message: Message, mark: CacheMark): number {
  const parts = message.content.filter((part) => isMarked(part, mark)).length;
  return parts + (isMarked(message, mark) ? 1 : 0);
}

const known: readonly Pick<CacheMark, 'provider' | 'option'>[] = [
  { provider: 'anthropic', option: 'cacheControl' },
  { provider: 'bedrock', option: 'cachePoint' },
];

/** Counts all marks in a message as it goes out, Pawl's and the user's. */
export function marksInMessage(message: LanguageModelV4Message): number {
  const parts = message.role === 'system' ? [] : [...message.content];
  return [message, ...parts].filter(carriesMark).length;
}

/** Counts the marks of the tools that a request offers. */
export function marksInTools(tools: readonly NonNullable<LanguageModelV4CallOptions['tools']>[number][]): number {
  return tools.filter((tool) => tool.type === 'function' && carriesMark(tool)).length;
}

function carriesMark(one: Markable): boolean {
  return one.providerOptions !== undefined && known.some((mark) => isMarked(one, mark));
}

/** Returns how many marks Pawl may add to those of the user. */
export function marksLeft(used: number): number {
  return Math.max(0, mostMarks - used);
}

/** Marks a message, unless the user did. */
export function marked(message: LanguageModelV4Message, mark: CacheMark): LanguageModelV4Message {
  const { provider, option, value } = mark;
  const options = message.providerOptions ?? {};
  return { ...message, providerOptions: { ...options, [provider]: { [option]: value, ...options[provider] } } };
}
