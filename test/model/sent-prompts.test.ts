import { describe, expect, it } from 'vitest';
import { assistant, base, builder, call, prompt, result, tool, user } from '../support/prompts.ts';

const text = (said: string) => ({ type: 'text', text: said });

describe('P-5: what another provider is sent', () => {
  const file = (mediaType: string) => ({ type: 'file', mediaType, data: { type: 'data', data: 'AA' } });

  it('names the files of a message that has nothing else, since many models drop them', () => {
    const files = [file('image/png'), file('application/pdf')];
    const spoke = assistant([{ type: 'reasoning', text: 'hm' }, ...files], { provider: 'one' });
    const sent = prompt([user('Go.'), spoke, user('On.')], { provider: 'two' });
    expect(sent).toEqual([user('Go.'), assistant([text('[image/png, application/pdf]'), ...files]), user('On.')]);
  });

  it('keeps the provider options of a user message, whichever provider spoke before', () => {
    const marked = { role: 'user', content: [{ ...text('On.'), providerOptions: { two: { mark: 1 } } }] } as const;
    const sent = prompt([user('Go.'), assistant([text('So.')], { provider: 'one' }), marked as never], {
      provider: 'two',
    });
    expect(sent.at(-1)).toEqual(marked);
  });
});

describe('C-6: a call that its provider has not answered', () => {
  const searched = (id: string) => call(id, { providerExecuted: true });
  const open = (...content: object[]) => assistant(content, { provider: 'one', open: true });
  const said = text('Looking.');

  it('stays in the open message that its provider continues', () => {
    const before = [user('Go.'), assistant([call('t')]), tool(result('t'))];
    expect(prompt([...before, open(said, searched('s'))]).at(-1)).toEqual(assistant([said, searched('s')]));
  });

  it('is left out before a user message, and so is a message of nothing else', () => {
    const paused = [user('Go.'), open(said, searched('s'))];
    const expected = [user('Go.'), assistant([said]), user('On.')];
    expect(prompt(paused, { notice: 'On.' })).toEqual(expected);
    expect(prompt([...paused, user('On.')])).toEqual(expected);
    expect(prompt([user('Go.'), open(searched('s')), user('On.')])).toEqual([user('Go.'), user('On.')]);
  });

  it('counts as answered when its result comes, also in a later message', () => {
    const messages = [user('Go.'), open(searched('a'), searched('b'), call('t')), tool(result('t'))];
    const own = builder(messages);
    const before = own.build({ ...base, notice: 'On.' }).prompt;
    expect(before[1]).toEqual(assistant([call('t')]));
    messages.push(open(result('a')));
    expect(own.build({ ...base, notice: 'On.' }).prompt).toEqual([
      user('Go.'),
      assistant([searched('a'), call('t')]),
      tool(result('t')),
      assistant([result('a')]),
      user('On.'),
    ]);
    messages.push(tool(result('u')), open(result('b'), said));
    expect(own.build({ ...base, notice: 'On.' }).prompt[1]).toEqual(
      assistant([searched('a'), searched('b'), call('t')]),
    );
  });

  it('is not waited for once the same message has its result', () => {
    const messages = [user('Go.'), open(searched('s'))];
    const own = builder(messages);
    expect(own.build(base).prompt[1]).toEqual(assistant([searched('s')]));
    // The next reply continues the message.
    messages.push(open(result('s')), user('On.'));
    expect(own.build(base).prompt[1]).toEqual(assistant([searched('s'), result('s')]));
  });
});

it('T-3: what a middleware changes in a prompt is in no other request', () => {
  const conversation = () => [user('Go.'), assistant([call('a')]), tool(result('a'))];
  const own = builder(conversation());
  const [asked, , answered] = own.build(base).prompt;
  Object.assign(asked?.content[0] as object, { text: 'Stop.' });
  Object.assign(answered?.content[0] as object, { output: { type: 'text', value: 'other' } });
  expect(own.build(base).prompt).toEqual(conversation());
  expect(own.build({ ...base, notice: 'On.' }).prompt).toEqual([...conversation(), user('On.')]);
});

describe('C-6: a long conversation', () => {
  const turn = (at: number) => [assistant([text(`${at}`), call(`c${at}`)]), tool(result(`c${at}`)), user(`On ${at}.`)];
  const long = [user('Go.'), ...Array.from({ length: 400 }, (_, at) => turn(at)).flat()];

  it('is taken in before its first request, and that is the same', async () => {
    const own = builder(long.slice());
    const catchingUp = own.catchUp(base);
    expect(catchingUp).toBeInstanceOf(Promise);
    await catchingUp;
    expect(own.build(base)).toEqual(builder(long.slice()).build(base));
    expect(own.catchUp(base)).toBeNull();
  });

  it('is rebuilt for another provider, or when more is left out', async () => {
    const own = builder(long.slice());
    await own.catchUp(base);
    for (const request of [
      { ...base, provider: 'two' },
      { ...base, omit: ['c7'] },
    ]) {
      await own.catchUp(request);
      expect(own.build(request)).toEqual(builder(long.slice()).build(request));
    }
  });

  it('is whole if a request comes while it is taken in, or messages do', async () => {
    const messages = long.slice(0, 700);
    const own = builder(messages);
    const catchingUp = own.catchUp(base);
    expect(own.build(base)).toEqual(builder(messages.slice()).build(base));
    messages.push(...long.slice(700));
    await catchingUp;
    expect(own.build(base)).toEqual(builder(messages.slice()).build(base));
  });

  it('that is short is taken in as its request is built', () => {
    expect(builder(long.slice(0, 199)).catchUp(base)).toBeNull();
    expect(builder(long.slice(0, 200)).catchUp(base)).toBeInstanceOf(Promise);
  });
});
