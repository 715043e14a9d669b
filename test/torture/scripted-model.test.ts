import { describe, expect, it } from 'vitest';
import type { RequestBody, Wire } from '../../src/testing/model-server.ts';
import { chances, faultFor, faultNames, isReplyFault } from '../../src/torture/faults.ts';
import { nextReply } from '../../src/torture/scripted-model.ts';
import { StoredResponses } from '../../src/torture/stored-responses.ts';
import { mustCall } from '../../src/torture/transcript.ts';
import type { Task } from '../../src/torture/world.ts';

const task: Task = {
  id: 't-01',
  prompt: 'Go.',
  rounds: [
    [
      { name: 'a', input: { x: 1, y: 2 } },
      { name: 'b', input: {} },
    ],
    [{ name: 'c', input: {} }],
  ],
  answer: 'All done.',
};
const tools = ['a', 'b', 'c'].map((name) => ({ name, function: { name, parameters: { properties: {} } } }));
const report = { name: 'final_report', properties: { content: {}, status: {} } };

type Made = { name: string; input: object; result: string | null };
const openai = (made: Made[]): RequestBody => ({
  tools,
  messages: [
    { role: 'user', content: 'Go.' },
    ...made.flatMap(({ name, input, result }, index) => [
      {
        role: 'assistant',
        tool_calls: [{ id: `id-${index}`, function: { name, arguments: JSON.stringify(input) } }],
      },
      ...(result === null ? [] : [{ role: 'tool', tool_call_id: `id-${index}`, content: result }]),
    ]),
  ],
});
const anthropic = (made: Made[]): RequestBody => ({
  tools: tools.map(({ name }) => ({ name, input_schema: { properties: {} } })),
  messages: made.flatMap(({ name, input, result }, index) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `id-${index}`, name, input }] },
    ...(result === null
      ? []
      : [
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: `id-${index}`, content: [{ type: 'text', text: result }] }],
          },
        ]),
  ]),
});
const responses = (made: Made[]): RequestBody => ({
  tools,
  messages: [],
  input: [
    { role: 'user', content: [{ type: 'input_text', text: 'Go.' }] },
    ...made.flatMap(({ name, input, result }, index) => [
      { type: 'function_call', call_id: `id-${index}`, name, arguments: JSON.stringify(input) },
      ...(result === null ? [] : [{ type: 'function_call_output', call_id: `id-${index}`, output: result }]),
    ]),
  ],
});
const gemini = (made: Made[]): RequestBody => ({
  tools: [{ functionDeclarations: tools.map(({ name }) => ({ name, parameters: { properties: {} } })) }],
  messages: [],
  contents: made.flatMap(({ name, input, result }) => [
    { role: 'model', parts: [{ functionCall: { name, args: input } }] },
    ...(result === null
      ? []
      : [{ role: 'user', parts: [{ functionResponse: { name, response: { name, content: result } } }] }]),
  ]),
});

const ok = '{"ok":true,"result":1}';
const quoted = JSON.stringify({ type: 'text', value: ok });
const no = '{"ok":false,"error":"no"}';
const busy = '{"ok":false,"error":"a is busy: try again"}';
const a = { name: 'a', input: { y: 2, x: 1 } };
const b = { name: 'b', input: {} };
const c = { name: 'c', input: {} };

describe.each<[Wire, (made: Made[]) => RequestBody]>([
  ['openai', openai],
  ['anthropic', anthropic],
  ['openai-responses', responses],
  ['gemini', gemini],
])('the model of a task, %s', (wire, body) => {
  const next = (...made: Made[]) => nextReply(task, { wire, body: body(made) });
  const names = (reply: ReturnType<typeof next>) => reply.calls?.map(({ name }) => name);

  it('sends the calls of the first round that is not answered, and what is left of it', () => {
    expect(names(next())).toEqual(['a', 'b']);
    expect(names(next({ ...a, result: ok }, { ...b, result: null }))).toEqual(['b']);
    expect(names(next({ ...a, result: quoted }, { ...b, result: 'Error: no such tool' }))).toEqual(['b']);
    expect(names(next({ ...a, result: ok }, { ...b, result: ok }))).toEqual(['c']);
  });

  it('gives its answer once all are answered, as text', () => {
    const all = [a, b, c].map((call) => ({ ...call, result: ok }));
    expect(next(...all)).toEqual({ text: 'All done.' });
  });

  it('gives it by the tool for it, where there is one', () => {
    const all = body([a, b, c].map((call) => ({ ...call, result: ok })));
    const { properties } = report;
    const offered = {
      name: 'final_report',
      input_schema: { properties },
      function: { name: 'final_report', parameters: { properties } },
    };
    const declared = [{ functionDeclarations: [{ name: 'final_report', parameters: { properties } }] }];
    const reply = nextReply(task, { wire, body: { ...all, tools: wire === 'gemini' ? declared : [offered] } });
    expect(reply.calls).toEqual([{ name: 'final_report', input: { status: 'success', content: 'All done.' } }]);
  });

  it('tries a tool that is busy again, and gives up on one that refuses', () => {
    const tried = (result: string) => [1, 2, 3].map(() => ({ ...a, result }));
    expect(names(next(...tried(busy)))).toEqual(['a', 'b']);
    expect(names(next(...tried(no).slice(1)))).toEqual(['a', 'b']);
    expect(next(...tried(no)).text).toContain('could not');
  });
});

describe('what a server of Responses keeps', () => {
  const stored = new StoredResponses();
  const asked = (body: object) => stored.inputOf({ body: { messages: [], ...body } });
  const mine = { type: 'message', role: 'user' };
  stored.keep(0, [mine], { calls: [a] });

  it('is found by the id of a response, and by those of items', () => {
    const call = { id: 'fc_0_0', type: 'function_call', call_id: 'call_0_0', name: 'a', arguments: '{"y":2,"x":1}' };
    const output = { type: 'function_call_output', call_id: 'call_0_0', output: ok };
    const whole = [mine, { ...call, status: 'completed' }, output];
    expect(asked({ previous_response_id: 'resp_0', input: [output] })).toEqual(whole);
    expect(asked({ input: [mine, { type: 'item_reference', id: 'fc_0_0' }, output] })).toEqual(whole);
  });

  it('is nothing else', () => {
    expect(asked({ previous_response_id: 'resp_1', input: [] })).toBe("Previous response with id 'resp_1' not found.");
    expect(asked({ input: [{ type: 'item_reference', id: 'fc_1_0' }] })).toBe("Item with id 'fc_1_0' not found.");
  });
});

describe('the faults', () => {
  const reply = {
    calls: [
      { name: 'a', input: { x: 1, y: 2 } },
      { name: 'b', input: {} },
    ],
  };
  const names = faultNames.filter(isReplyFault);
  const asked = { wire: 'openai', streams: true, mustCall: false, report: ['content'] } as const;
  const some = (seed: string, rate = 1) => faultFor(reply, { seed, rate, names, asked });

  it('come as often as they should, each of them, and the same for the same seed', () => {
    const seeds = Array.from({ length: 4_000 }, (_, index) => `seed ${index}`);
    const found = seeds.map((seed) => some(seed, 0.15));
    const share = found.filter((one) => one !== null).length / seeds.length;
    expect(share).toBeGreaterThan(0.13);
    expect(share).toBeLessThan(0.17);
    expect(new Set(seeds.map((seed) => some(seed)?.name))).toEqual(new Set(names));
    expect(seeds.map((seed) => some(seed, 0.15))).toEqual(found);
    expect(some('any', 0)).toBeNull();
  });

  it('faults fit the request: no bare text where a call is required, no stream fault without a stream', () => {
    const all = (own: object) =>
      new Set(
        Array.from({ length: 3_000 }, (_, index) =>
          faultFor(reply, { seed: `seed ${index}`, rate: 1, names, asked: { ...asked, ...own } }),
        ),
      );
    const named = (own: object) => new Set([...all(own)].map((one) => one?.name));
    for (const name of ['announced', 'claimed', 'call_as_text', 'text_over_the_length', 'finish_without_calls'])
      expect([name, named({ mustCall: true }).has(name)]).toEqual([name, false]);
    for (const name of ['error_in_stream', 'garbage_in_stream'])
      expect([name, named({ streams: false }).has(name)]).toEqual([name, false]);
    const one = { seed: 'x', rate: 1, names: ['claimed_by_report'] };
    expect(faultFor(reply, { ...one, asked })?.response.calls).toEqual([
      { name: 'final_report', input: { content: expect.stringContaining('Done') } },
    ]);
    expect(faultFor(reply, { ...one, asked: { ...asked, report: null } })?.response.text).toContain('Done');
  });

  it('a whole message of Anthropic has inputs that are objects', () => {
    for (const [streams, name] of [
      [true, 'cut_input'],
      [false, 'empty'],
    ] as const) {
      const at = { seed: 'x', rate: 1, names: ['cut_input', 'empty'] };
      const first = {
        seed: 'x',
        rate: 1,
        names: ['cut_input', 'input_twice_encoded', 'input_over_the_length', 'empty'],
      };
      const found = faultFor(reply, {
        ...(streams ? { ...at, names: ['cut_input'] } : first),
        asked: { ...asked, wire: 'anthropic', streams },
      });
      expect([streams, found?.name]).toEqual([streams, name]);
    }
  });

  it.each([
    [{ tool_choice: 'required' }, true],
    [{ tool_choice: { type: 'any' } }, true],
    [{ tool_choice: { type: 'tool', name: 'a' } }, true],
    [{ tool_choice: { type: 'function', function: { name: 'a' } } }, true],
    [{ tool_choice: { type: 'allowed_tools', mode: 'required', tools: [] } }, true],
    [{ toolConfig: { functionCallingConfig: { mode: 'ANY' } } }, true],
    [{ tool_config: { function_calling_config: { mode: 'ANY' } } }, true],
    [{ tool_choice: 'auto' }, false],
    [{ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }, false],
    [{ toolConfig: { functionCallingConfig: { mode: 'AUTO' } } }, false],
    [{}, false],
  ])('%j: a call is required: %s', (body, expected) => {
    expect(mustCall({ messages: [], ...body })).toBe(expected);
  });

  it('one that cannot happen to a reply leaves its place to the next', () => {
    const at = { seed: 'x', rate: 1, names: ['one_id_for_all', 'call_as_text', 'empty'], asked };
    expect(faultFor({ text: 'All done.' }, at)).toEqual({ name: 'empty', response: {} });
  });

  it('chances are spread over what is between 0 and 1', () => {
    const next = chances('a');
    const found = Array.from({ length: 1_000 }, () => Math.floor(next() * 10));
    const counts = Array.from({ length: 10 }, (_, digit) => found.filter((one) => one === digit).length);
    expect(Math.min(...counts)).toBeGreaterThan(60);
    expect(Math.max(...counts)).toBeLessThan(140);
  });
});
