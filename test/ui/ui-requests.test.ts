import type { UIMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { PawlError } from '../../src/input/errors.ts';
import * as request from '../../src/ui/chat/ui-request.ts';

const said = (text: string) => ({ id: 'u1', role: 'user', parts: [{ type: 'text', text }] });
const answered = (...parts: object[]) => ({ id: 's1', role: 'assistant', metadata: { seq: 9 }, parts });
const part = (state: string, more: object = {}) => ({
  ...{ type: 'tool-look', toolCallId: 'c1', state, input: {} },
  ...more,
});
const refusal = async (ended: Promise<unknown>) => {
  const error = await ended.catch((reason) => reason);
  expect(error).toMatchObject({ name: new PawlError('invalid_messages', '').name, code: 'invalid_messages' });
  return error as PawlError;
};

describe('what useChat sends', () => {
  it('a new message comes with the conversation', async () => {
    const read = await request.readUIRequest({
      id: 'chat',
      messages: [said('Hi.'), answered({ type: 'text', text: 'So.' }), said('And?')],
    });
    expect(read).toEqual({
      chatId: 'chat',
      decided: null,
      added: { messages: [{ role: 'user', content: [{ type: 'text', text: 'And?' }] }], instead: null },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi.' }] },
        { role: 'assistant', content: [expect.objectContaining({ type: 'text', text: 'So.' })] },
        { role: 'user', content: [{ type: 'text', text: 'And?' }] },
      ],
    });
  });

  it.each<[string, object, object, object]>([
    [
      'an approval',
      part('approval-responded', { approval: { id: 's1/c1', approved: true } }),
      { sessionId: 's1', callId: 'c1', approved: true },
      {},
    ],
    [
      'a denial with its reason, for a sub-agent',
      part('approval-responded', { approval: { id: 's2/c%202', approved: false, reason: 'No.' } }),
      { sessionId: 's2', callId: 'c 2', approved: false, reason: 'No.' },
      {},
    ],
    [
      'an output',
      part('output-available', { output: { a: 1 } }),
      {},
      { sessionId: 's1', callId: 'c1', output: { a: 1 }, isError: false },
    ],
    [
      'the output of a call inside of a batch',
      part('output-available', { toolCallId: 'inner:s2/c3', output: 7 }),
      {},
      { sessionId: 's2', callId: 'c3', output: 7, isError: false },
    ],
    [
      'an error',
      part('output-error', { errorText: 'No page.' }),
      {},
      { sessionId: 's1', callId: 'c1', output: 'No page.', isError: true },
    ],
  ])('%s comes with the session and the position of the page', async (_, given, decision, answer) => {
    const { decided } = await request.readUIRequest({ id: 'chat', messages: [said('Hi.'), answered(given)] });
    expect(decided).toEqual({
      ...{ sessionId: 's1', from: 9 },
      decisions: [decision].filter((one) => 'approved' in one),
      answers: [answer].filter((one) => 'output' in one),
    });
  });

  it.each<[string, object]>([
    ['that waits for its input', part('input-streaming')],
    ['that waits for its output', part('input-available')],
    ['that waits for a decision', part('approval-requested', { approval: { id: 's1/c1' } })],
    ['that the provider ran', part('output-available', { providerExecuted: true, output: 1 })],
    ['that is not a call', { type: 'text', text: 'So.' }],
  ])('a call %s decides nothing', async (_, given) => {
    const messages = [said('Go.'), answered(given)];
    expect((await request.readUIRequest({ id: 'chat', messages })).decided).toBeNull();
  });

  it('an approval id that no session gave is refused, since a new session would abort the one that waits', async () => {
    const foreign = part('approval-responded', { approval: { id: 'x', approved: true } });
    await expect(
      request.readUIRequest({ id: 'chat', messages: [said('Hi.'), answered(foreign)] }),
    ).rejects.toMatchObject({ code: 'session_unknown', message: 'No session gave the approval id "x".' });
  });

  it('what an earlier message held decides nothing', async () => {
    const messages = [answered(part('output-available', { output: 1 })), said('And?')];
    expect((await request.readUIRequest({ id: 'chat', messages })).decided).toBeNull();
  });

  it.each<[unknown, string]>([
    [undefined, '`body` is required'],
    [{ id: ' ', messages: [said('Hi.')] }, '`body.id`'],
    [{ id: 'chat', messages: [] }, '`body.messages` must be an array with at least one message'],
    [{ id: 'chat', messages: [{ ...said('x'), role: 'tool' }] }, '`body.messages[0].role`'],
    [
      { id: 'chat', messages: [answered({ type: 'tool-look' })] },
      '`body.messages[0].parts[0]` must be a part with its toolCallId',
    ],
    [
      { id: 'chat', messages: [answered({ type: 'file' })] },
      '`body.messages[0].parts[0]` must be a file with its url and its mediaType',
    ],
    [
      { id: 'chat', messages: [answered({ type: 'dynamic-tool' })] },
      '`body.messages[0].parts[0]` must be a part with its toolCallId',
    ],
    [
      { id: 'chat', messages: [{ ...answered(part('output-available', { output: 1 })), metadata: { seq: -1 } }] },
      '`metadata.seq` must be the metadata that the message came with',
    ],
    [
      { id: 'chat', messages: [{ ...answered(part('output-available', { output: 1 })), metadata: null }] },
      '`metadata` must be the metadata that the message came with',
    ],
    [
      { id: 'chat', messages: [answered(part('approval-responded', { approval: { id: 's1/c1' } }))] },
      '`the approval of look.approved`',
    ],
  ])('is refused by the name of its field: %j', async (body, message) => {
    expect((await refusal(request.readUIRequest(body))).message).toContain(message);
  });

  it('parts of other types need no call', async () => {
    const parts = [{ type: 'a-tool-of-mine' }, { type: 'dynamic-toolbox' }, { type: 'data-x', data: 1 }];
    const messages = [{ ...said('Hi.'), parts: [...parts, { type: 'text', text: 'Hi.' }] }];
    expect((await request.readUIRequest({ id: 'chat', messages })).messages).toMatchObject([{ role: 'user' }]);
  });
});

describe('the messages of a page as those of a session', () => {
  const from = (...messages: object[]) => request.fromUIMessages(messages as UIMessage[]);

  it('have the outputs that the model read, without what is only for the page', async () => {
    const output = { type: 'text', value: 'It is 1.' };
    const converted = await from(
      { id: 'x', role: 'system', parts: [{ type: 'text', text: 'Be kind.' }] },
      said('Hi.'),
      answered(
        { type: 'step-start' },
        { type: 'data-turn', id: 'turn-1', data: {} },
        part('output-available', { output: { a: 1 }, resultProviderMetadata: { pawl: { output } } }),
        part('output-available', { toolCallId: 'c2', output: { b: 1 }, resultProviderMetadata: { p: { item: 'i' } } }),
        part('output-available', { toolCallId: 'inner:s2/c3', output: 7 }),
      ),
    );
    expect(converted.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(JSON.stringify(converted)).not.toContain('inner:');
    const [one, other] = (converted[2]?.content ?? []) as { output: object; providerOptions?: object }[];
    expect(one?.output).toEqual(output);
    expect(one).not.toHaveProperty('providerOptions');
    expect(other).toMatchObject({ output: { type: 'json', value: { b: 1 } } });
  });

  it('a sub-agent that was left while it waited for a decision has no result, whatever the page shows', async () => {
    const part = (output: string) => ({
      ...{ type: 'tool-helper', toolCallId: 'c', state: 'output-available', input: { q: 1 }, output },
    });
    const waiting = await from(answered(part('The sub-agent waits for a decision.')));
    expect(waiting).toMatchObject([{ role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c' }] }]);
    expect(await from(answered(part('Done.')))).toMatchObject([{ role: 'assistant' }, { role: 'tool' }]);
  });

  it('say what was steered where it was', async () => {
    const steering = (data: unknown) => ({ type: 'data-steering', id: 'x', data });
    const text = (said: string) => ({ type: 'text', text: said });
    const [one, two, three] = [text('One.'), text('Two.'), text('Three.')];
    const step = { type: 'step-start' };
    const hurry = steering({ text: 'Hurry.' });
    const said = (role: string, ...texts: string[]) => ({ role, content: texts.map((text) => ({ text })) });
    // Before a step's reply, and during one: the next request is the first that has it.
    expect(await from(answered(step, one, step, hurry, two, hurry, three, step, one))).toMatchObject([
      said('assistant', 'One.'),
      said('user', 'Hurry.'),
      said('assistant', 'Two.', 'Three.'),
      said('user', 'Hurry.'),
      said('assistant', 'One.'),
    ]);
    expect(await from(answered(one, hurry))).toMatchObject([said('assistant', 'One.'), said('user', 'Hurry.')]);
    for (const odd of [null, 'text', {}, { text: 7 }]) {
      expect(await from(answered({ type: 'text', text: 'One.' }, steering(odd)))).toHaveLength(1);
    }
    expect(
      await from(answered({ type: 'text', text: 'One.' }, { type: 'data-other', data: { text: 'x' } })),
    ).toHaveLength(1);
  });

  it('are refused if they are not a list or cannot be converted', async () => {
    const none = await refusal(request.fromUIMessages({} as UIMessage[]));
    expect(none.message).toBe('`messages` must be an array of UI messages; got {}.');
    const bare = await refusal(from({ id: 'x', role: 'user' }));
    expect(bare.message).toBe('`messages[0].parts` is required: an array.');
    for (const type of ['file', 'reasoning-file']) {
      const relative = await refusal(from(answered({ type, url: '/a.png', mediaType: 'image/png' })));
      expect(relative.message).toMatch(/^`messages\[0\]\.parts\[\d\]` must be a file with an absolute url; got /);
      const bare = await refusal(from(answered({ type, url: 4, mediaType: 'image/png' })));
      expect(bare.message).toMatch(/^`messages\[0\]\.parts\[\d\]` must be a file with its url and its mediaType; got /);
    }
    const output = { state: 'output-available', input: {}, output: 10n };
    const broken = await refusal(from(answered({ type: 'tool-x', toolCallId: 'c', ...output })));
    expect(broken.message).toMatch(/^The messages of the page cannot be used: .+\.$/);
    expect(broken.cause).toBeInstanceOf(Error);
  });
});
