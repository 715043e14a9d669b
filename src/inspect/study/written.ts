/** What stands under these names was written by a model, a tool or a person. */
const told = new Set([
  'text',
  'value',
  'message',
  'detail',
  'content',
  'input',
  'reason',
  'reasons',
  'title',
  'request',
]);

/** The values of these are generated, not written by a model, a tool or a person. */
const untold = new Set(['type', 'callId', 'toolCallId', 'providerId', 'id', 'providerMetadata', 'mediaType']);

/** Adds what a model, a tool or a person wrote, anywhere in a fact or an outcome, to `texts`. */
export function textsIn(value: unknown, texts: string[], isTold = false): void {
  if (typeof value === 'string' && isTold) texts.push(value);
  else if (Array.isArray(value)) for (const item of value) textsIn(item, texts, isTold);
  else if (typeof value === 'object' && value !== null)
    for (const [name, item] of Object.entries(value))
      if (!untold.has(name)) textsIn(item, texts, isTold || told.has(name));
}
