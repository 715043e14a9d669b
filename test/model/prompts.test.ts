import { describe, expect, it } from 'vitest';
import type { Message } from '../../machines/index.ts';
import { assistant, base, builder, call, prompt, result, tool, user } from '../support/prompts.ts';

describe('C-6 N-1: what surrounds the conversation', () => {
  it('instructions stand first and a notice last; neither stays', () => {
    const messages = [user('Go.')];
    const own = builder(messages, { instructions: 'Be\ud800.' });
    expect(own.build({ ...base, notice: 'One turn left.' }).prompt).toEqual([
      { role: 'system', content: 'Be\ufffd.' },
      user('Go.'),
      user('One turn left.'),
    ]);
    expect(own.build(base).prompt).toEqual([{ role: 'system', content: 'Be\ufffd.' }, user('Go.')]);
    expect(messages).toEqual([user('Go.')]);
    expect(prompt([user('Go.')], {}, { instructions: '' })).toEqual([user('Go.')]);
    expect(prompt([])).toEqual([]);
  });

  it('a model that spoke last is asked to continue, unless its message is open or there is a notice', () => {
    const spoke = [user('Go.'), assistant([{ type: 'text', text: 'So' }], { provider: 'one' })];
    expect(prompt(spoke).at(-1)).toEqual(user('Go on.'));
    expect(prompt(spoke, { notice: 'Answer.' }).slice(2)).toEqual([user('Answer.')]);
    const open = [user('Go.'), assistant([{ type: 'text', text: 'So' }], { provider: 'one', open: true })];
    expect(prompt(open).at(-1)).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'So' }] });
    // Another model has nothing to go on with.
    expect(prompt(open, { provider: 'two' }).at(-1)).toEqual(user('Go on.'));
    expect(prompt([user('Go.'), assistant([call('c')]), tool(result('c'))]).at(-1)).toEqual(tool(result('c')));
  });
});

describe('C-6: a prompt grows with the conversation', () => {
  it('takes in what came, merges neighbours, and gives the earlier prompt no new content', () => {
    const messages = [user('Go.'), assistant([call('a')], { provider: 'one' }), tool(result('a'))];
    const own = builder(messages);
    const first = own.build(base).prompt;
    messages.push(tool(result('b')), user('More.'), assistant([{ type: 'text', text: 'x' }], { open: true }));
    const second = own.build(base).prompt;
    expect(first).toEqual([user('Go.'), assistant([call('a')]), tool(result('a'))]);
    expect(second).toEqual([
      user('Go.'),
      assistant([call('a')]),
      tool(result('a'), result('b')),
      user('More.'),
      assistant([{ type: 'text', text: 'x' }]),
      user('Go on.'),
    ]);
    messages.push(assistant([{ type: 'text', text: 'y' }]));
    expect(own.build(base).prompt.slice(4)).toEqual([
      assistant([
        { type: 'text', text: 'x' },
        { type: 'text', text: 'y' },
      ]),
      user('Go on.'),
    ]);
  });

  it('T-6: results that are left out have a stub, also if they were sent before', () => {
    const messages = [user('Go.'), assistant([call('a'), call('b')]), tool(result('a'), result('b'))];
    const own = builder(messages);
    expect(own.build(base).prompt[2]).toEqual(tool(result('a'), result('b')));
    expect(own.build({ ...base, omit: ['a'] }).prompt[2]).toEqual(
      tool(result('a', { type: 'text', value: 'stub of a' }), result('b')),
    );
    messages.push(user('More.'));
    expect(own.build({ ...base, omit: ['a'] }).prompt.slice(2)).toEqual([
      tool(result('a', { type: 'text', value: 'stub of a' }), result('b')),
      user('More.'),
    ]);
  });

  it('a prompt that could not be completed is rebuilt', () => {
    let fails = true;
    const messages = [user('Go.'), assistant([call('a')]), tool(result('a'))];
    const own = builder(messages, {
      output: ({ output }) => {
        if (fails) throw new Error('not now');
        return output;
      },
    });
    expect(() => own.build(base)).toThrow('not now');
    fails = false;
    expect(own.build(base).prompt).toEqual([user('Go.'), assistant([call('a')]), tool(result('a'))]);
  });

  it('texts are valid Unicode', () => {
    expect(prompt([user('a\ud800')])).toEqual([user('a\ufffd')]);
  });
});

describe('P-5: what another provider is sent', () => {
  const mine = { providerOptions: { one: { signature: 's' } } };
  const messages = [
    user('Go.'),
    assistant(
      [
        { type: 'reasoning', text: 'hm', ...mine },
        { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AA' } },
        { type: 'custom', kind: 'one.special' },
        { type: 'text', text: 'So', ...mine },
        { type: 'text', text: ' ' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'BB' }, ...mine },
        call('s', { providerExecuted: true }),
        result('s'),
        call('call00001', { input: { text: 'raw' }, isText: true, ...mine }),
      ],
      { provider: 'one' },
    ),
    tool(result('call00001', undefined, mine)),
  ];

  it('no reasoning, no call that the provider ran, no data of its own', () => {
    expect(prompt(messages, { provider: 'two' })).toEqual([
      user('Go.'),
      assistant([
        { type: 'text', text: 'So' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'BB' } },
        call('call00001', { input: { text: 'raw' } }),
      ]),
      tool(result('call00001')),
    ]);
  });

  it('its own provider gets all, and a text as a text', () => {
    const said = messages[1]?.content.slice(0, -1) ?? [];
    expect(prompt(messages)).toEqual([
      user('Go.'),
      assistant([...said, call('call00001', { input: 'raw', ...mine })]),
      messages[2],
    ]);
    const bare = assistant([call('call00001', { isText: true })], { provider: 'one' });
    expect(prompt([bare])[0]).toEqual(assistant([call('call00001', { input: '' })]));
  });

  it('messages without a provider are sent to every provider', () => {
    const given = [user('Go.'), assistant([{ type: 'reasoning', text: 'hm', ...mine }]), user('On.')];
    expect(prompt(given, { provider: 'two' })).toEqual(given);
  });

  it('a message of which nothing is left is left out', () => {
    const hidden = [user('Go.'), assistant([{ type: 'reasoning', text: 'hm' }], { provider: 'one' })];
    expect(prompt(hidden, { provider: 'two' })).toEqual([user('Go.')]);
  });

  it('who spoke last is known for results that come later', () => {
    const growing: Message[] = [user('Go.'), assistant([call('call00001')], { provider: 'one' })];
    const own = builder(growing);
    own.build({ ...base, provider: 'two' });
    growing.push(tool(result('call00001', undefined, mine)));
    expect(own.build({ ...base, provider: 'two' }).prompt.at(-1)).toEqual(tool(result('call00001')));
  });
});

describe('files', () => {
  const at = (url: string) => ({ type: 'file', mediaType: 'image/png', data: { type: 'url', url } }) as const;
  const data = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AA' } } as const;
  const asUrl = { ...at(''), data: { type: 'url', url: new URL('https://a.example/b.png') } };
  const content = [at('https://a.example/b.png'), data, { type: 'text', text: 'c' }] as const;

  it.each<[string, Message, unknown]>([
    ['of a user', { role: 'user', content: [...content] }, [asUrl, data, content[2]]],
    ['of a model', assistant([...content]), [asUrl, data, content[2]]],
    [
      'of a model, as text',
      assistant([{ ...data, data: { type: 'text', text: 'a' } }]),
      [{ ...data, data: { type: 'text', text: 'a' } }],
    ],
    [
      'of its reasoning',
      assistant(
        [
          { ...content[0], type: 'reasoning-file' },
          { ...data, type: 'reasoning-file' },
        ],
        { provider: 'one' },
      ),
      [
        { ...asUrl, type: 'reasoning-file' },
        { ...data, type: 'reasoning-file' },
      ],
    ],
    [
      'of its reasoning, as text',
      assistant([{ type: 'reasoning-file', mediaType: 'text/plain', data: { type: 'text', text: 'hm' } }]),
      [{ type: 'text', text: 'hm' }],
    ],
    [
      'of a result',
      tool(result('t', { type: 'content', value: [...content] })),
      [result('t', { type: 'content', value: [asUrl, data, content[2]] } as never)],
    ],
    [
      'of a result of a tool that the provider ran',
      assistant([call('t', { providerExecuted: true }), result('t', { type: 'content', value: [...content] })]),
      [
        call('t', { providerExecuted: true }),
        result('t', { type: 'content', value: [asUrl, data, content[2]] } as never),
      ],
    ],
  ])('%s', (_, message, expected) =>
    expect(prompt([message], message.role === 'tool' ? { provider: 'anthropic.messages' } : {})[0]?.content).toEqual(
      expected,
    ),
  );

  it('each is written as the session says: of a user, a model, its reasoning and a tool', () => {
    const seen: string[] = [];
    const own = builder(
      [
        { role: 'user', content: [data] },
        assistant([data, { ...data, type: 'reasoning-file' }]),
        tool(result('t', { type: 'content', value: [data, { type: 'text', text: 'c' }] })),
      ],
      {
        file: (part) => {
          seen.push((part as { type?: string }).type ?? '');
          return { type: 'text', text: 'gone' };
        },
      },
    );
    const gone = { type: 'text', text: 'gone' } as const;
    expect(own.build({ ...base, provider: 'anthropic.messages' }).prompt).toEqual([
      { role: 'user', content: [gone] },
      assistant([gone, gone]),
      tool(result('t', { type: 'content', value: [gone, { type: 'text', text: 'c' }] })),
    ]);
    expect(seen).toEqual(['file', 'file', 'reasoning-file', 'file']);
  });
});
