import { expect, it } from 'vitest';
import { uniqueCallId } from '../../../machines/index.ts';

it('C-2: call ids are unique in the reply and in the conversation', () => {
  const taken = new Set(['old', 'c00201001']);
  const idsOf = (...ids: string[]) =>
    ids.map((callId, index) => {
      const isTaken = (id: string) => taken.has(id);
      const own = uniqueCallId({ callId, providerExecuted: false }, { turn: 2, attempt: 1, index }, isTaken);
      taken.add(own.callId).add(own.providerId ?? own.callId);
      return own;
    });
  expect(idsOf('a', 'old', 'a', '', ' ', 'f.look:0', 'ok-1_2', 'f.look:0')).toEqual([
    { callId: 'a' },
    { callId: 'c00201002' },
    { callId: 'c00201003' },
    { callId: 'c00201004' },
    { callId: 'c00201005' },
    { callId: 'c00201006', providerId: 'f.look:0' },
    { callId: 'ok-1_2' },
    { callId: 'c00201007' },
  ]);
  const [longest, tooLong] = ['x'.repeat(64), 'x'.repeat(65)];
  expect(idsOf(longest, tooLong)).toEqual([{ callId: longest }, { callId: 'c00201008', providerId: tooLong }]);
});

it("C-2: the id of a provider-executed call is the provider's reference, and never changes", () => {
  for (const callId of ['ws:1', 'x'.repeat(90), 'old']) {
    const call = { callId, providerExecuted: true };
    expect(uniqueCallId(call, { turn: 1, attempt: 1, index: 0 }, () => true)).toEqual({ callId });
  }
});
