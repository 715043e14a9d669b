import type { RecordedRequest, ScriptedResponse } from '../../src/testing/index.ts';

/** Counts a request as a tokenizer would: every text that is sent, at four bytes each. */
export function tokensOfBody({ body }: Pick<RecordedRequest, 'body'>): number {
  let tokens = Buffer.byteLength(JSON.stringify(body.tools ?? [])) / 4;
  const add = (value: unknown): void => {
    if (typeof value === 'string') tokens += Buffer.byteLength(value) / 4;
    else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) add(item);
  };
  for (const { role: _, ...message } of body.messages) add(message);
  return Math.ceil(tokens);
}

/** Whether a request asks for a summary. */
export function asksForSummary({ body }: Pick<RecordedRequest, 'body'>): boolean {
  return JSON.stringify(body.messages[0]).includes('You write the memory of an agent');
}

/** A model that calls `look` until it has answered so many requests, then reports; `summary` answers for a summary. */
export function looker(
  turns: number,
  summary: (request: RecordedRequest) => ScriptedResponse,
): (request: RecordedRequest) => ScriptedResponse {
  let answered = 0;
  return (request) => {
    const usage = { input: tokensOfBody(request), output: 20 };
    if (asksForSummary(request)) return { usage, ...summary(request) };
    answered += 1;
    if (answered >= turns) return { usage, calls: [{ name: 'final_report', input: { content: 'All seen.' } }] };
    return { usage, text: `Look ${answered}.`, calls: [{ name: 'look', input: { number: answered } }] };
  };
}
