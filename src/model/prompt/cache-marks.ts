import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { Json, JsonObject } from '../../../machines/index.ts';
import { isRecord } from '../../platform/plain-json.ts';
import type { ModelSettings } from '../../vocabulary/settings.ts';

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
  const own = isRecord(mark) ? mark : null;
  return { settings: { ...settings, providerOptions: { ...settings.providerOptions, anthropic: rest } }, own };
}

type Options = { [provider: string]: { [option: string]: unknown } | undefined };
type Markable = { providerOptions?: Options | undefined };

export function carriesMark({ providerOptions }: Markable, { provider, option }: CacheMark): boolean {
  return providerOptions?.[provider]?.[option] !== undefined;
}

/** Counts the marks of a message as it goes out: its own, those of its parts and of the parts of tool results. */
export function marksIn(message: LanguageModelV4Message, mark: CacheMark): number {
  const parts: readonly Part[] = message.role === 'system' ? [] : message.content;
  const inner = parts.flatMap((part): readonly Markable[] =>
    part.type === 'tool-result' && part.output.type === 'content' ? part.output.value : [],
  );
  return [message, ...parts, ...inner].filter((one) => carriesMark(one, mark)).length;
}

type Part = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number];

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
