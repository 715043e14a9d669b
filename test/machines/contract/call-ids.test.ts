import { expect, it } from 'vitest';
import { uniqueCallId } from '../../../machines/index.ts';

it('C-2: call ids are unique in the reply and in the conversation', () => {
  const taken = new Set(['old', 'call_1_2_1', 'call_1_2_1_']);
  const idsOf = (...ids: string[]) =>
    ids.map((callId, index) => {
      const isTaken = (id: string) => taken.has(id);
      const id = uniqueCallId({ callId, providerExecuted: false }, { turn: 1, attempt: 2, index }, isTaken);
      taken.add(id);
      return id;
    });
  expect(idsOf('a', 'old', 'a', '', 'b c', 'ok-1_2')).toEqual([
    'a',
    'call_1_2_1__',
    'call_1_2_2',
    'call_1_2_3',
    'call_1_2_4',
    'ok-1_2',
  ]);
  const [longest, tooLong] = ['x'.repeat(64), 'x'.repeat(65)];
  expect(idsOf(longest, tooLong)).toEqual([longest, 'call_1_2_1___']);
});

it("C-2: the id of a provider-executed call is the provider's reference, and never changes", () => {
  for (const callId of ['ws:1', 'x'.repeat(90), 'old']) {
    const call = { callId, providerExecuted: true };
    expect(uniqueCallId(call, { turn: 1, attempt: 1, index: 0 }, () => true)).toBe(callId);
  }
});
