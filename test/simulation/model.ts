import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { APICallError } from '@ai-sdk/provider';
import type { Life, World } from './world.ts';

/** A secret of every simulated agent. It is nowhere to be seen. */
export const secret = 'sk-simulated-0123456789';

/** A request that went out. */
export type Sent = { agent: string; prompt: LanguageModelV4Prompt; signal: AbortSignal | undefined };

export type ModelParts = {
  world: World;
  life: Life;
  agent: string;
  id: string;
  /** How its session finishes. */
  finish: 'report' | 'text';
  /** The tools that it may call. */
  tools: readonly string[];
  sent: (request: Sent) => void;
  onPart: (agent: string) => void;
};

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** A model that answers part by part, whenever the world lets it, and misbehaves. */
export function simulatedModel(parts: ModelParts): LanguageModelV4 {
  const { world, life, id } = parts;
  let requests = 0;
  const doStream = async (options: LanguageModelV4CallOptions) => {
    requests += 1;
    const name = `${parts.agent}/${id}#${requests}`;
    const signal = options.abortSignal;
    parts.sent({ agent: parts.agent, prompt: options.prompt, signal });
    const hears = world.choices.weighed({ 'heard aborts': 4, 'deaf to aborts': 1 }) === 'heard aborts';
    const aborted = new Promise<never>((_, reject) => {
      if (hears) signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    aborted.catch(() => undefined);
    await Promise.race([life.turn(`${name} answers`), aborted]);
    const kind = behaviourOf(world, name);
    if (kind === 'has a fault') throw faultOf(world);
    if (kind === 'throws at random')
      throw world.choices.pick<unknown>([new Error(`boom ${secret}`), 'a text', null, { secret }]);
    if (kind === 'hangs') return Promise.race([new Promise<never>(() => {}), aborted]);
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start: async (controller) => {
        try {
          const offered = (options.tools ?? []).map((tool) => tool.name);
          for (const part of partsOf(parts, requests, offered)) {
            await Promise.race([life.turn(`${name} sends ${part === 'stalls' ? 'nothing more' : part.type}`), aborted]);
            if (part === 'stalls') await Promise.race([new Promise<never>(() => {}), aborted]);
            else controller.enqueue(part);
            if (part !== 'stalls') parts.onPart(parts.agent);
          }
          controller.close();
        } catch (error) {
          controller.error(error);
        }
      },
    });
    return { stream };
  };
  const doGenerate = () => Promise.reject(new Error('the simulated models stream'));
  return { specificationVersion: 'v4', provider: 'simulated', modelId: id, supportedUrls: {}, doStream, doGenerate };
}

/** Decides how a model treats a request. */
export function behaviourOf(world: World, name: string) {
  const kind = world.choices.weighed({ replies: 92, 'has a fault': 4, hangs: 2, 'throws at random': 2 });
  if (kind !== 'replies') {
    world.trouble(`a model ${kind}`);
    world.tell(`${name} ${kind}`);
  }
  return kind;
}

export function faultOf(world: World): APICallError {
  const status = world.choices.pick([503, 429, 500, 401, 400, 404, 408, 413]);
  const after = world.choices.pick([null, '1', '0', '3600', '-5', 'soon', new Date(world.now() + 5_000).toUTCString()]);
  return new APICallError({
    message: `status ${status}, ${secret}`,
    url: 'https://simulated.example',
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: after === null ? {} : { 'retry-after': after },
    responseBody: '{}',
  });
}

type Content = { type: 'text' | 'reasoning'; text: string } | { type: 'call'; name: string; input: string };

/** The parts of a reply, in order; `stalls` if no more follow although it has not ended. */
export function* partsOf(
  parts: ModelParts,
  request: number,
  offered: readonly string[],
): Generator<LanguageModelV4StreamPart | 'stalls'> {
  const { choices } = parts.world;
  yield { type: 'stream-start', warnings: [] };
  const contents = contentsOf(parts, offered);
  const ending = choices.weighed({ finish: 95, cut: 2, breaks: 2, stalls: 1 });
  if (ending !== 'finish') parts.world.trouble(`a stream ${ending}`);
  const after = ending === 'finish' ? contents.length : choices.below(contents.length + 1);
  for (const [index, content] of contents.slice(0, after).entries())
    yield* streamed(content, `${request}-${index}`, parts);
  if (ending === 'stalls') yield 'stalls';
  if (ending === 'breaks') yield { type: 'error', error: new Error(`broken ${secret}`) };
  if (ending !== 'finish') return;
  const plain = contents.some(({ type }) => type === 'call') ? 'tool-calls' : 'stop';
  const unified = choices.chance(3) ? choices.pick(['length', 'content-filter', 'error', 'other'] as const) : plain;
  yield { type: 'finish', finishReason: { unified, raw: unified }, usage };
}

function* streamed(content: Content, id: string, { world }: ModelParts): Generator<LanguageModelV4StreamPart> {
  if (content.type !== 'call') {
    yield { type: `${content.type}-start`, id };
    const half = content.text.length >> 1;
    yield { type: `${content.type}-delta`, id, delta: content.text.slice(0, half) };
    yield { type: `${content.type}-delta`, id, delta: content.text.slice(half) };
    yield { type: `${content.type}-end`, id };
    return;
  }
  const { name, input } = content;
  // Some models give no id, or one twice.
  const toolCallId = world.choices.chance(4) ? world.choices.pick(['', 'same']) : `call-${id}`;
  yield { type: 'tool-input-start', id: toolCallId, toolName: name };
  yield { type: 'tool-input-delta', id: toolCallId, delta: input };
  yield { type: 'tool-input-end', id: toolCallId };
  yield { type: 'tool-call', toolCallId, toolName: name, input };
}

function contentsOf({ world, tools, finish }: ModelParts, offered: readonly string[]): Content[] {
  const { choices } = world;
  const call = (name: string, input: string): Content => ({ type: 'call', name, input });
  const report: Content =
    finish === 'text' ? { type: 'text', text: 'All is done.' } : call('final_report', '{"content":"All is done."}');
  const task = JSON.stringify({ prompt: 'Help.', reason: 'To be quick.' });
  const contents: Content[] = [];
  if (choices.chance(20)) contents.push({ type: 'reasoning', text: 'Let me think.' });
  if (choices.chance(25))
    contents.push({ type: 'text', text: choices.pick(['I will look … 🙂', ' ', `Is it ${secret}?`]) });
  // Most models know that it is time to report when nothing else is offered.
  const isLast = !tools.some((name) => offered.includes(name));
  const usual = isLast ? { report: 80, tools: 10 } : { report: 15, tools: 75 };
  const kind = choices.weighed({ ...usual, odd: 6, huge: 2, nothing: 2 });
  if (kind === 'report') contents.push(report);
  if (kind === 'tools') {
    const count = 1 + choices.below(3);
    for (let index = 0; index < count; index += 1)
      contents.push(call(choices.pick(tools as [string, ...string[]]), task));
  }
  if (kind === 'huge') contents.push({ type: 'text', text: 'word '.repeat(2_000) });
  if (kind === 'odd') {
    const odd = [call('nope', '{}'), call(tools[0] ?? '', '{'), call('final_report', '{}'), call('', 'null'), report];
    const count = 1 + choices.below(3);
    for (let index = 0; index < count; index += 1) contents.push(odd[choices.below(odd.length)] ?? report);
  }
  return contents;
}
