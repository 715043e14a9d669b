import type { RecordedRequest } from '../testing/model-server.ts';
import type { ScriptedResponse } from '../testing/scripted-response.ts';
import { responseId, responseItems } from '../testing/wires/responses.ts';
import { objectsIn } from './transcript.ts';

type Item = { type?: string; id?: string };

/**
 * What OpenAI's server keeps of its responses, for clients that name what was sent instead of sending it again: by
 * `previous_response_id`, or by references to items.
 */
export class StoredResponses {
  private readonly items = new Map<string, Item>();
  /** The conversation up to each response. */
  private readonly conversations = new Map<string, Item[]>();

  /** Keeps a response that was sent whole. `input`: what it answered. */
  keep(index: number, input: readonly Item[], response: ScriptedResponse): void {
    const items: Item[] = responseItems(response, index);
    for (const item of items) this.items.set(item.id ?? '', item);
    this.conversations.set(responseId(index), [...input, ...items]);
  }

  /** Returns the whole input of a request; a text if it names what was never sent. */
  inputOf({ body }: Pick<RecordedRequest, 'body'>): Item[] | string {
    const { input, previous_response_id: previous } = body;
    const before = typeof previous === 'string' ? this.conversations.get(previous) : [];
    if (before === undefined) return `Previous response with id '${previous}' not found.`;
    const whole = [...before];
    for (const item of objectsIn<Item>(input)) {
      const named = item.type === 'item_reference' ? this.items.get(item.id ?? '') : item;
      if (named === undefined) return `Item with id '${item.id}' not found.`;
      whole.push(named);
    }
    return whole;
  }
}
