import type { ScriptedResponse } from '../scripted-response.ts';

/** What a provider's API says of an error. */
export type WireError = { status: number; type: string; code: string; message: string };

/** How replies look in the API of a provider. `index`: the number of the request, for ids. */
export type WireFormat = {
  /** The events of a reply that streams, ready to send. */
  stream(response: ScriptedResponse, model: string, index: number): string[];
  /** The body of a reply that does not. */
  body(response: ScriptedResponse, model: string, index: number): object;
  /** The body of a response that is an error. */
  error(error: WireError): object;
  /** An error within a stream. */
  errorEvent(error: WireError): string;
};

/** Returns an event without a name. */
export function dataEvent(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** Returns an event that is named by the type of its data. */
export function namedEvent(data: { type: string; [key: string]: unknown }): string {
  return `event: ${data.type}\n${dataEvent(data)}`;
}

/** Returns the input of a call as sent over the wire; strings are sent verbatim. */
export function inputText(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input ?? {});
}

/** Splits a text into pieces, so that it really streams. */
export function streamedPieces(text: string | undefined, length = Math.ceil((text?.length ?? 0) / 2)): string[] {
  const found: string[] = [];
  for (let start = 0; start < (text?.length ?? 0); start += length) {
    found.push(text?.slice(start, start + length) ?? '');
  }
  return found;
}
