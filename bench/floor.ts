import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';

export type Said = {
  calls: { toolCallId: string; toolName: string; input: unknown }[];
  message: LanguageModelV4Message;
};

export function messagesOf(prompt: string): LanguageModelV4Message[] {
  return [{ role: 'user', content: [{ type: 'text', text: prompt }] }];
}

/** Sends one request. Returns the calls of the reply, and the reply as a message. */
export async function said(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<Said> {
  const { stream } = await model.doStream(options);
  const calls: Said['calls'] = [];
  let text = '';
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (value.type === 'text-delta') text += value.delta;
    if (value.type === 'tool-call') {
      calls.push({ toolCallId: value.toolCallId, toolName: value.toolName, input: JSON.parse(value.input) });
    }
  }
  const parts = calls.map((call) => ({ type: 'tool-call' as const, ...call }));
  return {
    calls,
    message: { role: 'assistant', content: text === '' ? parts : [{ type: 'text', text }, ...parts] },
  };
}

export function toolMessage(calls: Said['calls'], results: readonly unknown[]): LanguageModelV4Message {
  return {
    role: 'tool',
    content: calls.map(({ toolCallId, toolName }, index) => ({
      type: 'tool-result' as const,
      toolCallId,
      toolName,
      output: { type: 'text' as const, value: String(results[index]) },
    })),
  };
}

/**
 * The floor: a bare loop over `doStream` that offers the same tools without any guarantees. It has no bound, input
 * checks, answers to unknown tools, retries, events or counters. Any cost above this is the price of the guarantees.
 */
export async function bareLoop(
  model: LanguageModelV4,
  tools: Record<string, (input: never) => unknown>,
  offered: LanguageModelV4CallOptions['tools'],
  prompt: string,
): Promise<number> {
  const messages = messagesOf(prompt);
  for (let turns = 1; ; turns += 1) {
    const { calls, message } = await said(model, {
      prompt: messages,
      ...(offered !== undefined && { tools: offered }),
    });
    if (calls.length === 0 || calls.some((call) => call.toolName === 'final_report')) return turns;
    messages.push(message);
    const results = await Promise.all(calls.map(({ toolName, input }) => tools[toolName]?.(input as never)));
    messages.push(toolMessage(calls, results));
  }
}
