import { type ModelRequest, noUsage } from '../../machines/index.ts';
import type { ModelEffectOptions } from '../../src/model/model-effect.ts';
import { requestModel } from '../../src/model/request-model.ts';
import { countedClock } from './counted-clock.ts';

const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } };
export const finish = (unified = 'stop') => ({ type: 'finish', finishReason: { unified, raw: unified }, usage });
export const said = (text: string) => [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: text },
  { type: 'text-end', id: '0' },
];
export const called = (toolName: string, input: string) => ({
  type: 'tool-call',
  toolCallId: `c-${toolName}`,
  toolName,
  input,
});
const request: ModelRequest = {
  ...{
    turn: 2,
    attempt: 3,
    target: 0,
    notice: 'Note.',
    offer: 'all' as never,
    permission: 'all' as never,
    textMayReport: true,
    omit: ['c9'],
  },
  omitText: 0,
};
export const verdict = { ok: true } as never;

/** Sends one request whose reply has these parts, and returns the outcome and all that it did. */
export async function requested(
  parts: readonly object[] | ((signal: AbortSignal) => ReadableStream),
  over: Partial<ModelEffectOptions> = {},
  more: Partial<ModelRequest> = {},
) {
  const { clock, alarms } = countedClock();
  const asked: Record<string, unknown>[] = [];
  const seen: unknown[] = [];
  const judged: unknown[] = [];
  const built: unknown[] = [];
  const stream = (signal: AbortSignal) =>
    typeof parts === 'function'
      ? parts(signal)
      : new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        });
  const model = {
    provider: 'p',
    doStream: async (options: Record<string, unknown>) => {
      asked.push(options);
      return { stream: stream(options.abortSignal as AbortSignal) };
    },
    doGenerate: async (options: Record<string, unknown>) => {
      asked.push({ ...options, isWhole: true });
      return { content: [{ type: 'text', text: 'Whole.' }], ...finish(), warnings: [] };
    },
  };
  const outer = new AbortController();
  const options: ModelEffectOptions = {
    targets: [{ name: 'one', model: async () => model } as never],
    pricing: { one: { input: 1_000_000, output: 2_000_000 } },
    settings: () => ({}),
    toolChoice: () => null,
    ...{ timeoutMs: 10_000, idleTimeoutMs: 5_000, replyBytes: 1_000 },
    prompts: {
      catchUp: () => null,
      build: (given: { markedTools(mark: object): number }) => {
        built.push(given);
        return { prompt: ['prompt'], marks: 4 };
      },
    } as never,
    prepareFiles: () => null,
    callIds: new Set(),
    catalog: {
      offered: () => [],
      inspect: async ({ callId, name, input }) => ({ callId, name, tool: 'real', input }) as never,
      takesText: (name) => name === 'patch',
      isDeferred: (name) => name === 'later',
      inside: () => [],
      together: (calls) => calls,
    },
    checks: { replies: false, reply: () => Promise.reject(new Error('no checks')) },
    judgeReply: async (text, files) => {
      judged.push([text, files.length]);
      return verdict;
    },
    meter: {
      measure: () => ({ tokens: 12, failed: 10, counted: true, oldText: 0 }),
      guess: () => ({ ...noUsage, input: 3, output: 4 }),
    },
    messages: () => [],
    recordRequest: null,
    sight: (sighting) => void seen.push(sighting.type === 'model.delta' ? sighting.delta : sighting),
    clock,
    secrets: ['hunter2'],
    ...over,
  };
  const outcome = await requestModel(options, { ...request, ...more }, outer.signal);
  return { outcome, asked, seen, judged, built, alarms: alarms() };
}
export const network = (message: string) => ({ kind: 'network', message, status: null, retryAfterMs: null });
