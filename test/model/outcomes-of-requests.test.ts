import { describe, expect, it } from 'vitest';
import type { ModelRequest, Reply } from '../../machines/index.ts';
import { called, finish, network, requested, said } from '../support/requests.ts';

/** A call whose input breaks off. */
const begun = [
  { type: 'tool-input-start', id: 'c', toolName: 'look' },
  { type: 'tool-input-delta', id: 'c', delta: '{"a":' },
];

describe('what happens before a request goes out', () => {
  it('D-3: files are prepared, then it is written down, then it goes out', async () => {
    const order: string[] = [];
    const { outcome, asked } = await requested([...said('So.'), finish()], {
      prepareFiles: async () => void order.push('files'),
      recordRequest: async (given, provider, sent) => {
        order.push(`${given.turn} ${provider} ${sent.tools.length} ${sent.marks}`);
      },
    });
    expect(order).toEqual(['files', '2 p 0 4']);
    expect([asked.length, outcome.fault]).toEqual([1, null]);
  });

  it('a file that cannot be had, or a journal that cannot be written, is a fault, and nothing goes out', async () => {
    for (const over of [
      { prepareFiles: () => Promise.reject(new Error('No file.')) },
      { recordRequest: () => Promise.reject(new Error('No file.')) },
    ]) {
      const { outcome, asked } = await requested([...said('So.'), finish()], over);
      expect([asked, outcome.reply, outcome.fault?.message]).toEqual([[], null, 'No file.']);
    }
  });
});

describe('the calls and the text of a reply', () => {
  it('C-2: a call whose tool takes a text is marked so if its input is one', async () => {
    const { outcome } = await requested([
      called('patch', '"a text"'),
      called('patch', '{"no":1}'),
      called('look', '"a text"'),
      finish('tool-calls'),
    ]);
    const parts = (outcome.reply as Reply).content as { name: string; isText?: true }[];
    expect(parts.map(({ name, isText }) => [name, isText])).toEqual([
      ['patch', true],
      ['patch', undefined],
      ['look', undefined],
    ]);
    expect(outcome.calls).toHaveLength(3);
  });

  it.each<[string, readonly object[], Partial<ModelRequest>, unknown[]]>([
    ['blank', said(' \n'), {}, []],
    ['with a call of a tool', [...said('So.'), called('look', '{}')], {}, []],
    ['where a text may not report', said('So.'), { textMayReport: false }, []],
    [
      'with a call that the provider ran',
      [...said('So.'), { ...called('web', '{}'), providerExecuted: true }],
      {},
      [['So.', 0]],
    ],
    ['that is a file', [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } }], {}, [['', 1]]],
  ])('F-4: a text is judged as a report, %s', async (_, parts, more, expected) => {
    const { judged } = await requested([...parts, finish()], {}, more);
    expect(judged).toEqual(expected);
  });

  it.each(['length', 'content-filter', 'error', 'pause_turn'])(
    'F-4: a text with the finish reason %s is not judged',
    async (unified) => {
      const { judged, outcome } = await requested([...said('So.'), finish(unified)]);
      expect([judged, outcome.textReport]).toEqual([[], null]);
    },
  );

  it('T-6: the request is measured with its reply', async () => {
    const measured: unknown[] = [];
    const meter = {
      measure: (...given: unknown[]) => {
        measured.push(given);
        return { tokens: 7 };
      },
    } as never;
    const { outcome } = await requested([...said('So.'), finish()], { meter });
    expect(measured).toEqual([[expect.objectContaining({ omit: ['c9'], omitText: 0 }), outcome.reply, outcome.usage]]);
    expect(outcome.measured).toEqual({ tokens: 7 });
    const failing = [{ name: 'one', model: () => Promise.reject(new Error('No key.')) } as never];
    expect((await requested([], { meter, targets: failing })).outcome.measured).toBeNull();
  });
});

describe('C-5: a reply that ends amid a call', () => {
  it.each(['length', 'content-filter'])('with the finish reason %s blames no connection', async (unified) => {
    expect((await requested([...begun, finish(unified)])).outcome.fault).toBeNull();
  });

  it('because the provider could not parse the call is the mistake of the model', async () => {
    const { outcome } = await requested([...begun, finish('MALFORMED_FUNCTION_CALL')]);
    const message = 'The stream ended with the finish reason MALFORMED_FUNCTION_CALL.';
    expect(outcome.fault).toEqual({ ...network(message), kind: 'malformed_call' });
  });

  it('with no reason given is a lost connection', async () => {
    const ended = { ...finish(), finishReason: { unified: 'stop', raw: undefined } };
    const { outcome } = await requested([...begun, ended]);
    expect(outcome.fault).toEqual(network('The stream ended with the finish reason stop.'));
  });
});

describe('B-7: what a request used', () => {
  const uncounted = { ...finish(), usage: undefined };
  const counted = { ...finish(), usage: { inputTokens: { total: 5 }, outputTokens: { total: 5 } } };
  it.each<[string, readonly object[], number, object]>([
    ['what the provider counted', [...said('So.'), counted], 10, { costUsd: 15 }],
    ['estimated if it counted nothing', [...said('So.'), uncounted], 0, { costUsd: 11, guessedTokens: 7 }],
    ['estimated of a call that broke off', [...begun, uncounted], 0, { costUsd: 11, guessedTokens: 7 }],
    ['nothing if nothing came', [uncounted], 0, { costUsd: 0 }],
  ])('is %s', async (_, parts, tokens, expected) => {
    const { usage, costUsd, guessedTokens } = (await requested(parts)).outcome;
    expect(usage.input + usage.output).toBe(tokens);
    expect({ costUsd, guessedTokens }).toEqual(expected);
  });
});

describe('G-2: checks of replies', () => {
  const checking = (answer: (reply: Reply) => object) => {
    const asked: unknown[] = [];
    const reply = async (given: Reply, at: object) => {
      asked.push([given.content.length, at]);
      return answer(given) as never;
    };
    return { asked, over: { checks: { replies: true, reply } } };
  };

  it('a reply that passes counts as the check gives it, and none of it is shown before', async () => {
    const { asked, over } = checking((reply) => ({
      kind: 'passed',
      value: { ...reply, content: [{ type: 'text', text: 'Better.', ended: true }] },
    }));
    const { outcome, seen, judged } = await requested([...said('So.'), finish()], over);
    expect([asked, seen, judged]).toEqual([[[1, { turn: 2, attempt: 3 }]], [], [['Better.', 0]]]);
    expect(outcome).toMatchObject({ fault: null, reply: { content: [{ text: 'Better.' }] } });
  });

  it('the warnings of one that passes are seen, those of another are not', async () => {
    const warned = [{ type: 'stream-start', warnings: ['Odd.'] }, ...said('So.'), finish()];
    const passing = checking((reply) => ({ kind: 'passed', value: reply }));
    expect((await requested(warned, passing.over)).seen).toEqual([
      { type: 'model.warned', target: 'one', warning: '"Odd."' },
    ]);
    const failing = checking(() => ({ kind: 'denied', reason: 'No.' }));
    expect((await requested(warned, failing.over)).seen).toEqual([]);
  });

  it.each(['denied', 'unchecked'] as const)('of one that is %s nothing stays but its cost', async (kind) => {
    const { over } = checking(() => ({ kind, reason: 'No.' }));
    const { outcome, judged } = await requested([...said('So.'), called('look', '{}'), finish()], over);
    expect(outcome).toEqual({
      ...{ reply: null, calls: [], textReport: null, measured: null, costUsd: 20 },
      fault: { kind, message: 'No.', status: null, retryAfterMs: null },
      usage: expect.objectContaining({ input: 10, output: 5 }),
    });
    expect(judged).toEqual([]);
  });

  it('a request without a reply is not checked', async () => {
    const { asked, over } = checking(() => ({ kind: 'denied', reason: 'No.' }));
    const { outcome } = await requested([], over);
    expect([asked, outcome.fault?.kind]).toEqual([[], 'network']);
  });
});
