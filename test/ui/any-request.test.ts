import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defineAgent, PawlError } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { openaiHandler } from '../../src/openai/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { chatHandler, fromUIMessages, readUIRequest } from '../../src/ui/index.ts';
import { report } from '../support/session.ts';

// No address that could be reached.
const leaf = fc.constantFrom<unknown>(
  ...[null, 7, -1, true, [], {}, '', 'x', 'user', 'assistant', 'tool', 'text', 'x:y', '{}', '1e999', 'data:,x'],
);
const names = fc.constantFrom(
  ...['id', 'role', 'content', 'parts', 'type', 'text', 'messages', 'model', 'stream', 'tools', 'tool_calls', 'state'],
  ...['function', 'name', 'arguments', 'input', 'output', 'toolCallId', 'approval', 'approved', 'reason', 'metadata'],
  ...['trigger', 'messageId', 'url', 'mediaType', 'stream_options', 'image_url', 'tool_call_id'],
);
const anything = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 5 }),
  ),
})).value;
/** One of the usual values, and now and then anything. */
const mostly = (...usual: unknown[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: anything });
const several = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 1, maxLength: 3 });
/** An object of which some fields are missing. */
const some = (required: string[], shape: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record(shape, { requiredKeys: required as never });

const part = some(['type', 'text'], {
  type: mostly('text', 'text', 'text', 'file', 'tool-x', 'dynamic-tool', 'data-x', 'step-start', 'reasoning'),
  text: mostly('Hello.'),
  state: mostly('output-available', 'input-available', 'output-error', 'approval-responded'),
  ...{
    toolCallId: mostly('c1'),
    input: anything,
    output: anything,
    url: mostly('data:text/plain,x'),
    approval: anything,
  },
  mediaType: mostly('text/plain'),
});
const uiMessage = some(['id', 'role', 'parts'], {
  id: mostly('m1', 'm2'),
  role: mostly('user', 'user', 'assistant', 'system'),
  parts: several(part),
});
const uiBody = some(['id', 'messages', 'trigger'], {
  id: mostly('a', 'b', 'c'),
  messages: several(uiMessage),
  trigger: mostly('submit-message', 'regenerate-message'),
  messageId: mostly('m1'),
});
const openaiPart = some(['type', 'text'], {
  ...{ type: mostly('text', 'image_url', 'file'), text: mostly('Hello.'), image_url: mostly({ url: 'data:,x' }) },
});
const openaiMessage = some(['role', 'content'], {
  role: mostly('user', 'user', 'user', 'assistant', 'tool', 'system', 'developer'),
  content: fc.oneof(mostly('Hello.'), several(openaiPart)),
  ...{ tool_calls: anything, tool_call_id: mostly('c1'), name: anything },
});
const openaiBody = some(['model', 'messages'], {
  ...{ model: mostly('a'), messages: several(openaiMessage), stream: mostly(true, false), n: mostly(1) },
  ...{ tools: anything, stream_options: mostly({ include_usage: true }), temperature: anything },
});

const agent = defineAgent({ name: 'a', models: [rehearsalModel(() => report())] });
const posted = (url: string, body: unknown) =>
  new Request(url, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });

it.each<[string, (body: never) => unknown, fc.Arbitrary<unknown>]>([
  ['readUIRequest', readUIRequest, uiBody],
  ['fromUIMessages', fromUIMessages, several(uiMessage)],
])('%s reads whatever a page sends, or refuses it with a PawlError', async (_, read, body) => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(anything, body), async (given) => {
      try {
        await read(given as never);
      } catch (error) {
        expect(error).toBeInstanceOf(PawlError);
      }
    }),
    { numRuns: 600 },
  );
});

it('a chat answers whatever a page sends, or refuses it as its fault', async () => {
  const handle = chatHandler(agent, { journal: new MemoryJournal(), logger: false });
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.oneof(anything, uiBody), async (body) => {
      const response = await handle(posted('http://x/api/chat', body));
      await response.text();
      expect(response.status).toBeLessThan(500);
      statuses.add(response.status);
    }),
    { numRuns: 300 },
  );
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400]));
});

it('an OpenAI-compatible API answers whatever a client sends, or refuses it as its fault', async () => {
  const handle = openaiHandler([agent], { logger: false });
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.oneof(anything, openaiBody), async (body) => {
      const response = await handle(posted('http://x/v1/chat/completions', body));
      await response.text();
      expect(response.status).toBeLessThan(500);
      statuses.add(response.status);
    }),
    { numRuns: 300 },
  );
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400]));
});
